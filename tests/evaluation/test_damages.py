import re
from collections import Counter
from itertools import pairwise

import pytest

from tslens.errors import InputError
from tslens.evaluation import damages, planted_errors
from tslens.stories.sentences import sentences

STORY = (
    "Tom had a big dog. The dog was very happy. One day he went to the park to play with an old friend. "
    "They were glad. She wanted to go home, but she didn't want to leave. They saw the moon and ran to their house."
)
OTHER = "Mia saw a bird. It was blue. The bird sang a song. Mia and the bird were friends."


@pytest.mark.parametrize(
    ("text", "kind", "wrong"),
    [
        ("The sun was up and he was glad.", "number", "he were"),
        ("So they were glad.", "number", "they was"),
        ("Lily has red shoes.", "number", "Lily have"),
        ("He had a dog.", "article", "an dog"),
        ("He had an apple.", "article", "a apple"),
        ("Now they went home.", "case", "them went"),
        ("He wanted to go home.", "form", "to went"),
        ("He went home.", "past", "goed"),
        ("He fed the dog.", "order", "dog the"),
        ("He fed the dog.", "double", "the a dog"),
    ],
)
def test_each_kind_of_error(text, kind, wrong):
    texts = [
        text[: place.start] + place.error + text[place.end :]
        for place in planted_errors.places(text)
        if place.kind == kind
    ]
    assert any(wrong in one for one in texts), texts


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("If he was a bird, so what?", "number"),  # were would be right
        ("I was there.", "number"),
        ("They was there.", "number"),  # it is wrong already
        ("It took a hour.", "article"),
        ("They drove to town.", "form"),
    ],
)
def test_what_would_be_no_error_is_left(text, kind):
    assert kind not in {place.kind for place in planted_errors.places(text)}


def test_errors_are_spread_over_kinds_apart_and_as_many_as_asked():
    chosen = planted_errors.plant(STORY, seed=1, words_per_error=8)
    assert len(chosen) == round(len(STORY.split()) / 8)
    assert all(a.end < b.start for a, b in pairwise(chosen))
    assert len({place.kind for place in chosen}) >= 5
    wrong = planted_errors.with_errors(STORY, seed=1, words_per_error=8)
    assert wrong != STORY and all(place.error in wrong for place in chosen)


def test_a_text_without_a_place_for_an_error():
    assert planted_errors.with_errors("Yes!") is None


def test_cut_ends_in_mid_sentence():
    for seed in range(30):
        short = damages.cut(STORY, seed)
        assert STORY.startswith(short) and short[-1].isalnum()
        assert 0.25 < len(short.split()) / len(STORY.split()) < 0.65
        assert re.match(r"[\s,]", STORY[len(short) :])  # no word is broken
    assert damages.cut("Tom was glad.") is None


def test_foreign_has_own_beginning_and_the_others_ending():
    found = damages.foreign(STORY, OTHER)
    assert sentences(found) == sentences(STORY)[:3] + sentences(OTHER)[2:]
    assert damages.foreign("Tom.", OTHER) is None


def test_salad_draws_words_by_frequency():
    texts = ["the the the cat"] * 50
    words = Counter(" ".join(damages.salad(text, texts, seed) for seed, text in enumerate(texts)).split())
    assert set(words) == {"the", "cat"} and 110 < words["the"] < 190
    with pytest.raises(InputError, match="no word"):
        damages.salad("a", [" "])


def test_partners_are_other_texts():
    texts = [STORY, OTHER, OTHER, "x"]
    assert all(texts[j] != texts[i] for i, j in enumerate(damages.partners(texts)))
    assert damages.partners([OTHER, OTHER]) == [None, None]


@pytest.mark.parametrize("name", damages.HITS)
def test_a_damage_is_drawn_from_seed_and_text(name):
    texts = [STORY, OTHER]
    found = damages.damaged(name, texts, seed=3)
    assert found == damages.damaged(name, texts, seed=3) != texts
    assert all(one and one != text for one, text in zip(found, texts, strict=True))


def test_no_damage_of_that_name():
    with pytest.raises(InputError, match="shuffled, cut, stopped, with errors, foreign, salad"):
        damages.damaged("burnt", [STORY])
