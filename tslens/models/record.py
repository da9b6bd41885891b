"""The record that tslens keeps with a model, beside its parameters, under one attribute.

An attribute, because `copy.deepcopy`, pickling and `model.to` take it along; a dictionary beside the model would not.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from tslens.errors import InputError
from tslens.models.compressor_spec import CompressorSpec
from tslens.models.protocols import LanguageModel, TextTokenizer
from tslens.models.spec import Spec

ATTRIBUTE = "tslens_record"


@dataclasses.dataclass
class Checked:
    """A spec, and what it was read from. Holding modules and parameters keeps their ids from being reused."""

    spec: Spec
    configured: tuple[Any, ...]
    modules: list[tuple[dict[str, Any], str, nn.Module]]
    parameters: list[dict[str, Any]]
    frozen: list[tuple[dict[str, nn.Parameter | None], str, nn.Parameter]]
    """Parameters that must be zero, as (dictionary that holds the parameter, name in it, parameter)."""
    flat: list[Tensor]
    mark: Any = None
    """The part of what the spec was read from that is compared at every call."""


@dataclasses.dataclass
class ModelRecord:
    """The record that tslens keeps of one model."""

    name: str | None = None
    """The name under which `load` found it."""
    given: str | None = None
    """What `load` was given."""
    run: Path | None = None
    """The folder of the run, or bundled model, that it was loaded from."""
    config: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """That folder's `config.json` at the time of loading."""
    tokenizer: TextTokenizer | None = None
    attached_bos: str | None = None
    attached: Any = None
    """TransformerLens's `model.tokenizer` that stands for the same; another one or another BOS there was set since."""
    readout: Tensor | None = None
    """Only for a compressor's trunk: the map from the residual stream to the logits, in place of an unembedding."""
    checked: Checked | None = None
    """The last result of `spec_of`."""
    written: list[tuple[int, int]] = dataclasses.field(default_factory=list)
    """Of the parameters on an accelerator, those that were found to be finite, by address and version."""


def record_of(model: LanguageModel) -> ModelRecord:
    """The model's record, an empty one for a model new to tslens. InputError for what is neither a HookedTransformer
    nor a compressor."""
    if not hasattr(model, ATTRIBUTE):
        _refuse_others(model)
    return made_record(model)


def made_record(model: LanguageModel) -> ModelRecord:
    """The same of a model of any kind, made by tslens itself."""
    record: ModelRecord | None = getattr(model, ATTRIBUTE, None)
    if record is None:
        record = ModelRecord()
        setattr(model, ATTRIBUTE, record)
    return record


def _refuse_others(model: object) -> None:
    """InputError for what is neither a HookedTransformer nor a compressor."""
    hooked = "HookedTransformer" in {kind.__name__ for kind in type(model).__mro__}
    if not hooked and not isinstance(getattr(model, "spec", None), CompressorSpec):
        raise InputError(
            f"A {type(model).__name__} is no HookedTransformer, which tslens reads. Of a model of transformers, write "
            "a folder (model.save_pretrained, and its tokenizer's), and load it: tslens.load('hf:FOLDER')."
        )
