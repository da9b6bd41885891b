"""The record that tslens keeps with a model, beside its parameters, under one attribute.

An attribute, because `copy.deepcopy`, pickling and `model.to` take it along; a dictionary beside the model would not.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from tslens.models.protocols import TextTokenizer
from tslens.models.spec import Spec

ATTRIBUTE = "tslens_record"


@dataclasses.dataclass
class Checked:
    """A spec, and what it was read from. Holding modules and parameters keeps their ids from being used again."""

    spec: Spec
    configured: tuple[Any, ...]
    modules: list[tuple[dict[str, Any], str, nn.Module]]
    parameters: list[dict[str, Any]]
    frozen: list[tuple[dict[str, Any], str, Tensor]]
    """Parameters that must be zero, as (the dictionary that holds it, its name there, it)."""
    flat: list[Tensor]
    mark: Any = None
    """Of what the spec was read from, all that is compared at every call."""


@dataclasses.dataclass
class ModelRecord:
    """What tslens knows of one model."""

    name: str | None = None
    """What `load` found it under."""
    run: Path | None = None
    """The folder of the run, or bundled model, that it was loaded from."""
    config: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """That folder's `config.json` as it was then."""
    tokenizer: TextTokenizer | None = None
    readout: Tensor | None = None
    """In place of the unembedding, what the residual stream's directions add to the logits: a compressor's trunk's."""
    checked: Checked | None = None
    """What `spec_of` found last."""


def record_of(model: Any) -> ModelRecord:
    """The model's record, an empty one for a model that tslens has not seen yet."""
    record: ModelRecord | None = getattr(model, ATTRIBUTE, None)
    if record is None:
        record = ModelRecord()
        setattr(model, ATTRIBUTE, record)
    return record
