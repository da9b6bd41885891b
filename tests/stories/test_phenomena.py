"""Minimal pairs of whole texts: counts of words and lengths tell nothing, no pair twice, the same pairs for a seed."""

import re
from collections import Counter
from fractions import Fraction
from functools import partial
from random import Random

import pytest

from tslens.errors import InputError
from tslens.stories.pairs import phenomena as module
from tslens.stories.pairs.phenomena import (
    AXES,
    STORY_ORDER,
    Phenomenon,
    minimal_pairs,
    part_of,
    phenomena,
    texts,
)
from tslens.stories.sentences import sentences


def bag(text: str) -> Counter[str]:
    return Counter(re.findall(r"[a-z']+|[^\sa-z']", text.lower()))


def unigrams(values: dict[str, int], text: str) -> int:
    return sum(values[word] * n for word, n in bag(text).items())


def half_of(pairs, value) -> Fraction:
    """The score of a model that gives every text this value; a tie is half."""
    gaps = [value(pair.good) - value(pair.bad) for pair in pairs]
    return Fraction(sum((gap > 0) + (gap >= 0) for gap in gaps), 2 * len(gaps))


@pytest.mark.parametrize("name", phenomena())
def test_words_alone_and_lengths_tell_nothing(name: str) -> None:
    pairs = minimal_pairs(name, 100 if name == STORY_ORDER else 500)
    rng = Random(name)
    for _ in range(3):  # whole numbers, so that sums are exact whatever their order
        values = {word: rng.randint(-(10**6), 10**6) for pair in pairs for word in bag(pair.good) + bag(pair.bad)}
        assert half_of(pairs, partial(unigrams, values)) == Fraction(1, 2)
    assert half_of(pairs, lambda text: bag(text).total()) == Fraction(1, 2)
    assert half_of(pairs, lambda text: -len(text)) == Fraction(1, 2)


@pytest.mark.parametrize("name", phenomena())
def test_no_pair_twice_and_a_seed_gives_the_same_again(name: str) -> None:
    n = 40 if name == STORY_ORDER else 500
    pairs = minimal_pairs(name, n, seed=3)
    assert n <= len(pairs) <= n + 3
    assert len({(pair.good, pair.bad) for pair in pairs}) == len({pair.good for pair in pairs}) == len(pairs)
    assert not {pair.good for pair in pairs} & {pair.bad for pair in pairs}
    assert minimal_pairs(name, n, seed=3) == pairs and minimal_pairs(name, n, seed=4) != pairs
    assert all(re.fullmatch(r"[A-Z\"].*[.!?\"]", pair.good) for pair in pairs)
    assert not any(re.search(r"[{}<>\[\]|/=]|  |\(n\)", pair.good + pair.bad) for pair in pairs)


def test_there_are_twelve_phenomena_and_each_axis_has_one() -> None:
    assert len(phenomena()) >= 12
    assert {phenomenon.axis for phenomenon in phenomena().values()} == set(AXES)


def test_combinations_are_held_out() -> None:
    for name in ("agreement", "who has what", STORY_ORDER):
        parts = {part: {p.good for p in minimal_pairs(name, 60, part=part)} for part in ("held out", "open")}
        assert not parts["held out"] & parts["open"]
    shares = Counter(part_of((f"frame {i}", "dog")) for i in range(1000))
    assert min(shares.values()) > 400


@pytest.mark.parametrize(
    ("frame", "pairs"),
    [
        (
            "The [dog|dogs] <is|are> big.",
            [("The dog is big.", "The dog are big."), ("The dogs are big.", "The dogs is big.")],
        ),
        ("A(n) owl sat. => Sat a(n) owl.", [("An owl sat.", "Sat an owl.")]),
        ("One. / Two. / Three. / Four.", [("One. Two. Three. Four.", "One. Three. Two. Four.")]),
    ],
)
def test_frames_by_hand(frame: str, pairs: list[tuple[str, str]]) -> None:
    assert texts(frame) == pairs


@pytest.mark.parametrize("name", [name for name, found in phenomena().items() if found.axis == "order"])
def test_order_keeps_first_and_last_sentence(name: str) -> None:
    for pair in minimal_pairs(name, 40):
        good, bad = sentences(pair.good), sentences(pair.bad)
        assert (good[0], good[-1]) == (bad[0], bad[-1])
        assert sorted(good) == sorted(bad) and good != bad


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="Did you mean 'agreement'"):
        minimal_pairs("agrement")
    with pytest.raises(InputError, match="'held out' or 'open'"):
        minimal_pairs("agreement", part="shut")
    few = Phenomenon("few", "grammar", (("The [{pet}|{pet+}] <was|were> here.",),))
    monkeypatch.setattr(module, "phenomena", lambda: {"few": few})
    with pytest.raises(InputError, match=r"few has \d+ pairs of the combinations that are held out; 50 were asked for"):
        minimal_pairs("few", 50)
