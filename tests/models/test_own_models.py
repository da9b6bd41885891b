"""A HookedTransformer of somebody's own, with a tokenizer of transformers: read as ours are."""

import copy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import tokenizers
import torch

import tslens
from tests.models.test_llama2c import write_tokenizer
from tslens import models, report, sae, twins
from tslens.analysis import circuits, heads, lens, neurons
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


def test_a_head_of_it_reads_tokens_and_features_stand_beside_neurons(own: Any, refused: Any) -> None:
    assert circuits.tokens(own, 1, 0).copying_p <= 1
    asked = sae.Features(sae.Training("blocks.0.hook_resid_post"), (), sae.NEURONS)
    if own.cfg.attn_only:
        with refused("has no neurons, beside which features are read"):
            asked.dictionary(own)
    else:
        assert torch.equal(asked.dictionary(own).decoder, own.blocks[0].mlp.W_out)


def test_a_tokenizer_set_later_counts(own: Any, tokenizer: Tokenizer) -> None:
    first = models.tokenizer_of(own)
    own.set_tokenizer(fast(tokenizer, bos_token=tokenizer.bos_text, pad_token=tokenizer.bos_text))
    assert models.tokenizer_of(own) is not first
    models.attach_tokenizer(own, fast(tokenizer, bos_token=tokenizer.bos_text))
    assert models.tokenizer_of(own).encode(STORIES) == tokenizer.encode(STORIES)


def test_bos_is_the_tokenizers_own_else_a_known_name(tmp_path, tokenizer: Tokenizer) -> None:
    from transformers import PreTrainedTokenizerFast

    other = llama2c.read_tokenizer(write_tokenizer(tmp_path / "tok.bin"), 300)
    assert from_transformers(fast(other, bos_token="<s>")).bos == other.bos
    assert from_transformers(fast(tokenizer)).bos_text == tokenizer.bos_text
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[CLS]": 0, "cat": 1, "[UNK]": 2}, unk_token="[UNK]"))
    plain = {"tokenizer_object": words, "name_or_path": "own"}
    assert from_transformers(PreTrainedTokenizerFast(**plain, cls_token="[CLS]")).bos == 0


UNCHECKED = """
import sys
import tslens
from tslens import models
from tslens.analysis import heads
from tslens.corpus import model_stories
from tslens.errors import InputError
from transformer_lens.model_bridge import TransformerBridge
from transformers import GPT2Config, GPT2LMHeadModel

raw = GPT2LMHeadModel(GPT2Config(vocab_size=300, n_embd=16, n_layer=1, n_head=2, n_positions=32))
raw.save_pretrained(sys.argv[1])
bridge = TransformerBridge.boot_transformers(sys.argv[1], device="cpu")
ways = [lambda m: heads.roles(m, ["The cat sat."]), models.name_of, models.tokenizer_of]
ways += [lambda m: model_stories(m, limit=2)]
for given in (raw, None, bridge):
    for ask in (*ways, *ways):
        try:
            ask(given)
        except InputError as error:
            print(error)
"""


def test_a_bridge_and_a_raw_model_are_refused_in_one_line(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """Whatever is asked of them first, in a process whose calls are not checked against their annotations."""
    to_transformers(tokenizer).save_pretrained(tmp_path)
    run = [sys.executable, "-P", "-c", UNCHECKED, str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    said = [line for line in done.stdout.splitlines() if "is no HookedTransformer" in line]
    given = ("GPT2LMHeadModel", "NoneType", "TransformerBridge")
    assert [line.split()[1] for line in said] == [name for name in given for _ in range(8)]
    assert all("save_pretrained" in line for line in said)


def test_weights_that_are_not_finite_and_no_layer_are_refused(own: Any, tokenizer: Tokenizer, refused: Any) -> None:
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    with torch.no_grad():
        own.blocks[1].attn.W_Q[0, 0, 0] = torch.nan
    with refused("blocks.1.attn.W_Q holds numbers that are not finite"):
        loss(own, STORIES)
    shape = {"d_model": 24, "n_heads": 2, "d_head": 12, "n_ctx": 32, "act_fn": "relu", "device": "cpu"}
    with refused("no layer"):
        cfg = HookedTransformerConfig(n_layers=0, d_vocab=tokenizer.size, **shape)
        loss(HookedTransformer(cfg, tokenizer=to_transformers(tokenizer)), STORIES)


ASKS = {
    "roles": heads.roles,
    "ablation": heads.ablation,
    "loss": loss,
    "twins": lambda model, stories: twins.compare(model, stories, n=1),
    "page": lambda model, stories: report.compute(model, stories, twins=0, causes=False),
}


ONE = "Stories are several texts, and one text was given"
GIVEN: dict[str, tuple[Any, str]] = {
    "a text": ("The cat sat.", ONE),
    "a dict": ({"text": ["The cat sat."]}, "a dict was given"),
    "a table": (pd.DataFrame({"text": ["The cat sat."]}), "a DataFrame was given"),
}
OTHERS: dict[str, tuple[Any, str]] = {
    "a path": (Path("tales.txt"), ONE),
    "tokens": (torch.tensor([[0, 1]]), "a Tensor was given"),
    "numbers": ([*range(30)], "story 0 is of type int"),
}


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
@pytest.mark.parametrize(("given", "said"), GIVEN.values(), ids=GIVEN)
def test_what_is_no_list_of_stories_is_refused(own: Any, ask: Any, given: Any, said: str, refused: Any) -> None:
    """Each is iterated over as something else, letters or names of columns, if at all."""
    with refused(said):
        ask(own, given)


@pytest.mark.thorough  # where types are not checked as functions are called
@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
@pytest.mark.parametrize(("given", "said"), OTHERS.values(), ids=OTHERS)
def test_what_is_not_even_iterated_over_is_refused(own: Any, ask: Any, given: Any, said: str, refused: Any) -> None:
    with refused(said):
        ask(own, given)


@pytest.mark.thorough
def test_other_things_in_the_place_of_texts_and_names(own: Any, refused: Any) -> None:
    with refused("a text is wanted, and a Tensor was given"):
        heads.pattern(own, torch.tensor([[0, 1]]))
    with refused("a text is wanted, and a list was given"):
        heads.pattern(own, ["The cat sat.", "It ran."])
    with refused("load takes the name or path of a model, and a HookedTransformer was given"):
        models.load(own)
    with refused("Roles is a class, and a scan takes what was made of it"):
        scan(own, STORIES, [heads.Roles])
    with refused("source is a list; give a name"):
        tslens.model_stories(own, STORIES)
    for limit in ("5", 1.5, 0):
        with refused(f"limit={limit!r} leaves no story"):
            tslens.model_stories(own, "made", limit=limit)
        with refused(f"limit={limit!r} leaves no story"):
            tslens.stories("made", limit=limit)


def test_what_cannot_be_read_is_refused(own: Any, tokenizer: Tokenizer, refused: Any) -> None:
    with refused("is no fast tokenizer"):
        models.attach_tokenizer(own, object())
    with refused("is not this model's tokenizer"):
        models.attach_tokenizer(own, fast(Tokenizer.train(STORIES * 40, tokenizer.size + 40)))
