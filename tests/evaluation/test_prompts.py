"""Endings: their probabilities equal the hooked forward's, chance is chance, and the intervals are those of pairs."""

import dataclasses

import numpy as np
import pytest
import torch

from tslens import models, plots
from tslens.evaluation.prompts import EvaluateResult, evaluate
from tslens.evaluation.suites import Prompt, Suite, suite, suites
from tslens.models import Spec, build
from tslens.tokenizer import Tokenizer


def pair(about: str, a: tuple[str, ...], b: tuple[str, ...]) -> tuple[Prompt, Prompt]:
    return Prompt(f"Tom saw {about} and a", a, b, about), Prompt(f"He saw no {about}. So a", b, a, about)


SUITE = Suite("made", "?", (*pair("cats", ("cat", "big cat"), ("dog", "düg")), *pair("it", ("ball",), ("a red hat",))))


@pytest.fixture(scope="module")
def model():
    tokenizer = Tokenizer.train([p.text + " cat dog ball" for p in SUITE.prompts] * 3, 300)
    return build(Spec(16, 1, 2, d_vocab=tokenizer.size, n_ctx=48), tokenizer=tokenizer, seed=4)


def forgetful(model, tied: bool):
    """A model to which every position of every text looks alike: it knows how common tokens are, and with tied
    embeddings not even that."""
    spec = dataclasses.replace(models.spec_of(model), tied=tied)
    made = build(spec, tokenizer=models.tokenizer_of(model), seed=5)
    with torch.no_grad():
        for parameter in (made.embed.W_E, made.pos_embed.W_pos):
            parameter.copy_(parameter[:1].expand_as(parameter))
    return made


def scores(*margins: float) -> EvaluateResult:
    """An answer with these margins, twin after twin."""
    n = len(margins)
    numbers, each = torch.arange(n), torch.tensor(margins, dtype=torch.float)
    return EvaluateResult(
        "a model", "made", "?", ["p"] * n, ["about"] * (n // 2), ["e"] * n, numbers // 2, each, each / 4, numbers,
        numbers, numbers, numbers > 0, each, numbers + 1,
    )  # fmt: skip


def test_log_probabilities_equal_the_hooked_forward(model):
    result = evaluate(model, SUITE, batch_tokens=100)  # several batches
    tokenizer = models.tokenizer_of(model)
    assert len(result.endings) == 12
    for i, ending in enumerate(result.endings):
        prompt = SUITE.prompts[int(result.prompt[i])]
        head, tail = tokenizer.encode([prompt.text])[0], tokenizer.encode([f" {ending}"], bos=False)[0]
        with torch.no_grad():
            logp = model(torch.tensor([head + tail])).log_softmax(-1)[0]
        by_hand = sum(float(logp[len(head) - 1 + k, token]) for k, token in enumerate(tail))
        assert float(result.log_probability[i]) == pytest.approx(by_hand, abs=1e-4)
        assert int(result.text_bytes[i]) == len(ending.encode()) + 1
        assert bool(result.accepted[i]) == (ending in prompt.accepted)


def test_margins_are_best_against_best(model):
    result = evaluate(model, SUITE)
    table = {
        (int(p), e): float(x) for p, e, x in zip(result.prompt, result.endings, result.log_probability, strict=True)
    }
    for i, prompt in enumerate(SUITE.prompts):
        yes, no = (max(table[i, e] for e in side) for side in (prompt.accepted, prompt.rejected))
        assert float(result.margin[i]) == pytest.approx(yes - no, abs=1e-5)
        yes, no = (
            max(table[i, e] / (1 + len(e.encode())) for e in side) for side in (prompt.accepted, prompt.rejected)
        )
        assert float(result.margin_per_byte[i]) == pytest.approx(yes - no, abs=1e-5)
        assert table[i, result.endings[result.best_accepted[i]]] - table[
            i, result.endings[result.best_rejected[i]]
        ] == (pytest.approx(float(result.margin[i]), abs=1e-5))


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("name", suites())
def test_who_does_not_read_the_prompt_gets_half(model, name, tied):
    """By construction, in every suite, whatever the model believes of the endings; also where all are alike to it."""
    result = evaluate(forgetful(model, tied), shortened(suite(name)))
    assert float(result.margin.abs().max()) > 0.1
    for by in ("sum", "byte"):
        assert result.right(by).estimate == 0.5 and result.twins_right(by).estimate == 0
        assert result.mean_margin(by).estimate == pytest.approx(0, abs=1e-5)


def shortened(given: Suite) -> Suite:
    """The suite with its prompts cut to a few words, to fit a small context."""
    cut = [dataclasses.replace(p, text=f"{i} {p.text[-12:].strip()}") for i, p in enumerate(given.prompts)]
    return dataclasses.replace(given, prompts=tuple(cut))


def test_shares_and_intervals_by_hand():
    both_or_none = scores(1, 1, -1, -1, 1, 1, -1, -1)  # r = 1: worth 4 prompts
    one_of_two = scores(*[1, -1] * 4)  # r < 0: worth 8
    assert both_or_none.right().estimate == one_of_two.right().estimate == 0.5
    assert both_or_none.right().high == pytest.approx(0.8500, abs=1e-4)  # Wilson, 2 of 4
    assert one_of_two.right().high == pytest.approx(0.7848, abs=1e-4)  # Wilson, 4 of 8
    assert both_or_none.twins_right().estimate == 0.5 and one_of_two.twins_right().estimate == 0
    assert one_of_two.mean_margin().low == one_of_two.mean_margin().high == 0  # pairs are drawn whole
    assert both_or_none.mean_margin().low < -0.4 < 0.4 < both_or_none.mean_margin().high
    perfect = scores(1, 1, 1, 1).right()
    assert (perfect.estimate, perfect.high) == (1, 1) and perfect.low == pytest.approx(0.3424, abs=1e-4)  # 2 of 2
    assert scores(0, 0, 1, 1).right().estimate == 0.75 and scores(0, 0, 1, 1).twins_right().estimate == 0.5
    with pytest.raises(ValueError, match="endings are scored by sum or byte; got 'token'"):
        one_of_two.right("token")


def test_saves_loads_draws_and_tabulates(model, tmp_path):
    result = evaluate(model, SUITE)
    again = EvaluateResult.load(result.save(tmp_path))
    for name, values in result.tensors().items():
        assert torch.equal(getattr(again, name), values), name
    assert again.endings == result.endings and str(again) == str(result)
    frame = result.to_frame()
    assert list(frame["text"]) == result.prompts and list(frame["pair"]) == ["cats", "cats", "it", "it"]
    np.testing.assert_array_equal(frame["right"], frame["margin"] > 0)
    assert set(frame["best_accepted"]) <= {e for p in SUITE.prompts for e in p.accepted}
    assert list(result.to_frame("log_probability")["ending"]) == result.endings
    assert again.model == result.to_json()["model"] == "16x1x2"
    assert set(frame["model"]) == set(result.summary()["model"]) == {"16x1x2"}
    assert len(result.to_json()["table"]) == 4 and result.to_json()["rows"][0]["without_reading"] == 0.5
    drawn = plots.svg(result.figure())
    assert "cats" in drawn and f"16x1x2 on made: {result.right().estimate:.0%} of 4 prompts right" in drawn


def test_a_prompt_longer_than_the_context_is_refused(model):
    long = dataclasses.replace(SUITE.prompts[0], text="Tom saw cats and " * 20 + "a")
    with pytest.raises(ValueError, match="tokens, the context is 48. Shorten it."):
        evaluate(model, dataclasses.replace(SUITE, prompts=(long, *SUITE.prompts[1:])))


def test_a_model_of_others_reads_what_birds_and_fish_do(shared):
    """A trained model of 260,000 parameters: its tokenizer is another, and it knows this one pair."""
    file = shared / "data" / "models" / "stories260K.bin"
    result = evaluate(models.load(f"llama2c:{file},{file.with_name('tok512.bin')}"), suite("facts"))
    birds = result.pair == result.pairs.index("how birds and fish move")
    assert (result.margin[birds] > 0).all() and result.log_probability.max() < 0
