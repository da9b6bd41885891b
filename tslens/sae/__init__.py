"""Features of sparse autoencoders, trained by SAELens, read and tested as neurons are.

Needs the extra: pip install 'tslens[sae]'.
"""

from tslens.sae.compared import compared_features
from tslens.sae.dictionary import FROZEN, KINDS, NEURONS, TRAINED, Dictionary
from tslens.sae.features import Features, FeaturesState
from tslens.sae.result import LABELS, ComparedFeaturesResult, FeaturesResult, HeldOutFeaturesResult
from tslens.sae.training import Training, activations, dictionary

__all__ = [
    "FROZEN",
    "KINDS",
    "LABELS",
    "NEURONS",
    "TRAINED",
    "ComparedFeaturesResult",
    "Dictionary",
    "Features",
    "FeaturesResult",
    "FeaturesState",
    "HeldOutFeaturesResult",
    "Training",
    "activations",
    "compared_features",
    "dictionary",
]
