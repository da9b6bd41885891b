"""Biases that keep a model from being written for other programs."""

from typing import TYPE_CHECKING

from tslens.models.hooked_spec import HookedSpec
from tslens.models.validation import spec_of

if TYPE_CHECKING:
    from tslens.models.protocols import LanguageModel


def bias_beyond(model: "LanguageModel") -> str | None:
    """The name of a bias of the unembedding, or of one that the model's style does not have; None if all are zero."""
    spec, parameters = spec_of(model), dict(model.named_parameters())
    names = ("unembed.b_U", *spec.outside) if isinstance(spec, HookedSpec) else ()
    return next((name for name in names if bool(parameters[name].any())), None)
