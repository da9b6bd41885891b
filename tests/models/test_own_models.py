"""A HookedTransformer of somebody's own, with a tokenizer of transformers: read as ours are."""

import copy
from typing import Any

import pytest
import torch

from tests.models.test_llama2c import write_tokenizer
from tslens import models
from tslens.analysis import heads, lens, neurons
from tslens.evaluation.loss import loss
from tslens.models import llama2c
from tslens.models.fast_tokenizer import from_transformers, to_transformers
from tslens.scan import scan
from tslens.tokenizer import Tokenizer

STORIES = ["The cat sat on a mat. It was big.", "A dog ran to the cat. The cat hid.", "Tim had a red ball."] * 8


def fast(tokenizer: Tokenizer, **special: str) -> Any:
    """A tokenizer of transformers, as a person's own."""
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer.backend, name_or_path="own", add_bos_token=True, **special
    )


pytestmark = pytest.mark.filterwarnings("ignore:HookedTransformer is deprecated")


@pytest.fixture(params=["gelu", "relu", "attention only"])
def own(request: pytest.FixtureRequest, tokenizer: Tokenizer) -> Any:
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    kind = {"attn_only": True} if request.param == "attention only" else {"act_fn": request.param}
    shape = {"n_layers": 2, "d_model": 24, "n_heads": 2, "d_head": 12, "n_ctx": 32, "seed": 0, "device": "cpu"}
    cfg = HookedTransformerConfig(d_vocab=tokenizer.size, **shape, **kind)
    return HookedTransformer(cfg, tokenizer=to_transformers(tokenizer))


def test_its_own_tokenizer_is_read(own: Any, tokenizer: Tokenizer) -> None:
    found = models.tokenizer_of(own)
    assert found.encode(STORIES) == tokenizer.encode(STORIES) and found.bos == tokenizer.bos
    assert models.tokenizer_of(own) is found  # once
    assert models.tokenizer_of(copy.deepcopy(own)).encode(["a"]) == found.encode(["a"])


def test_heads_neurons_lens_and_loss_of_it(own: Any) -> None:
    asked = [heads.Roles(), lens.ByDepth()] + ([] if own.cfg.attn_only else [neurons.Profiles()])
    roles, depth, *profiles = scan(own, STORIES, asked)
    assert roles.role_code.shape == (2, 2) and depth.kl[-1] < 1e-4
    assert all(found.label.shape == (2, own.cfg.d_mlp) for found in profiles)
    tokens = own.to_tokens(STORIES[:1])
    with torch.no_grad():
        expected = float(own(tokens, return_type="loss"))
    assert loss(own, STORIES[:1]).nats_per_token == pytest.approx(expected, rel=0.2)  # which counts the story's end too


def test_a_tokenizer_set_later_counts(own: Any, tokenizer: Tokenizer) -> None:
    first = models.tokenizer_of(own)
    own.set_tokenizer(fast(tokenizer, bos_token=tokenizer.bos_text, pad_token=tokenizer.bos_text))
    assert models.tokenizer_of(own) is not first
    models.attach_tokenizer(own, fast(tokenizer, bos_token=tokenizer.bos_text))
    assert models.tokenizer_of(own).encode(STORIES) == tokenizer.encode(STORIES)


def test_bos_is_the_tokenizers_own_else_a_known_name(tmp_path, tokenizer: Tokenizer) -> None:
    other = llama2c.read_tokenizer(write_tokenizer(tmp_path / "tok.bin"), 300)
    assert from_transformers(fast(other, bos_token="<s>")).bos == other.bos
    assert from_transformers(fast(tokenizer)).bos_text == tokenizer.bos_text


def test_what_cannot_be_read_is_refused(own: Any, tokenizer: Tokenizer, refused: Any) -> None:
    with refused("is no fast tokenizer"):
        models.attach_tokenizer(own, object())
    with refused("is not this model's tokenizer"):
        models.attach_tokenizer(own, fast(Tokenizer.train(STORIES * 40, tokenizer.size + 40)))
