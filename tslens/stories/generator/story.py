"""Composes one story: its tale, cast, templates and features."""
# ruff: noqa: E501

import functools
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from random import Random
from typing import Any

from tslens.stories.generator import lexicon, shared_templates
from tslens.stories.generator.render import Character, Part, Renderer
from tslens.stories.generator.steering import Steer, group_words
from tslens.stories.generator.tale import Tale
from tslens.stories.generator.tales import tales

FEATURES: tuple[str, ...] = ("Dialogue", "Plot twist", "BadEnding", "MoralValue", "Foreshadowing", "Conflict")
MALE_KIN = "dad grandpa uncle".split()
FEMALE_KIN = "mom grandma aunt".split()


@dataclass(frozen=True)
class MadeStory:
    """A story with its ground truth.

    Spans are (start, end) in characters of `text`. `tags` cover every character but white space: a contraction (don't) is one
    word with its main tag (AUX; PRON for I'm, VERB for let's), a possessive 's belongs to its noun, a punctuation mark stands alone.
    `pronouns` hold every personal and possessive pronoun that refers to a character, those of direct speech included; a
    plural one (they, we) has one entry for each of its characters.
    """

    text: str
    words: tuple[str, ...]
    """A noun, a verb and an adjective of the text, or the words that were requested."""
    features: tuple[str, ...]
    summary: str
    sentence: str
    characters: tuple[Character, ...]
    pronouns: tuple[tuple[int, int, int], ...]
    tags: tuple[tuple[int, int, str], ...]

    def to_dict(self) -> dict[str, Any]:
        """The record for JSON, where tuples become lists."""
        return asdict(self)


def make(rng: Random) -> MadeStory:
    """A story drawn from `rng` alone; repeated until it holds words that an instruction may require."""
    while not (story := attempt(rng, draw_wish(rng), rng.choice(tales()))):
        pass
    return story


def draw_wish(rng: Random) -> set[str]:
    """The features that a story is to have if its tale can show them."""
    odds = zip(FEATURES, (0.75, 0.3, 0.22, 0.4, 0.35, 0.3), strict=True)
    return {feature for feature, share in odds if rng.random() < share}


def attempt(rng: Random, wish: set[str], tale: Tale, steer: Steer | None = None) -> MadeStory | None:
    """A story around a tale, with the features of `wish` that fit; None if it holds no words that could be required."""
    cast = _cast(tale, rng, steer)
    renderer = Renderer(rng, cast, {}, steer=steer, used={part.character.kind for part in cast.values()})
    for name, groups in tale.binds.items():
        renderer.bound[name] = renderer.draw(rng.choice(steer.lead(groups, group_words) if steer else groups))
    end = _ending(tale, wish, rng)
    shown = _compose(tale, renderer, end, wish)
    text = renderer.text
    characters = tuple(part.character for part in cast.values())
    if '"' in text:
        shown.add("Dialogue")
    spans = renderer.tags
    words = _required(text, spans, rng)
    if not words:
        return None
    return MadeStory(
        text=text,
        words=words,
        features=tuple(f for f in FEATURES if f in shown),
        summary=_summary(tale, renderer, end),
        sentence=_sentence(text, rng),
        characters=characters,
        pronouns=tuple(sorted(renderer.pronouns)),
        tags=tuple(spans),
    )


def _cast(tale: Tale, rng: Random, steer: Steer | None) -> dict[str, Part]:
    """The character of each role. Nobody else has the hero's pronoun, so that it is unambiguous."""
    she = rng.random() < 0.5
    hero = tale.head.get("hero", "any")
    beast = hero == "beast" or (hero == "any" and rng.random() < 0.3)
    pronoun, other = ("she", "he") if she else ("he", "she")
    beasts = [lexeme.base for lexeme in rng.sample(lexicon.groups()["hero"], 2)]
    names = rng.sample(lexicon.BEASTS.split(), 2)
    cast: dict[str, Part] = {}
    for role, group in tale.cast.items():
        way = "noun"
        if role in "hf":
            way, mine = "name", pronoun if role == "h" else other
            girl = mine == "she"
            if beast:
                who = Character(names["hf".index(role)], beasts["hf".index(role)], mine)
            else:
                who = Character(
                    rng.choice((lexicon.GIRLS if girl else lexicon.BOYS).split()), "girl" if girl else "boy", mine
                )
        elif role == "m":
            kin = rng.choice(MALE_KIN if she else FEMALE_KIN)
            way, who = "kin", Character(kin.capitalize(), kin, other)
        else:
            used = {part.character.kind for part in cast.values()}
            kinds: Sequence[str] = [x.base for x in lexicon.groups()[group] if x.base not in used]
            kind = rng.choice(steer.lead(kinds, lambda kind: frozenset({(kind, "NOUN")})) if steer else kinds)
            who = Character("the " + kind, kind, "it" if role in "ag" else other)
        cast[role] = Part(len(cast), who, way)
    return cast


def _ending(tale: Tale, wish: set[str], rng: Random) -> str:
    """The section that ends the story: twist or bad if requested, else end if the tale has one."""
    features = (("twist", "Plot twist"), ("bad", "BadEnding"))
    wanted = [end for end, feature in features if feature in wish and end in tale.special]
    if wanted:
        return rng.choice(wanted)
    return "end" if "end" in tale.special else rng.choice([end for end, _ in features if end in tale.special])


def _compose(tale: Tale, renderer: Renderer, end: str, wish: set[str]) -> set[str]:
    """Render the whole story; returns its features, without dialogue."""
    rng, shown = renderer.rng, set(tale.head.get("shows", "").split())
    if end != "end":
        shown.add("Plot twist" if end == "twist" else "BadEnding")
    if end == "twist" and tale.head.get("twist") == "bad":
        shown.add("BadEnding")
    pick = functools.partial(_pick, renderer, "Dialogue" in wish)
    sign = payoff = ""
    if "sign" in tale.special and "Foreshadowing" in wish:
        sign, payoff = map(str.strip, pick(tale.special["sign"]).split(">>"))
        shown.add("Foreshadowing")
    early = "f" in tale.cast and "f" not in tale.head.get("later", "")
    opening = _opening(renderer, early)
    beats = [[pick(ways)] for ways in tale.beats.values()]
    beats[0] += [sign] if sign else []
    after = tale.head.get("quarrel", "1")
    if early and after != "no" and "Conflict" in wish and "Conflict" not in shown:
        quarrel = pick(shared_templates.lines(shared_templates.QUARREL)).split(">>")
        beats[int(after) - 1] += map(str.strip, quarrel)
        shown.add("Conflict")
    finish = [pick(tale.special[end]), *([payoff] if payoff else [])]
    close = _close(tale, renderer, wish, shown)
    cut = rng.randrange(1, len(beats)) if len(beats) > 1 else 0
    if rng.random() < 0.5:
        finish, close = finish + close, []
    paragraphs = opening, list(chain(*beats[:cut])), list(chain(*beats[cut:])), finish, close
    for n, paragraph in enumerate(filter(None, paragraphs)):
        if n:
            renderer.paragraph()
        for i, source in enumerate(paragraph):
            renderer.add(source, anew=n > 0 or i == 0)
    return shown


def _pick(renderer: Renderer, dialogue: bool, pool: list[str]) -> str:
    """A template of the pool; in a story without dialogue one without speech, if any."""
    apt = (pool if dialogue else [line for line in pool if '"' not in line]) or pool
    return renderer.rng.choice(apt) if renderer.steer is None else renderer.steer.template(apt)


def _opening(renderer: Renderer, early: bool) -> list[str]:
    """The templates that introduce the hero and, where the friend is there early, the friend."""
    rng, beast = renderer.rng, renderer.cast["h"].character.kind not in ("girl", "boy")
    pick, lines = functools.partial(_pick, renderer, True), shared_templates.lines
    opening = [pick(lines(shared_templates.OPEN_BEAST if beast else shared_templates.OPEN_CHILD))]
    details, n = lines(shared_templates.DETAIL), rng.choice((1, 2, 3, 3, 4, 4))
    if renderer.steer is None:
        opening += rng.sample(details, n)
    else:
        opening += renderer.steer.templates(details, n) + renderer.steer.asides
    return opening + ([pick(lines(shared_templates.FRIEND))] if early else [])


def _close(tale: Tale, renderer: Renderer, wish: set[str], shown: set[str]) -> list[str]:
    """The templates that close the story: a mood, a moral (added to `shown`), both or neither."""
    rng, bad, close, lines = renderer.rng, "BadEnding" in shown, [], shared_templates.lines
    themes = tale.head.get("bad" if bad else "good", "").split()
    if "MoralValue" in wish and themes:
        said = rng.choice(lines(shared_templates.SAY_MORAL))
        close.append(said.replace("%s", rng.choice(shared_templates.morals(rng.choice(themes)))))
        shown.add("MoralValue")
    if rng.random() < 0.5:
        close.insert(
            0, _pick(renderer, True, lines(shared_templates.CLOSE_BAD if bad else shared_templates.CLOSE_GOOD))
        )
    return close


def _required(text: str, tags: list[tuple[int, int, str]], rng: Random) -> tuple[str, str, str] | None:
    """A noun, a verb and an adjective that occur in the text as base forms."""
    known = lexicon.bases()
    found = []
    for tag in ("NOUN", "VERB", "ADJ"):
        here = sorted({text[a:b].lower() for a, b, t in tags if t == tag} & known[tag])
        if not here:
            return None
        found.append(rng.choice(here))
    return found[0], found[1], found[2]


def _sentence(text: str, rng: Random) -> str:
    return rng.choice(quotable_sentences(text))


def quotable_sentences(text: str) -> list[str]:
    """The sentences of a story without speech or with whole quotations only, exactly as in the text."""
    found, start, spoken = [], 0, False
    for i, c in enumerate(text):
        spoken ^= c == '"'
        end = not spoken and (c in ".!?" or (c == '"' and text[i - 1] == "."))
        if end and (i + 1 == len(text) or text[i + 1] in " \n"):
            found.append(text[start : i + 1].strip())
            start = i + 1
    return [s for s in found if "\n" not in s and '!"' not in s and '?"' not in s] or found


def _summary(tale: Tale, renderer: Renderer, end: str) -> str:
    """The summary of the tale with this ending, with the same cast and bound words."""
    brief = Renderer(renderer.rng, renderer.cast, renderer.bound, free=False)
    brief.add(renderer.rng.choice(tale.special["about"]))
    if f"about {end}" in tale.special:
        brief.add(renderer.rng.choice(tale.special[f"about {end}"]), anew=False)
    return brief.text
