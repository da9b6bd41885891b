"""Requests of words and features: a story meets them, or one line says what cannot be."""

import re
from random import Random

import pytest

from tslens.pos import tag_words
from tslens.stories.generator import FEATURES, StoryRequest, lexicon, requested
from tslens.stories.generator.asides import ALONE, NEVER_SAID_OF, THINGS, aside
from tslens.stories.generator.steering import reach
from tslens.stories.generator.template import compiled

BASES = {tag: sorted(filter(str.islower, words)) for tag, words in lexicon.bases().items()}


def forms(word: str, tag: str) -> set[str]:
    """Every inflection of a word, by the lexicon's own tables."""
    if tag == "VERB":
        return set(lexicon.verb(word).forms.values())
    return {word, lexicon.plural(word)} if tag == "NOUN" else {word}


def random_requests(n: int) -> list[tuple[list[tuple[str, str]], list[str]]]:
    rng = Random(3)
    return [
        ([(rng.choice(BASES[tag]), tag) for tag in BASES], rng.sample(FEATURES, rng.choice((0, 0, 1, 2))))
        for _ in range(n)
    ]


def test_random_requests_are_met_or_refused_and_none_is_missed() -> None:
    met = 0
    for number, (words, features) in enumerate(random_requests(300)):
        request = StoryRequest.parse([f"{word}/{tag}" for word, tag in words], features)
        try:
            (story,) = requested(request, 1, seed=number)
        except ValueError as error:
            assert re.search("no template of the generator holds|no plot of the generator|no story holds", str(error))
            continue
        met += 1
        spans = [(story.text[a:b].lower().removesuffix("'s"), tag) for a, b, tag in story.tags]
        for word, tag in words:
            assert any(text in forms(word, tag) and found == tag for text, found in spans)
        assert story.words == tuple(word for word, _ in words)
        assert set(features) <= set(story.features)
        assert ("Dialogue" in story.features) == ('"' in story.text)
    assert met > 200


def test_the_same_seed_gives_the_same_stories_each_its_own() -> None:
    request = StoryRequest.parse(["dog", "run", "happy"], ["dialogue"])
    one, two = (list(requested(request, 5, seed=4)) for _ in range(2))
    assert one == two and len({story.text for story in one}) == 5
    assert all(story.words == ("dog", "run", "happy") and "Dialogue" in story.features for story in one)
    assert list(requested(request, 2, seed=4)) == one[:2]


def test_an_inflection_may_be_given_and_other_parts_of_speech_are_filled_up() -> None:
    (story,) = requested(StoryRequest.parse(["ran"], ["twist", "moral"]), 1)
    assert any(text in forms("run", "VERB") for text in re.findall("[a-z]+", story.text.lower()))
    assert story.words[0] == "ran" and len(story.words) == 3
    assert {"Plot twist", "MoralValue"} <= set(story.features)


def test_a_word_of_several_parts_of_speech_is_held_in_the_one_asked_for() -> None:
    for tag in ("NOUN", "VERB"):
        (story,) = requested(StoryRequest.parse([f"paint/{tag}" if tag == "VERB" else "fish/NOUN"], []), 1)
        word = "paint" if tag == "VERB" else "fish"
        assert any(story.text[a:b].lower() in forms(word, tag) and found == tag for a, b, found in story.tags)
    assert tag_words("He fished.")[1][2] == "VERB"


@pytest.mark.parametrize(
    ("words", "features", "message"),
    [
        (["doog"], [], r"does not know the word 'doog'\. Did you mean .*'dog'"),
        (["xylophone"], [], "does not know the word 'xylophone'"),
        (["dog/ADV"], [], r"asks for the part of speech 'ADV'; give NOUN, VERB, ADJ, as in fish/VERB"),
        (["dog/ADJ"], [], "knows 'dog', but not as ADJ"),
        (["dog"], ["dialog"], r"no feature is called 'dialog'\. Did you mean 'dialogue'\? Known: Dialogue, "),
    ],
)
def test_what_is_not_known_is_refused_with_the_nearest(words: list[str], features: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        StoryRequest.parse(words, features)


def test_what_no_plot_holds_or_shows_is_refused_before_anything_is_tried() -> None:
    with pytest.raises(ValueError, match=r"no plot of the generator can hold .* together\. Ask for less at once"):
        list(requested(StoryRequest.parse([f"{word}/NOUN" for word in BASES["NOUN"]], []), 1))
    alone = [word for word in BASES["ADJ"] if aside(word, "ADJ") is None]
    refused = [word for word in alone if "no template" in _refusal(word)]
    assert refused and len(refused) < len(alone)


def _refusal(word: str) -> str:
    try:
        list(requested(StoryRequest.parse([f"{word}/ADJ"], []), 1))
    except ValueError as error:
        return str(error)
    return ""


def test_every_aside_holds_its_word_with_its_part_of_speech() -> None:
    held = {(word, tag): reach(compiled(text)) for tag in BASES for word in BASES[tag] if (text := aside(word, tag))}
    assert len(held) > 800 and all(way in words for way, words in held.items())
    known = {word for line in lexicon.VERBS.values() for word in line.split()}
    assert known >= ALONE | THINGS and not ALONE & THINGS
    assert {word for line in lexicon.ADJECTIVES.values() for word in line.split()} >= NEVER_SAID_OF
