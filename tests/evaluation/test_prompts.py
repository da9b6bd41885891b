"""Endings: their probabilities equal the hooked forward's, chance is chance, and the intervals are those of pairs."""

import dataclasses
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import torch

from tslens import models, plots, stats
from tslens.evaluation.coloured import coloured_figure, coloured_html
from tslens.evaluation.matching import label
from tslens.evaluation.prompts import evaluate
from tslens.evaluation.scores import partners
from tslens.evaluation.suite_result import SuiteResult
from tslens.evaluation.suites import Prompt, Suite, suite, suites
from tslens.evaluation.untrained import untrained
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


def scores(*margins: float, more: tuple[float, ...] = (), templated: int = 0) -> SuiteResult:
    """An answer with these margins, twin after twin, and those of a second model; the last are of a template."""
    n, each = len(margins), torch.tensor([margins, more or margins], dtype=torch.float)
    numbers = torch.arange(n)
    topic = torch.where(numbers < n - templated, numbers // 2, n // 2)
    return SuiteResult(
        models=["a", "b"], suite="made", question="?", prompts=[f"p{i}" for i in range(n)], topics=["t"] * (n // 2 + 1),
        looks_right=[], looks_wrong=[], endings=["e"] * n, templated=numbers >= n - templated, topic=topic, margin=each,
        margin_per_byte=each / 4, best_accepted=numbers.repeat(2, 1), best_rejected=numbers.repeat(2, 1),
        prompt=numbers, accepted=numbers > 0, text_bytes=numbers + 1, log_probability=each,
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
        assert float(result.log_probability[0, i]) == pytest.approx(by_hand, abs=1e-4)
        assert int(result.text_bytes[i]) == len(ending.encode()) + 1
        assert bool(result.accepted[i]) == (ending in prompt.accepted)


def test_margins_are_best_against_best(model):
    result = evaluate(model, SUITE)
    table = {
        (int(p), e): float(x) for p, e, x in zip(result.prompt, result.endings, result.log_probability[0], strict=True)
    }
    for i, prompt in enumerate(SUITE.prompts):
        yes, no = (max(table[i, e] for e in side) for side in (prompt.accepted, prompt.rejected))
        assert float(result.margin[0, i]) == pytest.approx(yes - no, abs=1e-5)
        yes, no = (
            max(table[i, e] / (1 + len(e.encode())) for e in side) for side in (prompt.accepted, prompt.rejected)
        )
        assert float(result.margin_per_byte[0, i]) == pytest.approx(yes - no, abs=1e-5)
        assert table[i, result.endings[result.best_accepted[0, i]]] - table[
            i, result.endings[result.best_rejected[0, i]]
        ] == (pytest.approx(float(result.margin[0, i]), abs=1e-5))


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("name", suites())
def test_who_does_not_read_the_prompt_gets_half(model, name, tied):
    """By construction, in every suite, whatever the model believes of the endings; also where all are alike to it."""
    result = evaluate(forgetful(model, tied), shortened(suite(name)))
    assert float(result.margin.abs().max()) > 0.1
    for part in ("hand-written", "templated"):
        for by in ("sum", "byte"):
            assert result.right(0, part, by).estimate == 0.5 and result.pairs_right(0, part, by).estimate == 0
            assert result.mean_margin(0, part, by).estimate == pytest.approx(0, abs=1e-5)


def shortened(given: Suite) -> Suite:
    """The suite with its prompts cut to a few words, to fit a small context, and four pairs of each template."""
    seen = Counter[str]()
    few = [p for p in given.prompts if not p.templated or seen.update([p.about]) or seen[p.about] <= 8]
    cut = [dataclasses.replace(p, text=f"{i} {p.text[-12:].strip()}") for i, p in enumerate(few)]
    return dataclasses.replace(given, prompts=tuple(cut))


def test_shares_and_intervals_by_hand():
    both_or_none = scores(1, 1, -1, -1, 1, 1, -1, -1)
    one_of_two = scores(*[1, -1] * 4)
    assert both_or_none.right().estimate == one_of_two.right().estimate == 0.5
    # Independent prompts would be 8, pairs are 4 clusters: the smaller of the two intervals is the first's.
    assert one_of_two.right().high < both_or_none.right().high and one_of_two.right().high > 0.7
    assert both_or_none.pairs_right().estimate == 0.5 and one_of_two.pairs_right().estimate == 0
    assert one_of_two.mean_margin().low == one_of_two.mean_margin().high == 0  # pairs are drawn whole
    assert both_or_none.mean_margin().low < -0.4 < 0.4 < both_or_none.mean_margin().high
    perfect = scores(1, 1, 1, 1).right()
    assert (perfect.estimate, perfect.high) == (1, 1) and perfect.low == pytest.approx(0.3424, abs=1e-4)  # 2 of 2
    assert scores(0, 0, 1, 1).right().estimate == 0.75 and scores(0, 0, 1, 1).pairs_right().estimate == 0.5
    with pytest.raises(ValueError, match="endings are scored by sum or byte; got 'token'"):
        one_of_two.right(by="token")


def test_templates_are_counted_apart():
    result = scores(1, 1, 1, -1, 1, -1, -1, -1, more=(1,) * 8, templated=4)
    assert (result.by_hand, result.parts()) == (4, ["hand-written", "templated"])
    assert result.right(0).estimate == 0.75 and result.right(1).estimate == 1
    alone = result.right(0, "templated")  # prompts of one template are worth one
    assert alone.low == pytest.approx(stats.wilson(0.25, 1).low) and alone.estimate == 0.25
    with pytest.raises(ValueError, match="prompts are hand-written or templated; got 'all'"):
        result.right(0, "all")


def test_differences_are_paired_and_corrected():
    same = scores(*[1, 1, 1, -1] * 4)
    assert list(same.differences()["right"]) == ["undecided"] and same.differences()["difference"][0] == 0
    better = scores(*[1, -1] * 8, more=(*[1, 1] * 7, 1, -1)).differences().iloc[0]
    assert (better["model"], better["than"], better["right"]) == ("b", "a", "more")
    seven_of_eight = np.array([1.0] * 7 + [0])
    spread = seven_of_eight.std(ddof=1) / 8**0.5 * 2.3646  # Student's t, 7 degrees of freedom; 2 prompts a pair
    assert better["difference"] == 7 / 16
    assert better["low"] == pytest.approx(7 / 16 - spread / 2, abs=1e-4)


def test_verdicts_follow_the_margin_and_the_labels():
    result = scores(2, -2, 0.5, -0.5)
    assert result.verdicts().tolist() == [[2, 0, 1, 1]] * 2  # within a factor of two is partial
    assert result.verdicts("byte").tolist() == [[2, 0, 2, 0]] * 2
    written = dataclasses.replace(result, completions=[[["x"] * 3] * 4] * 2)
    graded = written.with_labels("someone", [[[2, 2, 1], [0, 0, 1], [1, 2, 0], [None] * 3], [[2] * 3] * 4])
    np.testing.assert_array_equal(graded.verdicts("someone"), [[2, 0, 1, np.nan], [2] * 4])
    assert graded.labelled(2, 0, "someone").estimate == pytest.approx((2 / 3 + 0 + 1 / 3) / 3)
    assert graded.labelled(2, 1, "someone").estimate == 1
    for wrong, why in (([[[2]] * 4] * 2, "not one for each completion"), ([[[3] * 3] * 4] * 2, "got 3")):
        with pytest.raises(ValueError, match=why):
            written.with_labels("someone", wrong)
    last = graded.by_label().iloc[3]
    assert (last["model"], last["success"], last["partial"], last["fail"], last["without_label"]) == ("a", 0, 0, 0, 3)
    with pytest.raises(ValueError, match="'match' gave no labels. Labels are by: someone"):
        graded.labelled(2)


def test_the_null_of_a_prompt_is_another_pair():
    assert partners(2) == [] and partners(4) == [2, 3, 0, 1] and partners(6) == [2, 3, 4, 5, 0, 1]
    for n in range(4, 70, 2):
        found = partners(n)
        assert sorted(found) == list(range(n)) and all(i // 2 != j // 2 for i, j in enumerate(found))


def test_several_models_and_what_they_write(model, tmp_path):
    result = evaluate([model, forgetful(model, tied=False)], SUITE, written=2, seed=3)
    assert result.models == ["16x1x2", "16x1x2 (2)"] and result.margin.shape == (2, 4)
    alone = evaluate(model, SUITE, written=2, seed=3)
    assert torch.equal(alone.margin[0], result.margin[0]) and alone.completions[0] == result.completions[0]
    assert [len(row) for row in result.completions[0]] == [2] * 4
    for own, labels in zip(result.completions, result.labels["match"], strict=True):
        for texts, found, prompt in zip(own, labels, SUITE.prompts, strict=True):
            assert found == [label(text, prompt) for text in texts]
    for own, labels in zip(result.completions, result.chance["match"], strict=True):
        for other, found, prompt in zip((2, 3, 0, 1), labels, SUITE.prompts, strict=True):
            assert found == [label(text, prompt) for text in own[other]]
    again = SuiteResult.load(result.save(tmp_path))
    assert (
        again.labels == result.labels
        and again.chance == result.chance
        and again.completions == result.completions
        and str(again) == str(result)
    )
    rows = pd.read_csv(tmp_path / "SuiteResult/labels.csv")
    assert len(rows) == 2 * 4 and set(rows["by"]) == {"match"} and list(rows["text"]) == result.prompts * 2
    for row, found in zip(rows.itertuples(), [own for of in result.labels["match"] for own in of], strict=True):
        assert [row.fail, row.partial, row.success] == [found.count(verdict) for verdict in range(3)]
    assert list(pd.read_csv(tmp_path / "SuiteResult/summary.csv")["score"]) == list(result.summary()["score"])
    named = evaluate({"first": model}, SUITE)
    assert named.models == ["first"] and not named.completions


def test_untrained_twins_stand_beside_the_model_they_are_of(model, tmp_path):
    models = {"m": model, "other": forgetful(model, tied=False)}
    twins = untrained(models, 2)
    result = evaluate(models, SUITE, twins=twins, written=1)
    alone = evaluate(twins, SUITE)
    assert result.models == ["m", "other"] and len(result.completions) == 2 and alone.twins == []
    rows = result.summary().set_index(["model", "score"])
    for name, own in (("m", (0, 1)), ("other", (2, 3))):
        found = [alone.right(i).estimate for i in own]
        assert tuple(rows.loc[(name, "prompts right"), ["twins_low", "twins_high"]]) == (min(found), max(found))
        margins = [alone.mean_margin(i).estimate for i in own]
        assert rows.loc[(name, "mean margin (nats)"), "twins_high"] == pytest.approx(max(margins))
    assert rows.loc[("m", "success, by match"), ["twins_low", "twins_high"]].isna().all()  # a twin writes nothing
    said = [f"untrained twins {a:.2f} to {b:.2f})" for a, b in zip(rows["twins_low"], rows["twins_high"], strict=True)]
    assert said[0] in result.headline()
    assert SuiteResult.load(result.save(tmp_path)).twins == result.twins
    assert "twins" not in evaluate(model, SUITE).headline()


def test_saves_loads_draws_and_tabulates(model, tmp_path):
    result = evaluate(model, SUITE)
    again = SuiteResult.load(result.save(tmp_path))
    for name, values in result.tensors().items():
        assert torch.equal(getattr(again, name), values), name
    assert again.endings == result.endings and str(again) == str(result)
    frame = result.to_frame()
    assert list(frame["text"]) == result.prompts and list(frame["topic"]) == ["cats", "cats", "it", "it"]
    np.testing.assert_array_equal(frame["right"], frame["margin"] > 0)
    assert set(frame["best_accepted"]) <= {e for p in SUITE.prompts for e in p.accepted}
    assert list(result.to_frame("log_probability")["ending"]) == result.endings
    assert again.models == result.to_json()["models"] == ["16x1x2"]
    assert set(frame["model"]) == set(result.summary()["model"]) == {"16x1x2"}
    assert len(result.to_json()["table"]) == 4 and result.to_json()["rows"][0]["without_reading"] == 0.5
    assert result.worst(2)["margin"].tolist() == sorted(result.margin[0].tolist())[:2]
    assert f"{result.right().estimate:.3f}" in str(result) and "Worst prompts" in str(result)


def test_the_coloured_table_as_figure_and_as_html(model, tmp_path):
    odd = dataclasses.replace(SUITE.prompts[0], text="Tom <b>saw</b> & a")
    suite = dataclasses.replace(SUITE, prompts=(odd, *SUITE.prompts[1:]))
    result = evaluate({"<i>one</i>": model, "two": model}, suite, written=1)
    table = (result.save(tmp_path) / "table.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;saw&lt;/b&gt; &amp; a" in table and "<b>" not in table and "<i>" not in table
    assert table.count("<table") == 2 and table.count("<tr>") == 2 * 5  # by probability, and by what was written
    assert sum(table.count(f'class="{v}"') for v in ("fail", "partial", "success")) == 2 * 8
    assert "✓ right ending likelier" in table and "first words" in table
    for by in ("sum", "byte", "match"):
        drawn = plots.svg(coloured_figure(result, by))
        assert "cats" in drawn and "two" in drawn and "4 prompts" in drawn
        assert "title=" in coloured_html(result, by) and "title=" not in coloured_html(result, by, tips=0)
    share = result.right()
    assert f"{share.estimate:.0%} [{share.low:.0%}, {share.high:.0%}]" in table
    drawn = plots.svg(result.figure())
    assert f"{share.estimate:.0%}" in drawn and f"[{share.low:.0%}, {share.high:.0%}]" in drawn


def test_a_prompt_longer_than_the_context_is_refused(model):
    long = dataclasses.replace(SUITE.prompts[0], text="Tom saw cats and " * 20 + "a")
    with pytest.raises(ValueError, match="tokens, the context of 16x1x2 is 48. Shorten it."):
        evaluate(model, dataclasses.replace(SUITE, prompts=(long, *SUITE.prompts[1:])))


def test_a_model_of_others_reads_what_birds_and_fish_do(shared):
    """A trained model of 260,000 parameters: its tokenizer is another, and it knows this one pair."""
    file = shared / "data" / "models" / "stories260K.bin"
    result = evaluate(models.load(f"llama2c:{file},{file.with_name('tok512.bin')}"), suite("facts"))
    birds = result.topic == result.topics.index("how birds and fish move")
    assert (result.margin[0, birds] > 0).all() and result.log_probability.max() < 0
