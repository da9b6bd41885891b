"""Scores over seeds: the steps in common, bands by hand, and when each score appears."""

import dataclasses
import importlib
import math
import runpy
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import t

from tslens import stats
from tslens.dynamics import DynamicsResult, EmergenceResult, SnapshotResult, emergence
from tslens.dynamics.seeds import names_of, over_runs, together
from tslens.dynamics.snapshot import INDUCTION, LOSS, REPETITION
from tslens.dynamics.stability import PAIRINGS, result
from tslens.dynamics.stability import _labels as stability_labels

Made = Callable[..., SnapshotResult]


Curve = dict[int, tuple[float, float, float]]


def curve(snapshot: Made, values: Curve, score: str = INDUCTION) -> list[SnapshotResult]:
    """A run with these values of one score at these steps."""
    return [snapshot(step, {score: ends}) for step, ends in values.items()]


def rising(snapshot: Made, at: int) -> list[SnapshotResult]:
    """A run in which a score rises to 0.8 at a step and stays."""
    return curve(snapshot, {s: (0.8, 0.7, 0.9) if s >= at else (0.1, 0.0, 0.2) for s in (0, 1, 2, 4, 8, 16)})


def of(answer: EmergenceResult, field: str, score: str = INDUCTION) -> float:
    return float(getattr(answer, field)[answer.scores.index(score)])


def test_a_band_over_runs_is_students_and_of_one_run_its_own() -> None:
    value, low, high = torch.tensor([[1.0], [3.0]]), torch.tensor([[0.5], [2.0]]), torch.tensor([[2.0], [4.0]])
    mean, below, above = over_runs(value, low, high)
    reach = float(t.ppf(0.975, 1))  # the standard error of 1 and 3 is 1
    assert [float(mean), float(below), float(above)] == pytest.approx([2.0, 2 - reach, 2 + reach])
    alone = over_runs(value[:1], low[:1], high[:1])
    assert [float(part) for part in alone] == [1.0, 0.5, 2.0]


def test_steps_that_not_every_run_has_are_left_out(snapshot: Made) -> None:
    runs = [[snapshot(step) for step in steps] for steps in ((0, 1, 2, 4, 7), (0, 1, 2, 4, 9))]
    answer = together(["a", "b"], runs)
    assert answer.steps == [0, 1, 2, 4] and answer.value.shape == (2, 4, len(answer.scores))
    assert answer.to_frame().query("score == 'loss'")["step"].tolist() == [0, 1, 2, 4]


def test_counts_have_no_band_below_zero(snapshot: Made) -> None:
    runs = [curve(snapshot, {0: (n, n, n)}, "NOUN neurons") for n in (0.0, 1.0)]
    answer = together(["a", "b"], runs)
    at = answer.scores.index("NOUN neurons")
    assert float(answer.mean[at, 0]) == 0.5 and float(answer.low[at, 0]) == 0.0 and float(answer.high[at, 0]) > 6


def test_shares_have_no_band_beyond_0_and_1_and_other_scores_may(snapshot: Made) -> None:
    """Student's t of 0 and 1, or an interval over stories that was kept so: nothing is below 0 or above 1."""
    ends = {INDUCTION: ((0.0, -0.1, 0.2), (1.0, 0.8, 1.2)), REPETITION: ((0.0, -0.1, 0.2), (1.0, 0.8, 1.2))}
    runs = [[snapshot(0, {name: rows[i] for name, rows in ends.items()})] for i in (0, 1)]
    answer, alone = together(["a", "b"], runs), together(["b"], runs[1:])
    at, gain = (answer.scores.index(name) for name in ends)
    assert (float(answer.low[at, 0]), float(answer.high[at, 0]), float(alone.high[at, 0])) == (0, 1, 1)
    assert answer.value_low.amin() == pytest.approx(-0.1)  # of the gain in nats, which may be negative
    assert float(answer.value_low[..., at].amin()) == 0 and float(answer.value_high[..., at].amax()) == 1
    assert float(answer.low[gain, 0]) < -1 and float(answer.high[gain, 0]) > 2


def test_counts_on_which_runs_agree_have_a_width_and_other_scores_none(snapshot: Made) -> None:
    """12 neurons a model: 0 of 24, and 6 of 24, by Wilson's interval; the strongest head is no count."""
    rising = {"NOUN neurons": (3, 3, 3), INDUCTION: (0.5, 0.5, 0.5)}
    answer = together(["a", "b"], [[snapshot(0), snapshot(1, rising)]] * 2)

    def ends(score: str) -> list[list[float]]:
        return [getattr(answer, end)[answer.scores.index(score)].tolist() for end in ("low", "high")]

    found = stats.wilson([0, 6], [24, 24])
    assert ends("NOUN neurons")[0] == pytest.approx((12 * found.low).tolist(), abs=1e-5)
    assert ends("NOUN neurons")[1] == pytest.approx((12 * found.high).tolist(), abs=1e-5)
    assert ends("heads with a role")[1] == pytest.approx([8 * stats.wilson(0, 16).high] * 2)  # of 8 heads
    assert ends(INDUCTION) == [[0.0, 0.5]] * 2


def test_runs_that_are_no_seeds_are_refused(snapshot: Made, refused, there) -> None:
    of_heads = {"role_code": torch.zeros(2, 8).long(), "effect": torch.zeros(2, 8), "measured": torch.zeros(4, 2, 8)}
    wide = snapshot(0, **of_heads)
    with refused("a and b differ in their layers and heads"):
        together(["a", "b"], [[snapshot(0)], [wide]])
    with refused("a and b differ in their neurons"):
        together(["a", "b"], [[snapshot(0)], [snapshot(0, label=torch.zeros(2, 8, dtype=torch.long))]])
    with refused("a and b have no step in common"):
        together(["a", "b"], [[snapshot(1)], [snapshot(2)]])
    with refused("named twice"):
        names_of(["one", there / "one"])
    with refused("no run was named"):
        names_of([])


def test_a_score_appears_where_it_rises_and_stays(snapshot: Made) -> None:
    found = emergence(together(["a"], [rising(snapshot, 4)]))
    assert [of(found, name) for name in ("found", "step", "low", "high")] == [1, 4, 2, 4]
    assert [of(found, name) for name in ("half", "half_low", "half_high")] == [4, 2, 4]
    assert found.summary()["score"].tolist() == [INDUCTION]
    assert found.sentence(INDUCTION) == "from step 4 [2, 4] on, half of its final value from step 4 [2, 4]"
    assert found.sentence(LOSS) == "never"


def test_a_score_that_falls_back_does_not_appear_and_one_that_dips_appears_after(snapshot: Made) -> None:
    high, low = (0.8, 0.7, 0.9), (0.1, 0.0, 0.2)
    back = emergence(together(["a"], [curve(snapshot, {0: low, 1: high, 2: high, 4: low})]))
    assert of(back, "found") == 0 and math.isnan(of(back, "step")) and set(back.onset.flatten().tolist()) == {-1}
    dips = emergence(together(["a"], [curve(snapshot, {0: low, 1: high, 2: low, 4: high})]))
    assert [of(dips, name) for name in ("step", "low", "high")] == [4, 2, 4]


def test_what_overlaps_the_untrained_interval_has_not_appeared(snapshot: Made) -> None:
    values = {0: (0.1, 0.0, 0.3), 1: (0.5, 0.29, 0.7), 2: (0.5, 0.31, 0.7)}
    assert of(emergence(together(["a"], [curve(snapshot, values)])), "step") == 2


def test_the_loss_appears_where_it_falls(snapshot: Made) -> None:
    values = {0: (6.0, 5.9, 6.1), 1: (5.95, 5.8, 6.1), 2: (5.0, 4.9, 5.1), 4: (2.0, 1.9, 2.1)}
    found = emergence(together(["a"], [curve(snapshot, values, LOSS)]))
    assert [of(found, name, LOSS) for name in ("step", "half")] == [2, 4]
    assert found.headline() == f"1 of {len(found.scores)} scores appear; {LOSS} first: {found.sentence(LOSS)}."
    answer = together(["a"], [curve(snapshot, values, LOSS)])
    said = "The loss of a goes from 6.00 (5.90 to 6.10) at step 0 to 2.00 (1.90 to 2.10) at step 4, in nats per token."
    assert answer.headline() == said and str(answer).startswith(said)


def test_a_time_over_seeds_is_geometric_and_its_interval_spans_the_snapshots_between(snapshot: Made) -> None:
    found = emergence(together(["a", "b"], [rising(snapshot, 4), rising(snapshot, 16)]))
    after, before = [math.log2(5), math.log2(17)], [math.log2(3), math.log2(9)]
    assert of(found, "found") == 2 and of(found, "step") == pytest.approx(2 ** (sum(after) / 2) - 1, rel=1e-5)
    reach = float(t.ppf(0.975, 1))
    high = 2 ** (sum(after) / 2 + reach * (after[1] - after[0]) / 2) - 1
    assert of(found, "high") == pytest.approx(high, rel=1e-4)
    low = sum(before) / 2 - reach * (before[1] - before[0]) / 2
    assert of(found, "low") == pytest.approx(max(2**low - 1, 0.0), rel=1e-4)
    same = emergence(together(["a", "b"], [rising(snapshot, 8)] * 2))
    assert [of(same, name) for name in ("step", "low", "high")] == pytest.approx([8, 4, 8])
    one = emergence(together(["a", "b"], [rising(snapshot, 8), rising(snapshot, 99)]))
    assert [of(one, name) for name in ("found", "step", "low", "high")] == pytest.approx([1, 8, 4, 8])
    assert one.sentence(INDUCTION).endswith("in 1 of 2 runs")


def test_every_score_is_drawn_and_results_come_back(snapshot: Made, tmp_path) -> None:
    labelled = snapshot(16, {"NOUN neurons": (4, 2, 6), "previous token heads": (1, 0, 2), INDUCTION: (0.8, 0.7, 0.9)})
    answer = together(["a"], [[snapshot(0), snapshot(1), labelled]])
    drawn = dict(answer.figures())
    assert {"loss", "heads", "induction", "repetition", "roles", "labels", "lens"} == drawn.keys()
    texts = [text.get_text() for text in drawn["roles"].axes[0].get_legend().get_texts()]
    assert texts == ["heads with a role", "previous token"]
    assert [label.get_text() for label in drawn["loss"].axes[0].get_xticklabels()] == ["0", "1", "16"]
    assert len(answer.figure().axes) == 4 and answer.summary().columns.tolist() == ["score", "@0", "@1", "@16"]
    answer.save(tmp_path)
    assert torch.equal(DynamicsResult.load(tmp_path).value, answer.value)
    times = emergence(answer)
    assert times.figure() is not None and times.to_json()["last"] == 16
    nothing = emergence(together(["a"], [[snapshot(0), snapshot(1)]]))
    assert nothing.figure() is not None and nothing.summary().empty
    assert nothing.headline().startswith("None of ")
    assert dataclasses.replace(answer, corpus="x").corpus == "x"


def test_scores_stand_beside_those_of_untrained_twins(snapshot: Made) -> None:
    """Induction ends above all three twins, the loss below two of them; a lower loss ranks first."""
    of_twins = {INDUCTION: [0.1, 0.2, 0.15], LOSS: [6.0, 1.5, 5.0]}
    ends = {INDUCTION: (0.8, 0.7, 0.9), LOSS: (2.0, 1.9, 2.1)}
    answer = together(["a"], [[snapshot(step, ends, of_twins=of_twins) for step in (0, 4)]])
    assert answer.level(INDUCTION) == (0.1, 0.2) and answer.p_of(INDUCTION) == 0.25 and answer.p_of(LOSS) == 0.5
    rows = answer.summary().set_index("score")
    assert rows.loc[LOSS, ["twins_least", "twins_most", "p"]].tolist() == [1.5, 6.0, 0.5]
    drawn = answer.figures()
    texts = [text.get_text() for text in dict(drawn)["induction"].axes[0].get_legend().get_texts()]
    assert texts == [INDUCTION, "untrained twins"]
    without = together(["a"], [[snapshot(0), snapshot(4)]])
    assert "p" not in without.summary() and math.isnan(without.level(LOSS)[0]) and without.p_of(LOSS) == 1


def test_the_study_of_seeds_saves_twins_beside_its_labels_and_when_scores_are_halfway(
    snapshot: Made, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study, twins = checkout / "analyses", {"NOUN neurons": [0.0, 2.0], INDUCTION: [0.1, 0.2]}
    monkeypatch.syspath_prepend(str(study))
    runs = importlib.import_module("_runs")
    labels = torch.tensor([[0, 0, 1, -1, -1, -1], [2, -1, -1, -1, -1, -1]])
    made = [
        [dataclasses.replace(each, label=labels, of_twins=twins) for each in curve(snapshot, {0: (0.1, 0.0, 0.2)})]
        + [dataclasses.replace(each, label=labels, of_twins=twins) for each in rising(snapshot, 4)[1:]]
        for _ in range(2)
    ]
    answer, ends, names = together(["a", "b"], made), [each[-1] for each in made], ["a", "b"]
    agreed = result(names, ends, np.full((1, 1 + PAIRINGS, len(stability_labels(ends[0]))), 0.5), [[0.5] * 2] * 2)
    monkeypatch.setattr(runs.StudyRuns, "train", lambda *_: None)
    monkeypatch.setattr(runs.StudyRuns, "ending", lambda *_: 1.9)
    monkeypatch.setattr("tslens.dynamics.dynamics", lambda *_, **__: answer)
    monkeypatch.setattr("tslens.dynamics.stability", lambda *_, **__: agreed)
    monkeypatch.setattr("sys.argv", ["seeds.py", "--seeds", "2", "--figures", str(tmp_path)])
    runpy.run_path(str(study / "seeds.py"))
    beside = pd.read_csv(tmp_path / "labels.csv").set_index("label")
    assert beside.loc["NOUN neurons", ["mean", "twins_least", "twins_most"]].tolist() == [2, 0, 2]
    halves = pd.read_csv(tmp_path / "emergence.csv").set_index("score")
    assert halves.loc[INDUCTION, "half"] == 4
    said = capsys.readouterr().out
    assert "half of its final value from step 4" in said and "ends at 1.90 nats a token" in said
