"""Untrained twins beside models: which, of what, and where there is none."""

import pytest
import torch

from tslens.errors import InputError
from tslens.evaluation.untrained import untrained
from tslens.models import Spec, build, weights


@pytest.fixture
def model(tokenizer):
    return build(Spec(8, 1, 2, d_vocab=tokenizer.size, n_ctx=16), tokenizer=tokenizer)


def test_one_of_each_kind_of_the_last_point_of_every_run(model, tokenizer):
    later = build(Spec(8, 1, 2, d_vocab=tokenizer.size, n_ctx=16), tokenizer=tokenizer, seed=1)
    found = untrained({"m@1": model, "m@2": later, "other": model})
    assert list(found) == [f"{kind} twin 0 of {of}" for of in ("m@2", "other") for kind in ("permuted", "fresh")]
    own, permuted = weights(later)["embed.W_E"], weights(found["permuted twin 0 of m@2"])["embed.W_E"]
    assert torch.equal(own.flatten().sort().values, permuted.flatten().sort().values) and not torch.equal(own, permuted)
    assert untrained({"m": model}, 0) == {} and len(untrained({"m": model}, 5)) == 5


def test_a_compressor_has_twins_and_a_model_without_a_tokenizer_is_said(model, compressor, capsys):
    found = untrained({"c": compressor, "m": model})
    assert set(found) == {f"{kind} twin 0 of {name}" for kind in ("permuted", "fresh") for name in "cm"}
    own, permuted = weights(compressor), weights(found["permuted twin 0 of c"])
    assert own.keys() == permuted.keys()
    assert all(torch.equal(own[name].flatten().sort().values, permuted[name].flatten().sort().values) for name in own)
    assert not all(torch.equal(own[name], permuted[name]) for name in own)
    bare = build(Spec(8, 1, 2, d_vocab=9, n_ctx=16))
    assert set(untrained({"bare": bare, "m": model}, 1)) == {"permuted twin 0 of m"}
    assert "no untrained twin of bare: " in capsys.readouterr().err
    with pytest.raises(InputError, match="--twins is -1"):
        untrained({"m": model}, -1)
