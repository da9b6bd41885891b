"""What is read as a model or as a tokenizer satisfies the protocols, and a model's record goes where the model goes."""

import copy
from typing import Any

import pytest
import torch

from tslens import models
from tslens.forward.trunk import trunk
from tslens.models import LanguageModel, Spec, TextTokenizer
from tslens.models.record import record_of
from tslens.tokenizer import Tokenizer


def test_both_kinds_of_model_can_be_read(spec: Spec, compressor: Any) -> None:
    assert isinstance(models.build(spec), LanguageModel)
    assert isinstance(compressor, LanguageModel)
    assert not isinstance(torch.nn.Linear(2, 2), LanguageModel)


def test_both_kinds_of_tokenizer_are_tokenizers(
    compressor: Any, made_stories: list[str], tokenizer: Tokenizer, tmp_path: Any
) -> None:
    view = trunk(compressor, made_stories)
    assert isinstance(tokenizer, TextTokenizer)
    assert isinstance(models.tokenizer_of(view), TextTokenizer)
    assert not hasattr(models.tokenizer_of(view), "save")  # it has what it can do, and nothing that fails
    with pytest.raises(ValueError, match="save that model"):
        models.save(view, tmp_path)


def test_a_record_goes_along(tokenizer: Tokenizer) -> None:
    """Copied and moved models keep name and tokenizer, and a copy's spec is read from its own parameters."""
    model = models.build(Spec(24, 2, 3, d_vocab=300, n_ctx=16), tokenizer=tokenizer)
    record_of(model).name = "mine"
    twin = copy.deepcopy(model)
    moved = twin.to(torch.float64).to(torch.float32)
    for each in (model, twin, moved):
        assert models.name_of(each) == "mine"
        assert models.tokenizer_of(each).encode(["the cat"]) == tokenizer.encode(["the cat"])
        assert models.spec_of(each) == models.spec_of(model)
    with torch.no_grad():
        twin.unembed.b_U[0] = 1.0
    assert "b_U" in models.spec_of(twin).because[0]
    assert type(models.spec_of(model)) is Spec


def test_a_model_of_ones_own_has_an_empty_record(spec: Spec) -> None:
    model = models.build(spec)
    del model.tslens_record
    assert models.name_of(model) == spec.name
    with pytest.raises(ValueError, match="has no tokenizer"):
        models.tokenizer_of(model)
