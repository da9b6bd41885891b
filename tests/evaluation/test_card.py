"""The score card: each damage costs its own axis, salad raises nothing, and cards of models say what they rest on."""

import dataclasses
import json
import re
from math import nan
from pathlib import Path

import numpy as np
import pytest
import torch

import tslens.corpus
from tslens import cli, load, runs, stats
from tslens.cli.usual import usual_of_models
from tslens.corpus import Corpus
from tslens.errors import InputError
from tslens.evaluation.card import AXES, CardResult, ControlsCardResult, controls, ranks, reference, score_texts
from tslens.evaluation.card.forms import loss_by_forms, other_forms
from tslens.evaluation.card.reference import LIMITS, MEASURES, Reference, _carried, _correlation, _introduced, by_axis
from tslens.evaluation.damages import HITS
from tslens.models import Spec, build, weights
from tslens.ngrams import five_gram
from tslens.ngrams.words import sentences_of
from tslens.stories.generator import generate
from tslens.tokenizer import Tokenizer
from tslens.train import validation_stories

STEPS = [1, 10, 100, 1000, 10_000]


@pytest.fixture(scope="module")
def usual() -> Reference:
    return reference((made.text for made in generate(130)), "made")


@pytest.fixture(scope="module")
def found(usual: Reference) -> ControlsCardResult:
    return controls([made.text for made in generate(154)][130:], usual)


def test_other_forms_are_less_usual() -> None:
    model = five_gram(["The dog was happy. The dogs were happy. She has a ball. They have a ball."] * 3)
    assert "were" in other_forms()["was"] and "dogs" in other_forms()["dog"]
    assert loss_by_forms("The dog was happy.", model) == (0.0, 2)
    lost, words = loss_by_forms("The dog were happy.", model)
    assert lost > 0.5 and words == 2
    assert loss_by_forms("The zebrog was happy.", model)[0] >= 3.0
    assert loss_by_forms("", model) == (0.0, 0)


def test_measures_of_order_by_hand() -> None:
    told = sentences_of("Tom saw a dog. The dog ran. The cat slept. He saw a cat.")
    assert _introduced(told) == 0.5
    assert np.isnan(_introduced(sentences_of("Tom slept.")))
    assert _correlation(np.array([0.1, 0.5, 0.9])) == pytest.approx(1) and np.isnan(_correlation(np.array([0.1, 0.5])))
    assert _carried(sentences_of("Lily went there. Lily played.")) == 0.5


def test_stories_that_no_reference_has_are_usual(usual: Reference) -> None:
    """Their mean is not zero, but as far from it as so few stories of the scale leave open."""
    fresh = [made.text for made in generate(190)][130:]
    result = score_texts(fresh, usual)
    means = [result.axis(axis) for axis in AXES]
    assert all(0 in mean and abs(mean.estimate) < 0.7 for mean in means), means
    assert set(MEASURES.values()) == set(AXES)
    assert usual.axes(fresh[0]) == usual.axes(fresh[0])


def test_intervals_hold_zero_for_stories_of_the_reference_s_kind() -> None:
    """Over many draws of a scale's stories and of texts: without the scale's error half of the intervals miss it."""
    usual = reference(made.text for made in generate(130))
    rows = np.array([usual.measures(made.text) for made in generate(500, seed=7)])
    rng, missed, without = np.random.default_rng(0), 0, 0
    for _ in range(100):
        drawn = rng.permutation(len(rows))
        few = dataclasses.replace(usual, calibration=rows[drawn[:30]])
        texts = rows[drawn[30:90]]
        values = np.stack([by_axis(few.usual.standard(texts), axis) for axis in AXES], axis=1)
        for i, error in enumerate(few.error(texts)):
            missed += 0 not in stats.calibrated_mean(values[:, i], error, 30)
            without += 0 not in stats.mean_interval(values[:, i])
    assert missed <= 36 < 80 < without, (missed, without)  # of 400; 20 are expected, 36 exceeded with p = 0.001


def test_an_interval_ends_where_the_scale_does(usual: Reference) -> None:
    result = score_texts(["Xq zv", "Qwx jk.", "Tom was happy. Tom ran."], usual)
    means = [result.axis(axis) for axis in AXES]
    assert all(np.isnan(mean.low) or (mean.low >= -6 and mean.high <= 6) for mean in means)


def test_each_damage_costs_its_own_axis_most(found: ControlsCardResult) -> None:
    table = found.summary()
    for damage, axes in HITS.items():
        most = table[(table["damage"] == damage) & table["most"]]
        assert most["axis"].item() in axes
        assert most["low"].item() > 0.5
    assert (table.loc[table["damage"] == "salad", "auroc"] >= 0.5).all()
    assert len(found.figure().axes[0].get_yticklabels()) == len(AXES)


def test_an_empty_text_and_a_text_of_one_word_are_scored(usual: Reference) -> None:
    result = score_texts(["", "Dog"], usual, "odd")
    assert list(result.summary()["axis"]) == list(AXES) and result.summary()["does not measure"].str.len().min() > 10
    assert torch.isfinite(result.value[:, 2:]).all()  # neither has an end, nor variety
    assert result.value[:, :2].isnan().tolist() == [[True, True], [False, True]]  # an unknown word is a wrong form


def test_a_measure_without_occasion_is_missing_and_not_usual(usual: Reference) -> None:
    """The first text has no noun behind `a` and `the`, the second is the same and has one."""
    plain = "Tom ran home. Sue saw him there. They ate lunch. Tom slept well."
    result = score_texts([plain, f"{plain} Sue had a dog. The dog barked.", "Tom."], usual, "three")
    at = list(MEASURES).index("introduced")
    assert result.measures.isnan()[:, at].tolist() == [True, False, True]
    own = result.measures[:, [i for i, axis in enumerate(MEASURES.values()) if axis == "consistency"]].double()
    assert float(result.value[0, 1]) == pytest.approx(float(own[0].nansum() / 2))  # the mean of two, not of three
    assert float(result.value[1, 1]) == pytest.approx(float(own[1].mean()))
    assert result.value[2, 1].isnan() and result.axis("consistency").estimate == pytest.approx(
        float(result.value[:2, 1].mean())
    )
    row = result.summary().set_index("axis").loc["consistency"]
    assert row["no occasion"] == "order in 1, introduced in 2, carried in 1" and (row["n"], row["missing"]) == (3, 1)
    assert "introduced in 2" in str(result)
    alone = score_texts(["Tom.", "Sue."], usual).axis("consistency")
    assert np.isnan([alone.estimate, alone.low, alone.high]).all()


def test_an_axis_is_the_mean_of_the_measures_that_are_there() -> None:
    rows = np.zeros((3, len(MEASURES)))
    rows[:, 1:4] = [[3.0, np.nan, -1.0], [np.nan, 0.5, np.nan], [np.nan] * 3]
    np.testing.assert_array_equal(by_axis(rows, "consistency"), [1.0, 0.5, np.nan])


def test_reference_stories_without_occasion_say_nothing_of_a_measure() -> None:
    """No noun of these stands behind `a` and `the`, so nothing is usual there, whatever a text does."""
    plain = reference([f"Tom ran home {i} times. Sue saw him there. They ate lunch. Tom slept." for i in range(60)])
    found = dict(zip(MEASURES, plain.standard("Sue had a dog. The dog ran. Tom slept. Sue saw him."), strict=True))
    assert np.isnan(found["introduced"]) and np.isfinite(found["order"])


def test_controls_leave_out_texts_without_an_axis(usual: Reference) -> None:
    """Texts of one sentence have no consistency: of it nothing is known, of the others the same as without them."""
    short = controls(
        [f"The {word} was happy." for word in "dog cat bird boy girl frog mouse bear duck fox".split()], usual
    )
    table = short.summary().pivot(index="damage", columns="axis", values="auroc")
    assert table["consistency"].isna().all() and table["grammar"].notna().any()
    assert not short.summary().loc[short.summary()["axis"] == "consistency", "most"].any()


def test_refusals(usual: Reference) -> None:
    with pytest.raises(InputError, match="give 60 or more"):
        reference(["A story."] * 10)
    with pytest.raises(InputError, match="give 2 or more"):
        score_texts(["A story."], usual)
    with pytest.raises(InputError, match="give 10 or more"):
        controls(["A story."], usual)


def test_texts_of_another_kind_are_called_so(usual: Reference) -> None:
    """Not graded: a value at the end of the scale has no width and tells no two texts apart."""
    other = score_texts(["Abstract nouns govern this sentence, wholly.", "Policy makers met; figures rose."] * 5, usual)
    assert other.at_the_end("grammar") > 5 and other.remark.startswith("By grammar") and other.remark in str(other)
    alike = score_texts([made.text for made in generate(12, seed=3)], usual)
    assert alike.remark == "" and (alike.summary()["at the end"] <= 6).all()
    far, plain = torch.tensor(LIMITS, dtype=torch.float32), torch.full((len(MEASURES),), nan)
    plain[[1, 3]] = torch.tensor([-6.0, -6.0])  # as far as consistency reaches without `introduced`
    fields = {"texts": ["a", "b"], "value": torch.zeros(2, len(AXES)), "measures": torch.stack([far, plain])}
    odd = dataclasses.replace(alike, **fields)
    assert [odd.at_the_end(axis) for axis in AXES] == [1, 2, 1, 1]


def made_card(bits: list[float], names: list[str]) -> CardResult:
    n = len(names)
    value = torch.stack([torch.linspace(0.5, 0.9, n), torch.linspace(0.9, 0.5, n), torch.linspace(-1, 0, n)], 1)
    return CardResult(
        models=names,
        rows=["grammar, pairs", "order, pairs", "plot, texts"],
        value=value,
        low=value - 0.05,
        high=value + 0.05,
        bits_per_byte=torch.tensor(bits),
        bits_low=torch.tensor(bits) - 0.1,
        bits_high=torch.tensor(bits) + 0.1,
        step=torch.tensor([int(name.split("@")[1]) for name in names]),
        reference="made",
        trained_on_order=[names[0]],
    )


def test_a_card_says_first_which_axes_are_above_chance_and_twins() -> None:
    card = made_card([3.0, 1.0], ["r@1", "r@2"])  # grammar 0.5 and 0.9, order 0.9 and 0.5; the first trains on order
    said = "Axes of minimal pairs above chance (no untrained twin was scored): r@1 none; r@2 grammar."
    assert str(card).startswith(said)
    twin = {
        name: torch.cat([getattr(card, name), torch.tensor([[0.86, 0.5, nan]])]) for name in ("value", "low", "high")
    }
    names = [*card.models, "permuted twin 0 of r@2"]
    fields = {"models": names, "twins": names[-1:], "step": torch.tensor([1, 2, -1]), **twin}
    fields |= {name: torch.ones(3) for name in ("bits_per_byte", "bits_low", "bits_high")}
    none = "Axes of minimal pairs above chance and every untrained twin: r@1 none; r@2 none."
    assert dataclasses.replace(card, **fields).headline() == none


def test_ranks_beside_the_loss(tmp_path: Path) -> None:
    run = made_card([3.0, 2.0, 1.5, 1.0, 0.9], [f"r@{step}" for step in STEPS])
    ranked = run.ranks()
    assert ranked.loc[0, "rho"] == pytest.approx(1) and ranked[["low", "p", "tau_low", "tau_p"]].isna().all().all()
    assert "Steps of one run are no sample of models: no interval is possible." in str(run)
    result = made_card([3.0, 2.0, 1.5, 1.0, 0.9], [f"r{step}@{step}" for step in STEPS])
    table = result.ranks().set_index("row")
    assert table.loc["grammar, pairs", "rho"] == pytest.approx(1)
    assert table.loc["order, pairs", "rho"] == pytest.approx(-1)
    assert table.loc["order, pairs", "models"] == 4  # the one that trains on order is left out
    assert np.isnan(table.loc["order, pairs", "low"]) and table.loc["grammar, pairs", "low"] < 1
    assert "Ranks of the models" in str(result)
    told = result.summary()
    assert told.iloc[1]["does not measure"] == "it is trained on this"
    for by in ("pairs", "texts"):
        assert result.drawn(by).axes[0].get_xscale() == "log"
    result.save(tmp_path)
    assert CardResult.load(tmp_path).rows == result.rows
    names = [*result.models, "permuted twin 0 of r@10000"]
    fields = {name: torch.cat([getattr(result, name), torch.zeros(1, 3)]) for name in ("value", "low", "high")}
    for name in ("bits_per_byte", "bits_low", "bits_high"):
        fields[name] = torch.cat([getattr(result, name), torch.tensor([nan])])
    step = torch.cat([result.step, torch.tensor([-1])])
    both = dataclasses.replace(result, models=names, step=step, twins=names[-1:], **fields)
    lines = both.drawn("pairs").axes[0].get_lines()
    known = dataclasses.replace(both, bits_per_byte=torch.cat([result.bits_per_byte, torch.tensor([9.0])]))
    assert known.ranks().equals(result.ranks())  # nor where its loss was measured
    assert dataclasses.replace(known, twins=[], n_grams=names[-1:]).ranks().equals(result.ranks())
    assert all(len(line.get_xdata()) == len(STEPS) for line in lines)  # a twin has no steps, and no part in the ranks
    assert both.ranks().equals(result.ranks()) and names[-1] in set(both.summary()["model"])


@pytest.mark.parametrize("n", [5, 12])
def test_rank_interval_against_simulation(n: int) -> None:
    rng, hits = np.random.default_rng(1), np.zeros(2)
    rho, tau = 6 / np.pi * np.arcsin(0.5 / 2), 2 / np.pi * np.arcsin(0.5)
    for _ in range(300):
        x = rng.normal(size=n)
        drawn = ranks(x, 0.5 * x + np.sqrt(0.75) * rng.normal(size=n))
        hits += drawn["low"] <= rho <= drawn["high"], drawn["tau_low"] <= tau <= drawn["tau_high"]
    assert (hits / 300 > 0.92).all()
    assert np.isnan(ranks(np.ones(4), np.arange(4.0))["rho"])


def test_ranks_of_few_models_have_exact_p_values_and_no_interval() -> None:
    """Of 3! orders two are as extreme as the right one, of 4! two."""
    three, four = (ranks(np.arange(n, dtype=float), np.arange(n) ** 2.0) for n in (3, 4))
    assert (three["rho"], three["p"], three["tau_p"]) == pytest.approx((1, 2 / 6, 2 / 6))
    assert four["p"] == pytest.approx(2 / 24) and np.isnan([four["low"], four["tau_high"]]).all()
    assert ranks(np.array([1.0, 3, 2, 4]), np.arange(4.0))["p"] == pytest.approx(8 / 24)  # 4 of 0.8 or 1, 4 below
    printed = str(made_card([3.0, 2.0, 1.0], ["a@1", "b@2", "c@3"]))
    assert "3 models: no interval is possible" in printed and "tau_p" in printed
    assert "no interval is possible" not in str(
        made_card([3.0, 2.0, 1.5, 1.0, 0.9, 0.8], [f"r{i}@{i}" for i in range(6)])
    )


def test_command_on_texts(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stories = [made.text for made in generate(82)]
    (in_tmp / "ref.txt").write_text("\n<|endoftext|>\n".join(stories[:70]))
    (in_tmp / "mine.txt").write_text("\n<|endoftext|>\n".join(stories[70:]))
    arguments = ["eval", "card", "--texts", "mine.txt", "--reference", "ref.txt"]
    assert cli.main([*arguments, "--controls", "--out", "found", "--json"]) == 0
    one, two = json.loads(capsys.readouterr().out)
    assert [row["axis"] for row in one["rows"]] == list(AXES) and one["rows"][0]["n"] == 12
    assert one["corpus"] == "12 texts of mine.txt, beside 70 reference stories: ref.txt."
    assert {row["damage"] for row in two["rows"]} == set(HITS)
    assert {"texts-card.svg", "controls-card.csv"} <= {p.name for p in (in_tmp / "found").iterdir()}


def test_texts_are_scored_beside_the_stories_of_a_run(
    in_tmp: Path, made_words: Tokenizer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those that it was trained on; where they are gone, those that it kept; where it has none, some must be named."""
    stories = [made.text for made in generate(170)]
    (in_tmp / "ref.txt").write_text("\n<|endoftext|>\n".join(stories[:90]))
    (in_tmp / "mine.txt").write_text("\n<|endoftext|>\n".join(stories[90:100]))
    spec, run = Spec(8, 1, 2, d_vocab=made_words.size, n_ctx=64), in_tmp / "runs" / "tiny"
    record = {"spec": spec.to_dict(), "tokenizer": made_words.hash, "data": {"source": "ref.txt"}}
    runs.write(run, record, weights(build(spec)))
    made_words.save(run / runs.TOKENIZER)
    validation_stories.write(run / "data" / "validation.jsonl", stories[100:])
    asked = ["eval", "card", "--texts", "mine.txt", "--model", "tiny"]
    assert cli.main(asked) == 0
    assert re.search(r"10 texts of mine.txt, beside \d+ reference stories: ref.txt \(train\)", capsys.readouterr().out)
    (in_tmp / "ref.txt").unlink()
    assert cli.main(asked) == 0
    said = "beside 70 reference stories: validation stories that tiny kept (of ref.txt)."
    assert said in " ".join(capsys.readouterr().out.split())
    (run / "data" / "validation.jsonl").unlink()
    assert cli.main(asked) == 2
    error = capsys.readouterr().err
    assert "keeps no validation stories. So give --reference: stories of the kind that --texts are" in error


def test_command_on_a_model(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["eval", "card", "--model", "stories2M", "--pairs", "4", "--limit", "0"]
    assert cli.main([*arguments, "--out", "found"]) == 0
    printed = capsys.readouterr().out
    assert "entities, pairs" in printed and "does not measure" in printed
    assert "5-gram of 2,000 made stories (other data)" in printed and "bits_per_byte" in printed
    assert "permuted twin 0 of stories2M" in printed and "fresh twin 0 of stories2M" in printed
    assert "84 minimal pairs of 21 phenomena" in printed
    assert {p.name for p in (in_tmp / "found").iterdir()} == {"CardResult", "card-pairs.svg", "card.csv"}


def test_what_a_model_writes_is_compared_with_what_it_learned(
    in_tmp: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And never with stories of another kind unless asked: without its training stories there are no such rows."""
    assert usual_of_models(None, {"stories2M": load("stories2M")}, 100) is None
    said = capsys.readouterr().err
    assert "cannot be read here. So what they write is not scored; --reference names" in said and said.count("\n") == 1
    monkeypatch.setattr(
        tslens.corpus, "model_stories", lambda *_, **__: Corpus(tuple(t.text for t in generate(70)), "own")
    )
    found = usual_of_models(None, {"a": load("stories2M"), "b": load("stories2M")}, 100)
    assert found is not None and found.name == "own"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "give --model, the models to score, or --texts"),
        (["--model", "stories2M", "--controls"], "give it with --texts"),
        (["--model", "stories2M@*"], "keeps no snapshots"),
        (["--texts", "made"], "give --reference: stories of the kind that --texts are"),
        (["--texts", "made", "--model", "stories2M", "--reference", "made"], "beside --reference; give one of these"),
    ],
)
def test_bad_input(in_tmp: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str) -> None:
    assert cli.main(["eval", "card", *arguments]) == 2
    message = capsys.readouterr().err
    assert complaint in message and message.count("\n") == 1
