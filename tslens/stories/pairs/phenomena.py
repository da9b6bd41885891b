"""Pairs of sentences, one good and one bad, about a phenomenon of the language of stories.

A frame (`grammar_frames`, `meaning_frames`) becomes whole sets of pairs in which every word is as often in the good
texts as in the bad ones. So a model that counts words or looks at lengths scores exactly one half in each set, by
construction. Words are drawn from the generator's lexicon. The design is that of BLiMP (Warstadt et al. 2020,
arXiv 1912.00582), where each paradigm is a grammar of its own.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from itertools import count
from random import Random

from tslens.errors import InputError
from tslens.nearest import did_you_mean
from tslens.stories.generator import lexicon
from tslens.stories.generator.story import make
from tslens.stories.pairs import grammar_frames, meaning_frames
from tslens.stories.sentences import sentences, shuffled

AXES = ("grammar", "consistency", "entities", "plot", "order")
"""What the phenomena are about; `order` stands apart, because the contrastive objective trains on it."""
PARTS = ("held out", "open")
"""The two halves of all combinations of words; pairs come from the first, the second is free for training on."""
STORY_ORDER = "story order"
DRAWS = 12  # combinations drawn for each item that is wanted, before there are too few
PASSAGE = 110  # words of a passage of a made story, at most
_SLOT = re.compile(r"\{([a-zA-Z_]+)(\d?)([+-]|\.\w+)?\}")
_FACTOR = re.compile(r"\[([^\[\]|]*)\|([^\[\]|]*)\]|<([^<>|]*)\|([^<>|]*)>")
_AN = re.compile(r"\b([Aa])\(n\) (\w+)")
_PRONOUNS = {"he": "she", "He": "She", "his": "her", "His": "Her", "him": "her"}


@dataclass(frozen=True)
class MinimalPair:
    """Two texts that differ in little, of which one is good."""

    good: str
    bad: str
    paradigm: str
    """The phenomenon."""
    item: int
    """The set of pairs that it belongs to: they share their words."""


@dataclass(frozen=True)
class Phenomenon:
    """What pairs are about, and the frames that they are made of."""

    name: str
    axis: str
    """One of `AXES`."""
    frames: tuple[tuple[str, ...], ...]
    """Frames in the notation of `texts`; those of one entry share their words and form one set."""


@cache
def phenomena() -> dict[str, Phenomenon]:
    """Every phenomenon by its name. `story order` has no frames: its texts are passages of made stories."""
    written = {**grammar_frames.FRAMES, **meaning_frames.FRAMES}
    found = {
        name: Phenomenon(name, axis, tuple(f if isinstance(f, tuple) else (f,) for f in frames))
        for name, (axis, frames) in written.items()
    }
    return found | {STORY_ORDER: Phenomenon(STORY_ORDER, "order", ())}


def minimal_pairs(name: str, n: int = 500, *, seed: int = 0, part: str = PARTS[0]) -> list[MinimalPair]:
    """`n` different pairs of a phenomenon, by whole sets (a set of two or four may go a little beyond `n`).

    `part`: half of all combinations of words are `held out`, by a hash of the frame and of every word that fills one of
    its slots; the others are `open`. The two share words, never a combination. The passages of `story order` are cut
    from made stories of seeds that `stories make` does not use, one for each part.

    Raises:
        InputError: no such phenomenon or part, or fewer than `n` combinations.
    """
    known = phenomena()
    if name not in known:
        raise InputError(
            f"There is no phenomenon {name!r}.{did_you_mean(name, list(known))} Known: {', '.join(known)}."
        )
    if part not in PARTS:
        raise InputError(f"part={part!r} is no part of the combinations; give {' or '.join(map(repr, PARTS))}.")
    made = _passages(seed, part) if name == STORY_ORDER else _sets(known[name], seed, part, DRAWS * n)
    pairs: list[MinimalPair] = []
    seen: set[str] = set()
    for item, texts in enumerate(made):
        if len(pairs) >= n:
            break
        goods = [good for good, _ in texts]
        if seen.isdisjoint(goods):
            seen.update(goods)
            pairs += [MinimalPair(good, bad, name, item) for good, bad in texts]
    if len(pairs) < n:
        raise InputError(f"{name} has {len(pairs)} pairs of the combinations that are {part}; {n} were asked for.")
    return pairs


def _sets(phenomenon: Phenomenon, seed: int, part: str, draws: int) -> Iterator[list[tuple[str, str]]]:
    """Sets of pairs, the frames in turn; at most so many combinations are drawn."""
    rng = Random(f"{seed}:{phenomenon.name}")
    turn = count()
    frames = phenomenon.frames[next(turn)]
    for _ in range(draws):
        words: dict[tuple[str, str], Word] = {}
        filled = [_filled(frame, rng, words) for frame in frames]
        if part_of((*frames, *(word[0] for word in words.values()))) != part:
            continue
        made = [pair for text in filled for pair in texts(text)]
        if len({text for pair in made for text in pair}) == 2 * len(made):
            yield made
            frames = phenomenon.frames[next(turn) % len(phenomenon.frames)]


def part_of(combination: tuple[str, ...]) -> str:
    """The part that a combination of words belongs to, the same for every seed."""
    return PARTS[blake2b("\n".join(combination).encode(), digest_size=1).digest()[0] % 2]


def texts(frame: str) -> list[tuple[str, str]]:
    """The pairs (good, bad) of a frame whose slots are filled.

    `[x|y]` and `<x|y>` are two choices, each as often as wanted: a text is good if both take the same place, so a frame
    gives two pairs, in which the first and the second of `<x|y>` are good once each. `good => bad` has the same words
    twice. Sentences between ` / ` are in order, and the bad text exchanges the two in the middle. `a(n)` is the
    article that fits.
    """
    if " => " in frame:
        found = [(frame.split(" => ")[0], frame.split(" => ")[1])]
    elif " / " in frame:
        first, one, other, *rest = frame.split(" / ")
        found = [(" ".join([first, one, other, *rest]), " ".join([first, other, one, *rest]))]
    else:
        found = [(_chosen(frame, side, side), _chosen(frame, side, 1 - side)) for side in (0, 1)]
    return [(_with_articles(good), _with_articles(bad)) for good, bad in found]


def _chosen(frame: str, square: int, angle: int) -> str:
    def choice(found: re.Match[str]) -> str:
        first = found[1] is not None
        return str(found[1 + square] if first else found[3 + angle])

    return _FACTOR.sub(choice, frame)


def _with_articles(text: str) -> str:
    def article(found: re.Match[str]) -> str:
        return f"{found[1]}{lexicon.article(found[2])[1:]} {found[2]}"

    return _AN.sub(article, text)


Word = tuple[str, dict[str, str]]
"""A drawn word, and its forms by what stands behind the slot's name."""


@cache
def _group(name: str) -> tuple[Word, ...]:
    """The words of a slot: names of children with their pronouns, pairs of opposites, words of the lexicon."""
    if name in ("girl", "boy", "child"):
        girls = [(word, _PRONOUNS) for word in lexicon.GIRLS.split()]
        boys = [(word, {he: he for he in _PRONOUNS}) for word in lexicon.BOYS.split()]
        named = {"girl": girls, "boy": boys, "child": girls + boys}[name]
        return tuple((word, {"": word, **forms}) for word, forms in named)
    own = {**grammar_frames.GROUPS, **meaning_frames.GROUPS}.get(name)
    if own is not None:
        pairs = [entry.replace("_", " ").partition(":") for entry in own.split()]
        return tuple((one, {"": one, "-": other or one}) for one, _, other in pairs)
    return tuple((lexeme.base, lexeme.forms) for lexeme in lexicon.groups()[name])


def _filled(frame: str, rng: Random, words: dict[tuple[str, str], Word]) -> str:
    """The frame with a word in each slot; slots of one name and number have the same word, others another."""

    def fill(found: re.Match[str]) -> str:
        name, number, form = found[1], found[2], (found[3] or "").removeprefix(".")
        if (name, number) not in words:
            taken = {word for word, _ in words.values()}
            words[name, number] = rng.choice([word for word in _group(name) if word[0] not in taken])
        return words[name, number][1][form]

    return _SLOT.sub(fill, frame)


def _passages(seed: int, part: str) -> Iterator[list[tuple[str, str]]]:
    """Passages of made stories, from where their tale begins; the bad one has the sentences between the first and the
    last in another order."""
    for number in count():
        _, *tale = make(Random(f"{STORY_ORDER}:{part}:{seed}:{number}")).text.split("\n\n")
        passage: list[str] = []
        for sentence in sentences(" ".join(tale)):
            if len(" ".join([*passage, sentence]).split()) > PASSAGE:
                break
            passage.append(sentence)
        if len(passage) < 5:
            continue
        first, *middle, last = passage
        other = shuffled("\n".join(middle), seed)
        if other is not None:
            good, bad = " ".join(passage), " ".join([first, *other.split("\n"), last])
            if sentences(good) == passage and sorted(sentences(bad)) == sorted(passage):  # none runs into the next
                yield [(good, bad)]
