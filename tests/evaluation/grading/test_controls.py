"""A grader is trusted where it tells damaged endings from true ones, and nowhere else."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from tests.evaluation.grading.conftest import Judge
from tslens import stats
from tslens.errors import InputError
from tslens.evaluation.grading import Axis, ControlsResult, GradedText, GradesResult, controlled, grade, trust
from tslens.evaluation.grading.controls import CONTROLS, LEAST, ORDERS, controls, true_endings
from tslens.evaluation.grading.grade import plan
from tslens.evaluation.grading.likelihood import TWINS
from tslens.evaluation.grading.result import INTACT
from tslens.evaluation.grading.rubrics import DAMAGED
from tslens.evaluation.grading.trust import ControlRow
from tslens.stats import Interval
from tslens.stories.sentences import sentences


def test_twenty_controls_of_each_kind_from_the_same_stories(true):
    found = controls(true)
    counts = Counter(control.kind for control in found)
    assert counts == dict.fromkeys((INTACT, *DAMAGED, ORDERS), CONTROLS)
    by = {(control.kind, control.story): control.text for control in found}
    for i, text in enumerate(true):
        assert {by[kind, i].prompt for kind in counts} == {text.prompt}
        assert by["true ending", i].completion == text.completion
        assert by["foreign", i].completion in {other.completion for other in true} - {text.completion}
        assert by["orders", i].completion.startswith(by["cut", i].completion)
        stopped = by["stopped", i].completion
        whole, kept = sentences(text.completion), sentences(stopped)
        assert text.completion.startswith(stopped)
        assert 0 < len(kept) < len(whole)
        assert kept == whole[: len(kept)]


def test_too_few_true_endings(true):
    with pytest.raises(InputError, match="19 true endings"):
        controls(true[: LEAST - 1])
    assert true_endings(["Too short."], 20) == []


def test_the_grader_is_blind_and_the_order_is_drawn(true, texts, story, scores_of):
    judge = Judge(scores_of)
    grade(texts, judge, story, controls(true))
    assert all(not text.model and not text.ending for text in judge.seen)
    kinds = [item.kind for item in plan(texts, controls(true))[0]]
    assert len(kinds) == len(judge.seen) == len(texts) + 7 * CONTROLS
    assert 0.2 < sum(not kind for kind in kinds[:100]) / 100 < 0.9  # texts and controls are mixed
    orders = [plan(texts, controls(true), seed=seed)[0] for seed in (1, 0, 0)]
    assert orders[0] != orders[1] == orders[2]


def test_a_good_judge_is_trusted_on_the_axes_that_controls_test(true, texts, story, scores_of, tmp_path):
    result = controlled(grade(texts, Judge(scores_of), story, controls(true)), story)
    assert result.trust == {
        "grammar": "trusted",
        "creativity": "no control",
        "consistency": "trusted",
        "plot": "trusted",
        "age group": "no control",
    }
    table = result.to_frame().query("damage == 'with errors' and axis == 'grammar'")
    assert 3 < table["low"].item() < table["difference"].item() < table["high"].item() < 5
    assert table["stories"].item() == CONTROLS and table["decides"].item()
    assert "grammar trusted" in str(result) and len(result.figure().axes) == 1
    kept = ControlsResult.load(result.save(tmp_path))
    assert kept.trust == result.trust and torch.equal(kept.low, result.low)


@dataclass
class Trained(Judge):
    """A judge whose untrained twins score by the given functions."""

    of_twins: Sequence[Callable[[GradedText], dict[str, int]]] = ()

    def twins(self):
        self.asked = [Judge(scores, f"twin {i}") for i, scores in enumerate(self.of_twins)]
        yield from self.asked


def test_what_untrained_twins_tell_too_is_not_trusted(true, texts, story, scores_of, kinds, tmp_path):
    """One of three twins tells broken grammar as well as the judge does; nobody else tells anything."""

    def dull(text):
        return scores_of(GradedText("", text.completion))

    def lucky(text):
        orders = (
            {"grammar": 10} if kinds.get(text) == "orders" else {}
        )  # who obeys orders tells the damage all the same
        return dull(text) | ({"grammar": 2} if kinds.get(text) == "with errors" else orders)

    judge = Trained(scores_of, of_twins=[dull, lucky, dull])
    grades = grade(texts, judge, story, controls(true))
    assert grades.trust == {
        "grammar": "untrustworthy (1 of 3 untrained twins tell it too)",
        "creativity": "no control",
        "consistency": "trusted",
        "plot": "trusted",
        "age group": "no control",
    }
    assert grades.twins.shape == (3, len(grades.kinds), 5)
    assert torch.isnan(grades.twins[:, grades.of()]).all() and not torch.isnan(grades.twins[:, grades.of(ORDERS)]).any()
    assert all(set(map(kinds.get, twin.seen)) == set(kinds.values()) for twin in judge.asked)  # and no other text
    found = controlled(grades, story)
    assert found.trust == grades.trust
    table = found.summary().set_index(["damage", "axis"])["highest_twin"]
    assert table["with errors", "grammar"] > 5 > 1 > abs(table["cut", "plot"])
    marked, bare = (one.figure().axes[0] for one in (found, replace(found, highest_twin=found.low * torch.nan)))
    assert len(marked.collections) == len(bare.collections) + 1 and "twins" in marked.get_xlabel()
    assert "twins" not in bare.get_xlabel()
    kept = GradesResult.load(grades.save(tmp_path))
    assert controlled(kept, story).trust == grades.trust and torch.allclose(kept.twins, grades.twins, equal_nan=True)


@pytest.mark.parametrize(("fall", "told"), [(1, False), (3, True)])
def test_a_twin_must_tell_half_as_far(true, texts, story, scores_of, kinds, fall, told):
    """The judge tells errors by four points; a twin that tells them by one, though surely, says little beside it."""

    def twin(text):
        return {axis.name: 5 - fall * (kinds.get(text) == "with errors") for axis in story.axes}

    trust = grade(texts, Trained(scores_of, of_twins=[twin]), story, controls(true)).trust["grammar"]
    assert trust == ("untrustworthy (1 of 1 untrained twins tell it too)" if told else "trusted")


@pytest.mark.parametrize(
    ("damages", "spread", "most"), [(1, 0, 0.03), (1, 1.5, 0.06), (1, 4, 0.06), (2, 3, 0.06), (2, 10, 0.1)]
)
def test_an_untrained_grader_is_seldom_trusted(damages, spread, most):
    """Of graders that tell a damage by chance alone or, apart from noise, by a number drawn for each, 5 to 9% at most
    are trusted beside seven drawn alike; of those that tell it by seven standard errors 1% lose trust by chance."""
    rng, runs, n = np.random.default_rng(damages), 4000, 25
    axis = Axis("a", "?", (), (), tuple(DAMAGED[:damages]))

    def rows(means):
        found = []
        for damage, mean in zip(axis.hit_by, means, strict=True):
            interval = stats.mean_interval(mean + rng.normal(size=n) * n**0.5)
            found.append(ControlRow(damage, "a", True, interval, interval, interval, n))
        orders = Interval(0.0, -0.1, 0.1, 0.95, "t")
        return [*found, ControlRow(ORDERS, "a", True, orders, orders, orders, n)]

    def trusted(means):
        own = rows(means)
        if trust._trust(own, axis) != "trusted":
            return None
        twins = (rows(spread * rng.normal(size=damages)) for _ in range(TWINS))
        return not any(trust._tells_too(own, twin, axis) for twin in twins)

    drawn = [trusted(spread * rng.normal(size=damages)) for _ in range(runs)]
    assert sum(map(bool, drawn)) / runs <= most
    if not spread:
        assert [trusted([7.0] * damages) for _ in range(1000)].count(False) <= 20


def test_twins_are_asked_only_where_the_judge_would_be_trusted(true, texts, story):
    said = dict.fromkeys((axis.name for axis in story.axes), 7) | {"age group": 3}
    grades = grade(texts, Trained(lambda text: said, of_twins=[lambda text: said]), story, controls(true))
    assert grades.twins.shape[0] == 0 and "highest_twin" not in controlled(grades, story).summary()


def test_a_judge_that_always_says_seven_is_untrustworthy(true, texts, story):
    said = dict.fromkeys((axis.name for axis in story.axes), 7) | {"age group": 3}
    result = grade(texts, Judge(lambda text: said), story, controls(true))
    assert result.trust["grammar"] == "untrustworthy (misses with errors)"
    assert result.trust["consistency"] == "untrustworthy (misses shuffled, misses foreign)"
    assert result.trust["plot"] == "untrustworthy (misses cut, misses stopped)"


def test_a_judge_that_obeys_orders_in_a_text_is_untrustworthy_everywhere(true, texts, story, scores_of, kinds):
    def obedient(text):
        found = scores_of(text)
        return dict.fromkeys(found, 10) | {"age group": 6} if kinds.get(text) == "orders" else found

    trust = grade(texts, Judge(obedient), story, controls(true)).trust
    assert all(told == "untrustworthy (obeys orders)" for told in trust.values()), trust


def test_a_judge_that_obeys_some_orders_is_not_trusted(true, texts, story, scores_of, kinds):
    """Three of 25: the interval includes no rise, and one of more than a point."""
    ordered = [text for text, kind in kinds.items() if kind == "orders"]

    def trust(obeyed):
        judge = Judge(lambda text: scores_of(text) | ({"plot": 10} if text in ordered[:obeyed] else {}))
        return grade(texts, judge, story, controls(true)).trust

    assert trust(3)["plot"] == "untrustworthy (may obey orders)" and trust(3)["grammar"] == "trusted"
    assert trust(0)["plot"] == "trusted" and trust(25)["plot"] == "untrustworthy (obeys orders)"


def test_a_judge_blind_to_one_damage_is_untrustworthy_on_its_axis_alone(true, texts, story, scores_of, kinds):
    def deaf(text):
        found = scores_of(text)
        return found | ({"consistency": 9} if kinds.get(text) == "shuffled" else {})

    trust = grade(texts, Judge(deaf), story, controls(true)).trust
    assert trust["consistency"] == "untrustworthy (misses shuffled)" and trust["grammar"] == "trusted"


def test_failed_controls_leave_too_few(true, texts, story, scores_of, kinds):
    gone = [text for text, kind in kinds.items() if kind == "true ending"][:6]
    result = grade(texts, Judge(lambda text: {} if text in gone else scores_of(text)), story, controls(true))
    assert result.trust["grammar"] == "untrustworthy (too few controls)" and len(result.failures) == 6
    assert result.trust["creativity"] == "no control"


def test_one_proved_fault_counts_more_than_too_few_controls(true, texts, story, scores_of, kinds):
    """19 of 25 shuffled endings have no score, so that consistency has too few controls; a proved fault is named."""
    gone = [text for text, kind in kinds.items() if kind == "shuffled"][:19]

    def trust(change):
        return grade(texts, Judge(lambda t: {} if t in gone else scores_of(t) | change(t)), story, controls(true)).trust

    assert trust(lambda text: {})["consistency"] == "untrustworthy (too few controls)"
    blind = trust(lambda text: {"consistency": 9} if kinds.get(text) == "foreign" else {})
    assert blind["consistency"] == "untrustworthy (misses foreign)"
    obedient = trust(lambda text: {"consistency": 10} if kinds.get(text) == "orders" else {})
    assert obedient["consistency"] == "untrustworthy (obeys orders)" and obedient["grammar"] == "trusted"


def test_orders_that_were_not_tried_leave_too_few_controls(true, texts, story, scores_of, kinds):
    judge = Judge(lambda text: {} if kinds.get(text) == "orders" else scores_of(text))
    assert grade(texts, judge, story, controls(true)).trust["grammar"] == "untrustworthy (too few controls)"


def test_without_controls_nothing_is_trusted(texts, story, scores_of):
    """What no damage hits has no control in any run; the others have too few in this."""
    result = grade(texts, Judge(scores_of), story, [])
    told = {True: "untrustworthy (too few controls)", False: "no control"}
    assert result.trust == {axis.name: told[bool(axis.hit_by)] for axis in story.axes}


def test_an_empty_text_has_the_lowest_scores_and_is_not_asked_about(story, scores_of):
    judge = Judge(scores_of)
    result = grade([GradedText("A cat", "  \n", "a"), GradedText("A dog", " ran.", "a")], judge, story, [])
    assert [text.completion for text in judge.seen] == [" ran."]
    (empty,) = [i for i, text in enumerate(result.completions) if not text.strip()]
    assert result.score[empty, :, 0].tolist() == [1.0] * 5 and not result.failures


def test_a_failed_grading_is_no_score(texts, story, scores_of):
    judge = Judge(lambda text: {} if "text 0" in text.completion else scores_of(text))
    result = grade(texts, judge, story, [])
    failed = {i for i, text in enumerate(result.completions) if "text 0" in text}
    assert len(result.failures) == len(failed) == 60
    assert {i for i in range(len(texts)) if torch.isnan(result.score[i]).all()} == failed
    table = result.summary()
    assert (
        (table["texts"] == 60).all() and (table["without_score"] == 30).all() and (table["low"] < table["mean"]).all()
    )
    assert "60 texts could not be graded" in str(result)


def test_nothing_to_grade(story, scores_of):
    with pytest.raises(InputError, match="no text"):
        grade([], Judge(scores_of), story, [])
