"""Models: their shapes, their names, and how a name becomes a HookedTransformer.

A model is a HookedTransformer described by a `Spec`; `spec_of` checks that it matches.
"""

from tslens.models.building import build, from_weights
from tslens.models.compressor_spec import CompressorSpec
from tslens.models.hashed import weights_key
from tslens.models.hooked import (
    attach_tokenizer,
    hooked_config,
    load_weights,
    story_tokenizer_of,
    tokenizer_of,
    untied,
    weights,
)
from tslens.models.hooked_spec import HookedSpec
from tslens.models.loading import (
    available,
    bundled,
    describe,
    given_of,
    home_of,
    load,
    name_of,
    objective_of,
    save,
    spec_from_config,
    story_head_of,
    training_record,
)
from tslens.models.model_spec import ModelSpec
from tslens.models.output import logit_cap, output_bias, readout
from tslens.models.protocols import LanguageModel, TextTokenizer
from tslens.models.spec import Spec
from tslens.models.validation import spec_of

__all__ = [
    "CompressorSpec",
    "HookedSpec",
    "LanguageModel",
    "ModelSpec",
    "Spec",
    "TextTokenizer",
    "attach_tokenizer",
    "available",
    "build",
    "bundled",
    "describe",
    "from_weights",
    "given_of",
    "home_of",
    "hooked_config",
    "load",
    "load_weights",
    "logit_cap",
    "name_of",
    "objective_of",
    "output_bias",
    "readout",
    "save",
    "spec_from_config",
    "spec_of",
    "story_head_of",
    "story_tokenizer_of",
    "tokenizer_of",
    "training_record",
    "untied",
    "weights",
    "weights_key",
]
