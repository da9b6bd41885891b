"""Features of sparse autoencoders, trained by SAELens, read and tested as neurons are.

Needs the extra: pip install 'tslens[sae]'.
"""

from tslens.sae.best import BestFeaturesResult, best
from tslens.sae.compared import compared_features
from tslens.sae.dictionary import FROZEN, KINDS, NEURONS, TRAINED, Dictionary
from tslens.sae.features import Features, FeaturesState, readers
from tslens.sae.recovered import recovered
from tslens.sae.recovered_result import RecoveredResult
from tslens.sae.result import LABELS, ComparedFeaturesResult, FeaturesResult, HeldOutFeaturesResult
from tslens.sae.training import Training, activations, dictionary

__all__ = [
    "FROZEN",
    "KINDS",
    "LABELS",
    "NEURONS",
    "TRAINED",
    "BestFeaturesResult",
    "ComparedFeaturesResult",
    "Dictionary",
    "Features",
    "FeaturesResult",
    "FeaturesState",
    "HeldOutFeaturesResult",
    "RecoveredResult",
    "Training",
    "activations",
    "best",
    "compared_features",
    "dictionary",
    "readers",
    "recovered",
]
