"""A loaded model grades by its log-probabilities: trusted on the three axes that they can measure."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tslens import models
from tslens.errors import InputError
from tslens.evaluation.grading import Failure, Grade, GradedText, grade, rubric
from tslens.evaluation.grading.controls import CONTROLS, controls, true_endings
from tslens.evaluation.grading.likelihood import LEAST, MEASURES, LikelihoodGrader
from tslens.models import Spec, build
from tslens.stories import stories
from tslens.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def bundled():
    return models.load("stories2M")


@pytest.fixture(scope="module")
def endings():
    short = (text for text in stories("made", limit=1500) if len(text) < 900)  # these fit the context of stories2M
    return true_endings(list(short), CONTROLS + LEAST)


@pytest.fixture(scope="module")
def tiny():
    tokenizer = Tokenizer.train(["a cat saw the dog and the bird"] * 3, 300)
    return build(Spec(16, 1, 2, d_vocab=tokenizer.size, n_ctx=24), tokenizer=tokenizer, seed=4)


def test_measures_are_those_of_the_hooked_forward(bundled):
    text = GradedText("Once upon a time there was a girl. She", " had a red ball. It was big.")
    read = LikelihoodGrader(bundled, [text] * LEAST).read(text)
    found = {axis: read.measure(axis, 1000) for axis in MEASURES}
    tokenizer = models.story_tokenizer_of(bundled)
    before, whole, alone = tokenizer.encode([text.prompt, text.prompt + text.completion, text.completion])
    assert whole[: len(before)] == before

    def log_probabilities(row):
        scores = bundled(torch.tensor([row])).log_softmax(-1)[0]
        return scores[:-1].gather(1, torch.tensor(row)[1:, None])[:, 0].detach().numpy()

    given = log_probabilities([*whole, tokenizer.bos])[len(before) - 1 :]
    assert found["plot"] == pytest.approx(given[-1], abs=1e-3)
    least = np.sort(given[:-1])[: max(1, (len(given) - 1) // 10)]
    assert found["grammar"] == pytest.approx(least.mean(), abs=1e-3)
    gain = given[:-1].sum() - log_probabilities(alone).sum()
    assert found["consistency"] == pytest.approx(gain / (len(given) - 1), abs=1e-3)


def test_scores_are_ranks_among_true_endings(bundled, endings, story):
    grader = LikelihoodGrader(bundled, endings[:LEAST])
    found = [one.scores["plot"] for one in grader.grade(endings[:LEAST], story)]
    assert np.bincount(found, minlength=11)[1:].tolist() == [LEAST // 10] * 10


def quarter(text):
    words = text.split()
    return " ".join(words[: len(words) // 4])


def test_length_alone_changes_no_rank(bundled, endings, story):
    """True endings and their beginnings are equally good: after the same prompts, a quarter of an ending ranks as the
    whole does, though its gain per token is twice as large."""
    grader = LikelihoodGrader(bundled, endings[:LEAST])
    whole = endings[LEAST : 2 * LEAST]
    begun = [
        replace(text, completion=" ".join(text.completion.split()[: len(text.completion.split()) // 4]))
        for text in whole
    ]
    gains = [
        np.mean([grader.read(text).measure("consistency", 1000) for text in texts[:10]]) for texts in (begun, whole)
    ]
    assert gains[0] > 1.5 * gains[1]
    for axis in ("grammar", "consistency"):
        short, long = (np.mean([one.scores[axis] for one in grader.grade(texts, story)]) for texts in (begun, whole))
        assert abs(short - long) < 1, axis


def test_it_is_trusted_on_what_it_measures_and_says_nothing_of_the_rest(bundled, endings, story):
    grader = LikelihoodGrader(bundled, endings[CONTROLS:])
    result = grade([GradedText("A cat", " ran to the dog.", "a")], grader, story, controls(endings[:CONTROLS]))
    assert {axis: result.trust[axis] for axis in ("grammar", "consistency", "plot")} == dict.fromkeys(
        ("grammar", "consistency", "plot"), "trusted"
    )
    for axis in ("creativity", "age group"):
        assert result.trust[axis] == "no control" and np.isnan(result.first(axis)).all()
    assert result.grader == "likelihood of stories2M"


def test_an_untrained_model_is_not_trusted(endings, story):
    tokenizer = models.story_tokenizer_of(models.load("stories2M"))
    fresh = build(Spec(16, 1, 2, d_vocab=tokenizer.size, n_ctx=256), tokenizer=tokenizer, seed=1)
    grader = LikelihoodGrader(fresh, endings[CONTROLS:])
    result = grade([GradedText("A", "b")], grader, story, controls(endings[:CONTROLS]))
    assert "trusted" not in result.trust.values()


def test_texts_at_the_end_of_the_context(tiny, story):
    grader = LikelihoodGrader(tiny, [GradedText("a cat", "saw the dog")] * LEAST)
    whole, cut, none = grader.grade(
        [GradedText("a cat", "saw"), GradedText("a cat", "saw the dog " * 20), GradedText("a cat " * 30, "saw")], story
    )
    assert whole.scores.keys() == {"grammar", "consistency", "plot"}
    assert isinstance(cut, Grade) and cut.scores.keys() == {"grammar", "consistency"}
    assert none == Failure("the prompt fills the model's context")
    assert grader.failed == 1


def test_an_empty_text_has_no_score_on_an_axis_without_a_measure(bundled, endings, story):
    found = grade([GradedText("A cat", "", "a")], LikelihoodGrader(bundled, endings), story, [])
    assert {axis for axis in found.axes if found.first(axis)[0] == 1} == set(MEASURES)
    assert {axis for axis in found.axes if np.isnan(found.first(axis)[0])} == {"creativity", "age group"}


def test_what_it_cannot_grade(tiny):
    with pytest.raises(InputError, match="39 true endings"):
        LikelihoodGrader(tiny, [GradedText("a", "b")] * (LEAST - 1))
    with pytest.raises(InputError, match="scores grammar, consistency, plot; the rubric 'verdict' has none"):
        LikelihoodGrader(tiny, [GradedText("a", "b")] * LEAST).grade([GradedText("a", "b")], rubric("verdict"))
