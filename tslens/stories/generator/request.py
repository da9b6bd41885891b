"""Stories that hold words and show features that were requested, or a refusal that says what cannot be."""

import dataclasses
from collections.abc import Iterator, Sequence
from functools import cache
from random import Random
from typing import NamedTuple

from tslens import progress
from tslens.errors import InputError
from tslens.nearest import did_you_mean
from tslens.stories.generator import shared_templates
from tslens.stories.generator.asides import aside
from tslens.stories.generator.steering import Steer, Word, bases_of, group_words, template_words, words_of
from tslens.stories.generator.story import FEATURES, MadeStory, attempt, draw_wish
from tslens.stories.generator.tale import Tale
from tslens.stories.generator.tales import tales

TRIES = 200
"""Attempts at a story before a request is refused."""
TAGS = ("NOUN", "VERB", "ADJ")
ASIDES = 3  # sentences of an opening for words that the plot does not need
ENDINGS = {"Plot twist", "BadEnding"}


@dataclasses.dataclass(frozen=True)
class StoryRequest:
    """Words and features that a story must have."""

    words: tuple[tuple[str, frozenset[Word]], ...]
    """Each word as it was given, with the words of the lexicon that it may be: one is enough."""
    features: tuple[str, ...]

    @classmethod
    def parse(cls, words: Sequence[str], features: Sequence[str]) -> "StoryRequest":
        """The request of these words, such as `dog`, `ran` or `fish/VERB`, and features, such as `dialogue`.

        InputError for a word that the generator does not know, or a feature that its stories do not have.
        """
        return cls(tuple((word, _known(word)) for word in words), tuple(map(feature_of, features)))

    def __str__(self) -> str:
        parts = [word for word, _ in self.words], list(self.features)
        return " and ".join(", ".join(part) for part in parts if part)

    def met(self, story: MadeStory) -> bool:
        """Whether a story holds every word, in any inflection, with its part of speech, and shows every feature."""
        spans = [words_of(story.text[a:b], tag) for a, b, tag in story.tags]
        held: set[Word] = set().union(*spans)
        return set(self.features) <= set(story.features) and not any(w.isdisjoint(held) for _, w in self.words)


def requested(request: StoryRequest, n: int, seed: int = 0) -> Iterator[MadeStory]:
    """`n` stories that meet a request; their `words` are those requested, then others for the parts of speech left.

    Story i depends on (request, seed, i) alone. InputError, before the first story, for a combination that no plot can
    hold; and for one of which `TRIES` attempts found no story.
    """
    with progress.stage("looking for plots"):
        plots = _plots(request)
    for number in range(n):
        rng = Random(f"{seed}:{number}:{request}")
        found = (_attempt(request, plots, rng) for _ in range(TRIES))
        story = next((story for story in found if story is not None), None)
        if story is None:
            raise InputError(f"no story holds {request} together: none of {TRIES} attempts did. Ask for less at once.")
        yield story


def _attempt(request: StoryRequest, plots: "Sequence[_Plot]", rng: Random) -> MadeStory | None:
    wish = draw_wish(rng)
    if chosen := ENDINGS & set(request.features):
        wish -= ENDINGS - chosen
    plot = rng.choice(plots)
    steer = Steer((ways for _, ways in request.words), rng, plot.asides)
    story = attempt(rng, wish | set(request.features), plot.tale, steer)
    if story is None or not request.met(story):
        return None
    given = [(word.partition("/")[0], ways) for word, ways in request.words]
    covered = {tag for _, ways in given for _, tag in ways}
    others = [word for word, tag in zip(story.words, TAGS, strict=True) if tag not in covered]
    return dataclasses.replace(story, words=(*(word for word, _ in given), *others))


def _known(given: str) -> frozenset[Word]:
    """The words of the lexicon that a requested one may be, of every part of speech unless one is given."""
    text, slash, tag = given.partition("/")
    if slash and tag.upper() not in TAGS:
        raise InputError(f"{given!r} asks for the part of speech {tag!r}; give {', '.join(TAGS)}, as in fish/VERB.")
    tags = [tag.upper()] if slash else TAGS
    if found := frozenset[Word]().union(*(words_of(text, each) for each in tags)):
        return found
    if slash and any(words_of(text, each) for each in TAGS):
        raise InputError(f"the generator knows {text!r}, but not as {tag.upper()}. Leave the part of speech out.")
    known = {form for form, each in bases_of() if each in tags}
    raise InputError(
        f"the generator does not know the word {text!r}.{did_you_mean(text.lower(), known, n=3)} "
        "It knows nouns, verbs and adjectives of its lexicon."
    )


def feature_of(given: str) -> str:
    """A feature by its name, in any case and with or without a space; `twist` and `moral` for short."""
    plain = {name.replace(" ", "").lower(): name for name in FEATURES}
    plain |= {"twist": "Plot twist", "moral": "MoralValue"}
    asked = given.replace(" ", "").replace("-", "").lower()
    if asked not in plain:
        raise InputError(f"no feature is called {given!r}.{did_you_mean(asked, plain)} Known: {', '.join(FEATURES)}.")
    return plain[asked]


class _Plot(NamedTuple):
    """A tale, and the asides for the words that it cannot hold."""

    tale: Tale
    asides: list[str]


def _plots(request: StoryRequest) -> list[_Plot]:
    """The tales that may show all features and hold all words, with the fewest asides; InputError if none may."""
    asked = set(request.features)
    showing = [tale for tale in tales() if asked <= _may_show(tale, asked)]
    if not showing:
        raise InputError(f"no plot of the generator can show {' and '.join(request.features)} together.")
    apart = {word: next(filter(None, (aside(*way) for way in sorted(ways))), None) for word, ways in request.words}
    found = []
    for tale in showing:
        missing = [word for word, ways in request.words if not ways & _may_hold(tale)]
        if all(apart[word] for word in missing) and len(missing) <= ASIDES:
            found.append(_Plot(tale, [text for word in missing if (text := apart[word])]))
    if found:
        fewest = min(len(plot.asides) for plot in found)
        return [plot for plot in found if len(plot.asides) == fewest]
    for word, ways in request.words:
        if not apart[word] and not any(ways & _may_hold(tale) for tale in tales()):
            raise InputError(f"no template of the generator holds {word!r}; ask for another word.")
    raise InputError(f"no plot of the generator can hold {request} together. Ask for less at once.")


def _may_show(tale: Tale, asked: set[str]) -> set[str]:
    """The features that a tale can show, where these are asked for."""
    twist_is_bad = tale.head.get("twist") == "bad"
    ends = {("Plot twist", "twist"), ("BadEnding", "twist" if twist_is_bad else "bad"), ("BadEnding", "bad")}
    shown = {feature for feature, end in ends if end in tale.special} | {
        "Dialogue",
        *tale.head.get("shows", "").split(),
    }
    if asked >= ENDINGS and not twist_is_bad:
        shown -= ENDINGS  # one story has one ending
    bad = "BadEnding" in asked or (twist_is_bad and "Plot twist" in asked)
    shown |= {"MoralValue"} if tale.head.get("bad" if bad else "good") else set()
    shown |= {"Foreshadowing"} if "sign" in tale.special else set()
    early = "f" in tale.cast and "f" not in tale.head.get("later", "")
    return shown | ({"Conflict"} if early and tale.head.get("quarrel") != "no" else set())


@cache
def _may_hold(tale: Tale) -> frozenset[Word]:
    """The words that a story around a tale may hold."""
    pools: tuple[str, ...] = (shared_templates.OPEN_CHILD, shared_templates.OPEN_BEAST, shared_templates.DETAIL)
    pools += (shared_templates.FRIEND,) * ("f" in tale.cast) + (shared_templates.CLOSE_GOOD, shared_templates.CLOSE_BAD)
    lines = [line for pool in pools for line in shared_templates.lines(pool)]
    lines += [line for section in tale.beats.values() for line in section]
    lines += [line for name, section in tale.special.items() if not name.startswith("about") for line in section]
    groups = [group for some in tale.binds.values() for group in some]
    groups += [group for role, group in tale.cast.items() if role not in "hfm"]
    return frozenset[Word]().union(*map(template_words, lines), *map(group_words, groups))
