"""Stories asked of a large model: three words and some features each, by the recipe of TinyStories.

Eldan and Li (2023, arXiv 2305.07759): a noun, a verb and an adjective, drawn for each story, and a random subset of six
features keep the stories diverse. The prompts are ours.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

from pydantic import BaseModel

from tslens import llm
from tslens.errors import InputError
from tslens.parsing import parse_toml
from tslens.paths import contents, refuse_special
from tslens.stories.clean import Seen, is_truncated, tidy
from tslens.stories.features import has_dialogue, has_moral

RULES = """You write short stories for children of three or four years.

Use only words that such a child knows, and short sentences. Write two or three paragraphs, between 80 and 220 words
together, in the past tense, with a beginning, a middle and an end. Every request names words: each must occur in the
story, in any of its forms (run, runs, ran, running). A request may name features: the story must have each of them.
Make this story unlike others of its kind: other names, another place, another small trouble. Answer with the story
alone, without a title and without remarks."""
FEATURES = {
    "Dialogue": "somebody speaks, between double quotation marks",
    "Plot twist": "something happens that nobody expected",
    "BadEnding": "it ends badly",
    "MoralValue": "a child can learn from it how to behave; one of the last sentences says what was learned",
    "Foreshadowing": "an early sentence hints at what happens later",
    "Conflict": "two of its characters do not want the same",
}
"""The features by the names that the generator gives them, and what we say of each."""
SHARE = 1 / 3
"""Probability of each feature."""
HARD = 0.2
"""Share of a story's different words that the generator may not know; names, and what only begins sentences, apart. Of
3,222 real stories (TinyStories, the first version) 99.6% have no more; passages of our documents and of the GPL have
0.26 or more."""
MAX_TOKENS = 700
AGAIN = 1_000_000
"""Between the repetitions of two requests for one wish."""
KINDS = {"NOUN": "noun", "VERB": "verb", "ADJ": "adjective"}
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


class ToldStory(BaseModel):
    """The answer to a request for a story."""

    story: str


@dataclass(frozen=True)
class Wish:
    """What a story must hold."""

    words: tuple[str, ...]
    features: tuple[str, ...]
    kinds: tuple[str, ...] = ()
    """part of speech of each word, where they were drawn"""
    copy: int = 0
    """a further wish for the same has another number"""

    def request(self, number: int) -> llm.Request:
        """The request to a large model, the one of this number."""
        kinds = self.kinds or ("",) * len(self.words)
        words = ", ".join(f"{word} ({kind})" if kind else word for word, kind in zip(self.words, kinds, strict=True))
        features = "".join(f"\n- {FEATURES[name]}" for name in self.features)
        text = f"Words: {words}" + (f"\nFeatures:{features}" if features else "")
        return llm.Request(RULES, text, ToldStory, MAX_TOKENS, repetition=self.copy + number * AGAIN)

    def fault(self, story: str) -> str | None:
        """What is wrong with a story: it is `unfinished`, or has `words`, `dialogue`, the `moral` or `simple words`
        `missing`. Inflected words count. Whether it has another feature no rule tells."""
        from tslens.pos.lemmas import lemmas

        if is_truncated(story):
            return "unfinished"
        told = {word: lemmas(word) for word in _WORD.findall(story.replace("’", "'"))}
        words = (word.replace("’", "'") for word in self.words)
        wanted = [lemmas(word) | _forms().get(word, set()) for word in words]
        if any(forms.isdisjoint(chain.from_iterable(told.values())) for forms in wanted):
            return "words missing"
        if "Dialogue" in self.features and not has_dialogue(story):
            return "dialogue missing"
        if "MoralValue" in self.features and not has_moral(story):
            return "moral missing"
        known = _vocabulary().union(*wanted)
        hard = [bases.isdisjoint(known) for word, bases in told.items() if word[0].islower()]
        return "simple words missing" if sum(hard) > HARD * len(hard) else None


def wishes(
    n: int,
    seed: int = 0,
    *,
    words: Sequence[str] = (),
    features: Sequence[str] | None = None,
    vocabulary: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[Wish]:
    """The first `n` wishes of a seed; wish i depends on (seed, i) and on the wishes before it, of which it is no copy.

    `words` (such as `dog` or `fish/VERB`) and `features`, where given, are those of every wish. `vocabulary` gives the
    words of each kind; without it they are the generator's. InputError for what is no single word.
    """
    from tslens.stories.generator.lexicon import bases

    given, kinds = zip(*map(_word, words), strict=True) if words else ((), tuple(KINDS.values()))
    drawn = vocabulary or {name: sorted(bases()[tag]) for tag, name in KINDS.items()}
    copies: Counter[tuple[tuple[str, ...], tuple[str, ...]]] = Counter()
    for i in range(n):
        draw = Random(f"{seed}:{i}:ask")
        chosen = given or tuple(draw.choice(drawn[kind]) for kind in KINDS.values())
        some = tuple(name for name in FEATURES if draw.random() < SHARE) if features is None else tuple(features)
        yield Wish(chosen, some, kinds if any(kinds) else (), copies[chosen, some])
        copies[chosen, some] += 1


def _word(text: str) -> tuple[str, str]:
    """A word and its kind, empty where none is given."""
    word, slash, tag = text.partition("/")
    if not _WORD.fullmatch(word) or (slash and tag not in KINDS):
        raise InputError(f"{text!r} is no single word; give one such as dog, or fish/VERB (of {', '.join(KINDS)})")
    return word, KINDS.get(tag, "")


@cache
def _forms() -> dict[str, set[str]]:
    """All forms of the generator's words, by their base."""
    from tslens.stories.generator.lexicon import groups

    found: dict[str, set[str]] = {}
    for lexeme in chain.from_iterable(groups().values()):
        found.setdefault(lexeme.base, set()).update(form.lower() for form in lexeme.forms.values())
    return found


@cache
def _vocabulary() -> frozenset[str]:
    """Every word that the generator may write, in all its forms; no names."""
    from tslens.stories.generator.lexicon import tags_of
    from tslens.stories.generator.render import FORMS
    from tslens.stories.generator.story import FEMALE_KIN, MALE_KIN

    return frozenset({*tags_of(), *chain.from_iterable(FORMS.values()), *FEMALE_KIN, *MALE_KIN, "girl", "boy"})


def features_of(given: str) -> tuple[str, ...]:
    """The features that a text names, joined by commas, as the generator takes them; of `none`, none."""
    from tslens.stories.generator.request import feature_of

    found = () if given.strip().lower() == "none" else tuple(map(feature_of, given.split(",")))
    return tuple(name for name in FEATURES if name in found)


def vocabulary_of(path: Path) -> dict[str, list[str]]:
    """The words of a TOML file with lists `noun`, `verb` and `adjective`. InputError if it is not such a file."""
    refuse_special(path)
    found = parse_toml(contents(path), str(path))
    for kind in KINDS.values():
        words = found.get(kind)
        if (
            not isinstance(words, list)
            or not words
            or not all(isinstance(w, str) and _WORD.fullmatch(w) for w in words)
        ):
            raise InputError(f'{path} has no list of words {kind!r}; write {kind} = ["...", "..."], as for the others')
    return {kind: found[kind] for kind in KINDS.values()}


@dataclass
class Told:
    """The stories that came, in the order of the wishes, and what happened to the others."""

    stories: list[dict[str, Any]] = field(default_factory=list)
    """text, words, features, model and repetition of each"""
    rejected: Counter[str] = field(default_factory=Counter)
    """answers by what they lacked, each asked for again"""
    outcomes: list[llm.Outcome] = field(default_factory=list)
    """of every request"""


def ask(wanted: Sequence[Wish], settings: llm.Settings, tries: int = 3) -> Told:
    """Ask for a story for every wish; one that lacks what was asked for, or that came before, is asked for again.

    A wish whose `tries` stories were all rejected, or whose request failed, gets none. Raises what `llm.ask` raises.
    """
    budget = llm.Budget(settings.limit_usd)
    with budget.noted():
        return _told(wanted, settings, tries, lambda requests: llm.ask(requests, settings, budget=budget))


def requests_of(
    wanted: Sequence[Wish], settings: llm.Settings, tries: int = 3
) -> tuple[list[llm.Request], list[llm.Request]]:
    """The requests that `ask` would make now, those that the cache answers among them; and those that may follow,
    where an answer that is not there yet is rejected."""
    unknown: list[llm.Request] = []

    def look(requests: Sequence[llm.Request]) -> list[llm.Outcome]:
        found = llm.cached(requests, settings)
        unknown.extend(request for request, one in zip(requests, found, strict=True) if one is None)
        return [one or llm.Outcome(request) for request, one in zip(requests, found, strict=True)]

    asked = [outcome.request for outcome in _told(wanted, settings, tries, look).outcomes]
    return asked, [
        replace(request, repetition=request.repetition % AGAIN + number * AGAIN)
        for request in unknown
        for number in range(request.repetition // AGAIN + 1, tries)
    ]


def _told(
    wanted: Sequence[Wish],
    settings: llm.Settings,
    tries: int,
    answer: Callable[[Sequence[llm.Request]], list[llm.Outcome]],
) -> Told:
    """The stories that come of these wishes; `answer` gives the outcomes of requests."""
    found, seen = Told(), Seen()
    kept: dict[int, dict[str, Any]] = {}
    open_: list[int] = list(range(len(wanted)))
    for number in range(tries):
        if not open_:
            break
        outcomes = answer([wanted[i].request(number) for i in open_])
        found.outcomes += outcomes
        again = []
        for i, outcome in zip(open_, outcomes, strict=True):
            if not isinstance(outcome.answer, ToldStory):
                continue
            story = tidy(outcome.answer.story)
            fault = wanted[i].fault(story) or (None if seen.add(story) else "told before")
            if fault is None:
                kept[i] = {"text": story, "words": wanted[i].words, "features": wanted[i].features}
                kept[i] |= {"model": settings.name, "repetition": outcome.request.repetition}
            else:
                found.rejected[fault] += 1
                again.append(i)
        open_ = again
    found.stories = [kept[i] for i in sorted(kept)]
    return found
