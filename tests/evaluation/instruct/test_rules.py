"""Rules of the instruct suite: what a story has, by hand and against the generator's truth."""

import math

import pytest

from tslens.evaluation.instruct.rules import MEASURES, has_word, read, scores
from tslens.stories.features import has_dialogue, has_moral
from tslens.stories.generator import generate
from tslens.stories.instruct import parse


@pytest.mark.parametrize(
    ("text", "word", "has"),
    [
        ("The dogs ran home.", "dog", True),
        ("The dogs ran home.", "run", True),
        ("The dogs ran home.", "home", True),
        ("He was happier than before.", "happy", True),
        ("She was running.", "run", True),
        ("They hopped over.", "hop", True),
        ("They hoped for rain.", "hop", False),
        ("The dogma was old.", "dog", False),
        ("Mom's hat was red.", "mom", True),
        ("He left the house.", "leave", True),
        ("A leaf fell.", "leave", False),
    ],
)
def test_a_word_counts_in_its_inflections_only(text: str, word: str, has: bool) -> None:
    assert has_word(read([text])[0], word) is has


def test_scores_by_hand() -> None:
    asked = parse(
        "Words: dog, run, blue\nFeatures: Dialogue, Conflict\nRandom sentence: The sun was hot.\n"
        "Summary: A dog runs home.\nStory: \n\nx"
    )
    found = dict(zip(MEASURES, scores(asked, read(['A dog ran. The sun, was hot! "Woof," it said.'])[0]), strict=True))
    assert found["words"] == pytest.approx(2 / 3) and found["dialogue"] == 1 and found["sentence"] == 1
    assert math.isnan(found["moral"]) and found["summary"] == pytest.approx(1 / 3)
    assert all(math.isnan(score) for score in scores(parse("Features: Conflict\nStory: \n\nx"), read(["A dog."])[0]))


def test_rules_agree_with_the_generators_truth() -> None:
    stories = list(generate(150))
    moral = [(has_moral(story.text), "MoralValue" in story.features) for story in stories]
    assert all(has_dialogue(story.text) == ("Dialogue" in story.features) for story in stories)
    assert sum(found for found, truth in moral if truth) >= 0.95 * sum(truth for _, truth in moral)
    assert sum(found for found, truth in moral if not truth) <= 0.15 * sum(not truth for _, truth in moral)
    for story, told in zip(stories, read([story.text for story in stories]), strict=True):
        assert all(has_word(told, word) for word in story.words)
