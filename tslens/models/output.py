"""How a model turns its last residual into logits: the unembedding, its bias, and the cap on what it says."""

from torch import Tensor

from tslens.models.hooked_spec import HookedSpec
from tslens.models.model_spec import ModelSpec
from tslens.models.protocols import LanguageModel
from tslens.models.record import record_of
from tslens.models.spec import Spec
from tslens.models.validation import spec_of


def readout(model: LanguageModel) -> Tensor:
    """The logit of each token per residual direction, `[d_model d_vocab]`: the unembedding; for a compressor's trunk
    the decoder's, along the direct path to the first of the next two tokens."""
    own = record_of(model).readout
    return model.unembed.W_U if own is None else own.to(next(model.parameters()).device)


def output_bias(model: LanguageModel) -> Tensor | None:
    """What the unembedding adds to the logits, `[d_vocab]`; None where it adds nothing, as in every model that the fast
    forward covers."""
    return model.unembed.b_U if isinstance(_known_spec(model), HookedSpec) else None


def logit_cap(model: LanguageModel) -> float:
    """As `Spec.logit_cap`, of any model."""
    spec = _known_spec(model)
    return spec.logit_cap if isinstance(spec, Spec) else 0.0


def _known_spec(model: LanguageModel) -> ModelSpec:
    checked = record_of(model).checked
    return spec_of(model, compressors=True) if checked is None else checked.spec
