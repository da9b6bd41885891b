"""The model in the page: what is embedded, that the script computes what the model does, and the view."""

import dataclasses
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tests.forward.test_hooked import other
from tests.generate.test_generate import random_model
from tslens import forward, models, report
from tslens.generate import Sampling
from tslens.models import Spec
from tslens.report import ReportData
from tslens.report.embed import unpack
from tslens.report.live import DEFAULT, MOST, Live, embedded, live_of, rounded, with_figures
from tslens.report.live_tokenizer import scripted
from tslens.report.live_view import section
from tslens.report.page import BUDGET
from tslens.report.shell import bundle
from tslens.tokenizer import Tokenizer

GREEDY = Sampling(temperature=0.0)
BEYOND = {
    "positions in queries and keys": "positions 'shortformer'",
    "positions in scores, window": "positions 'alibi'",
    "capped scores, normed queries": "query/key norm, soft caps",
    "capped logits": "soft caps",
    "norm after the embedding": "norms after others",
    "norms after attention and MLP": "soft caps, norms after others",
    "norms after attention and MLP alone": "norms after others",
    "experts": "experts",
    "sinks": "attention sinks",
    "rotary positions that depend on the length": "rescaled rotary",
    "final norm of another kind": "a final norm of another kind",
}
"""What the script does not compute of the models that the fast forward does not cover."""
SPECS = {
    "gpt2": Spec(24, 2, 3, d_vocab=300, n_ctx=48),
    "gpt2, of its own unembedding": Spec(24, 2, 3, d_vocab=310, n_ctx=48, tied=False, d_mlp=21),
    "windowed": Spec(24, 3, 3, d_vocab=300, n_ctx=48, scaled=False, window=5, local_layers=(1,)),
    "llama2.c": Spec(24, 2, 6, d_vocab=300, n_ctx=48, style="llama", n_key_value_heads=2, rotary_adjacent=True),
    "llama": Spec(24, 2, 3, d_vocab=300, n_ctx=48, style="llama", tied=False, rotary_base=500.0, eps=1e-6),
}


@pytest.fixture(scope="module")
def words(made_words: Tokenizer) -> Tokenizer:
    return made_words


def loud(spec: Spec, tokenizer: Tokenizer) -> Any:
    """A model of random weights whose next token is far from uniform."""
    model = random_model(spec, seed=3)
    models.attach_tokenizer(model, tokenizer)
    return model


def live(model: Any) -> Live:
    found, _ = live_of(model, True)
    assert found is not None
    return found


# What is embedded.


def test_half_precision_is_kept_as_it_is_and_other_weights_whole_or_in_steps(
    words: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = loud(SPECS["gpt2"], words)
    whole = live(model)
    assert whole.content["weights"]["precision"] == "float" and "whole" in whole.precision
    numbers = unpack(whole.content["weights"]["numbers"]).view(np.float32)
    assert np.array_equal(numbers, whole.weights)
    assert len(numbers) == models.spec_of(model).n_parameters() == sum(n for _, n in whole.content["parts"])

    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.half().float())
    half = live(model)
    assert half.content["weights"]["precision"] == "half" and "nothing is rounded" in half.precision
    assert np.array_equal(unpack(half.content["weights"]["numbers"]).view(np.float16).astype(np.float32), half.weights)
    assert with_figures(half, model, ["The cat sat."]) is half


@pytest.mark.parametrize(("bits", "most"), [(24, 2e-5), (20, 4e-4), (16, 4e-3)])
def test_steps_take_as_many_bits_as_fit_and_their_rounding_is_measured(
    words: Tokenizer, monkeypatch: pytest.MonkeyPatch, bits: int, most: float
) -> None:
    model = loud(SPECS["llama2.c"], words)
    n = models.spec_of(model).n_parameters()
    room = n * bits // 6 + n // 10
    monkeypatch.setattr("tslens.report.live.DEFAULT", room)
    found = live(model)
    kept = found.content["weights"]
    used = kept["middle"].bit_length()
    assert kept["precision"] == "steps" and f"in {used} bits" in found.precision
    assert used == bits if bits in (16, 24) else abs(used - bits) <= 1  # a few more or fewer by what deflating saves
    numbers, step = unpack(kept["numbers"]).astype(np.float64), unpack(kept["steps"]).view(np.float32)
    read = ((numbers - kept["middle"]) * np.repeat(step, kept["block"])[:n]).astype(np.float32)
    assert np.array_equal(read, found.weights)
    assert numbers.max() < 2**used and len(kept["numbers"]["data"]) + len(kept["steps"]["data"]) <= room

    text = "The cat sat on the mat. " * 2
    figures = with_figures(found, model, [text])
    said = re.search(r"On (\d+) tokens .* by at most ([\d.e-]+)\.$", figures.precision)
    tokens = torch.tensor(models.story_tokenizer_of(model).encode([text]))
    with torch.no_grad():
        first, second = (forward.logits(of, tokens)[0] for of in (model, rounded(found, model)))
    best = first.topk(2).indices
    moved = (first.gather(1, best).diff() - second.gather(1, best).diff()).abs().max()
    assert said and int(said[1]) == tokens.numel() and float(said[2]) == pytest.approx(float(moved), rel=0.06)
    assert 0 < moved < most and live(model).close == 1e-3
    assert max(1e-3, float(moved)) <= figures.close <= max(1e-3, float(moved) + 1e-4)
    assert f"differ by more than {figures.close:g};" in section(figures)


def test_a_small_model_is_live_by_default_and_a_larger_one_where_it_is_asked_for(words: Tokenizer) -> None:
    assert embedded(Spec(192, 4, d_vocab=2048, n_ctx=320)) == 5_958_656 < DEFAULT  # the bundled model
    between = loud(Spec(128, 11, d_vocab=1200, n_ctx=64), words)
    assert DEFAULT < embedded(models.spec_of(between)) <= MOST
    found, why = live_of(between)
    assert found is None and re.search(
        r"its 2,3\d\d,\d{3} weights take 6\.\d MB .* at most 6\.0 .* without --live", why
    )
    assert live(between).content["weights"]["middle"] == 2**15
    assert live_of(between, False) == (None, "It was left out (--no-live).")


def test_what_no_page_runs_is_said(words: Tokenizer, compressor: Any, refused: Any) -> None:
    found, why = live_of(compressor)
    assert found is None and "it is a compressor" in why
    large = models.build(Spec(256, 8, d_vocab=words.size, n_ctx=64), tokenizer=words)
    with refused(r"take 17\.\d MB of a page in 16 bits each, and at most 6\.5 are allowed. Leave out --live"):
        live_of(large, True)
    assert "without --live" not in live_of(large)[1]


def test_a_large_tokenizer_counts_too(words: Tokenizer, refused: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = loud(SPECS["gpt2"], words)
    weights, tokens = embedded(models.spec_of(model)), len(json.dumps(scripted(words, words.size)))
    monkeypatch.setattr("tslens.report.live.MOST", weights + tokens - 1)
    with refused("its weights and its tokenizer take .* MB of a page"):
        live_of(model, True)
    monkeypatch.setattr("tslens.report.live.MOST", weights + tokens)
    assert live_of(model, True)[0] is not None


@pytest.mark.parametrize(("name", "because"), BEYOND.items())
def test_what_the_script_does_not_compute_is_refused(name: str, because: str, words: Tokenizer, refused: Any) -> None:
    model = other(name, words)
    with refused(f"cannot run in a page: TransformerLens alone runs it, because of {because}"):
        live_of(model, True)
    found, why = live_of(model)
    assert found is None and because in why


def test_a_small_model_on_the_slow_path_is_in_its_page(words: Tokenizer) -> None:
    assert live_of(other("gelu", words))[0] is not None


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"normalizer": {"type": "NFC"}}, "splits text in a way of its own"),
        ({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}},
         "splits text in a way of its own"),
        ({"decoder": {"type": "Fuse"}}, "joins bytes in a way of its own"),
        ({"ignore_merges": True}, "no plain BPE"),
        ({"special": False}, "finds tokens in a text before"),
    ],
)  # fmt: skip
def test_a_tokenizer_of_another_kind_is_refused(
    words: Tokenizer, refused: Any, changed: dict[str, Any], said: str
) -> None:
    import tokenizers

    whole = json.loads(words.backend.to_str())
    if "ignore_merges" in changed:
        whole["model"] |= changed
    elif "special" in changed:
        whole["added_tokens"][0] |= changed
    else:
        whole |= changed
    other = Tokenizer(tokenizers.Tokenizer.from_str(json.dumps(whole)))
    with refused(said):
        scripted(other, 300)


def test_tokens_beyond_the_tokenizers_are_shown_and_joined_as_they_are(words: Tokenizer) -> None:
    found = scripted(words, words.size + 2)
    assert found["shown"][-1] == found["texts"][-1] == f"<unused {words.size + 1}>"
    assert found["shown"][0] == "<|endoftext|>" and found["bos"] == 0


def test_only_a_page_with_the_model_has_a_worker(made: Callable[..., ReportData], words: Tokenizer) -> None:
    data = made(no_live="It is not here: it is too large.")
    without = report.draw(data)
    assert "worker-src" not in without and "live-model" not in without and 'id="live"' not in without
    assert "It is not here: it is too large." in without
    model = live(loud(SPECS["gpt2"], words))
    page = report.draw(dataclasses.replace(data, live=model))
    assert page.count("; worker-src blob:") == 1 and page.count('<section id="live"') == 1
    assert page.count("<script") - bundle().count("<script") == 5 == page.count("</script>")
    assert model.precision in page and "connect-src" not in page
    weights = len(json.dumps(model.content))
    beside = len(page.encode()) - len(without.encode()) - weights
    assert 10_000 < beside < 60_000, "scripts, and the words of the section"
    assert MOST + BUDGET + len(bundle().encode()) + 2 * beside < 10_000_000


def test_the_model_takes_nothing_from_the_rest_of_the_page(made: Callable[..., ReportData], words: Tokenizer) -> None:
    data = made(tokens=64, stories=3, d_mlp=128, ranks=20)
    pages = [
        report.draw(d, budget=150_000) for d in (data, dataclasses.replace(data, live=live(loud(SPECS["gpt2"], words))))
    ]
    content = [json.loads(re.findall(r'id="data">(.*?)</script>', page, re.S)[0]) for page in pages]
    assert content[1].pop("live")["heads"] == 3
    assert content[0] == content[1]
