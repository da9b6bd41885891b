"""Twins share a model's shape, tokenizer and, permuted, its values; and nothing of its order."""

import pytest
import torch

from tslens import models
from tslens.models import Spec
from tslens.models.twins import KINDS, TURNED, Twin, twins


@pytest.fixture(scope="module")
def model(made_words, loud):
    return loud(models.build(Spec(16, 2, 2, d_vocab=made_words.size, n_ctx=32), tokenizer=made_words, seed=4))


@pytest.mark.parametrize("kind", KINDS)
def test_a_twin_has_the_shape_and_tokenizer_and_its_seed_decides_it(model, kind):
    before = models.weights(model)
    one, same, other = (Twin(kind, seed).of(model) for seed in (0, 0, 1))
    assert models.spec_of(one) == models.spec_of(model)
    assert models.tokenizer_of(one).hash == models.tokenizer_of(model).hash
    assert torch.equal(one.W_E, same.W_E) and not torch.equal(one.W_E, other.W_E)
    assert not torch.equal(one.W_E, model.W_E)
    assert all(torch.equal(weight, before[name]) for name, weight in models.weights(model).items())


def test_permuting_keeps_every_value_of_every_tensor(model):
    own, theirs = models.weights(model), models.weights(Twin("permuted", 3).of(model))
    for name, weight in own.items():
        assert torch.equal(weight.flatten().sort().values, theirs[name].flatten().sort().values), name
        assert weight.numel() < 3 or not torch.equal(weight, theirs[name]), name


def test_turned_heads_keep_all_but_the_directions_of_keys_and_values(model):
    own, theirs = models.weights(model), models.weights(Twin(TURNED, 3).of(model))
    for name, weight in own.items():
        of = name.rpartition(".")[2]
        assert torch.equal(weight, theirs[name]) == (of not in ("W_K", "W_V", "b_K", "b_V")), name
        if of in ("W_K", "W_V"):
            assert torch.allclose(weight @ weight.mT, theirs[name] @ theirs[name].mT, atol=1e-5)
            bias, turned = own[name.replace("W_", "b_")], theirs[name.replace("W_", "b_")]
            assert torch.allclose(weight @ bias[..., None], theirs[name] @ turned[..., None], atol=1e-5)


def test_nineteen_twins_of_both_kinds():
    chosen = twins()
    assert len(set(chosen)) == 19 and {twin.kind for twin in chosen} == set(KINDS)
    assert str(chosen[0]) == "permuted twin 0"


def test_an_unknown_kind_is_refused(model, refused):
    with refused("no 'evil' twin; the kinds are permuted, fresh, turned"):
        Twin("evil", 0).of(model)
