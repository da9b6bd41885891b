"""What a model is called, what shape it has, and how a name becomes a HookedTransformer.

A model is described by a `Spec`, and is a HookedTransformer that `spec_of` finds to be what its spec says.
"""

from typing import TYPE_CHECKING

from tslens.models.checking import spec_of
from tslens.models.compressor import CompressorSpec
from tslens.models.compressor import build as build_compressor
from tslens.models.counts import flops_per_token, n_parameters, parameter_shapes
from tslens.models.hooked import (
    attach_tokenizer,
    build,
    from_weights,
    load_weights,
    readout,
    record,
    shape_of,
    to_config,
    tokenizer_of,
    untied,
    weights,
)
from tslens.models.names import available, bundled, describe, load, name_of, save, shape
from tslens.models.spec import Spec
from tslens.nearest import did_you_mean

if TYPE_CHECKING:
    from tslens.models.hooked import HookedTransformer as HookedTransformer

__all__ = [
    "CompressorSpec",
    "Spec",
    "attach_tokenizer",
    "available",
    "build",
    "build_compressor",
    "bundled",
    "describe",
    "did_you_mean",
    "flops_per_token",
    "from_weights",
    "load",
    "load_weights",
    "n_parameters",
    "name_of",
    "parameter_shapes",
    "readout",
    "record",
    "save",
    "shape",
    "shape_of",
    "spec_of",
    "to_config",
    "tokenizer_of",
    "untied",
    "weights",
]
