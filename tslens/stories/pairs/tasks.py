"""The tasks of minimal pairs: which fact a pair changes, and the templates whose last word is the answer.

A task is one entry of `TASKS`. Its templates are in the generator's notation (`generator.template`) and end with the
answer; its `draw` gives two scenes, which differ in the one fact.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from tslens.errors import InputError
from tslens.nearest import did_you_mean
from tslens.stories.generator import lexicon

GIRLS, BOYS = lexicon.GIRLS.split(), lexicon.BOYS.split()


@dataclass(frozen=True)
class Scene:
    """What a template is rendered with."""

    hero: str
    friend: str
    """A child of the other gender."""
    bound: dict[str, lexicon.Lexeme] = field(default_factory=dict)
    """The words that the template's slots of one letter stand for."""

    @property
    def girl(self) -> bool:
        """Whether the hero is a girl."""
        return self.hero in GIRLS


@dataclass(frozen=True)
class Task:
    """A question with one right answer, and the templates that ask it."""

    name: str
    question: str
    draw: Callable[[Random], tuple[Scene, Scene]]
    """Two scenes in which the answer differs; both orders of the two are equally probable, so a model that does not
    read the prompt is right half the time."""
    templates: tuple[str, ...]


def task(name: str) -> Task:
    """The task of this name. InputError, with the nearest name, if there is none."""
    if name not in TASKS:
        raise InputError(f"There is no task {name!r}.{did_you_mean(name, list(TASKS))} Known: {', '.join(TASKS)}.")
    return TASKS[name]


def _children(rng: Random) -> tuple[str, str]:
    """A hero and a friend of the other gender."""
    girl, boy = rng.choice(GIRLS), rng.choice(BOYS)
    return (girl, boy) if rng.random() < 0.5 else (boy, girl)


def _names(rng: Random) -> tuple[Scene, Scene]:
    """Two names of one gender."""
    hero, friend = _children(rng)
    other = rng.choice([name for name in (GIRLS if hero in GIRLS else BOYS) if name != hero])
    return Scene(hero, friend), Scene(other, friend)


def _genders(rng: Random) -> tuple[Scene, Scene]:
    """A girl and a boy."""
    hero, friend = _children(rng)
    return Scene(hero, friend), Scene(friend, hero)


def _drawn(rng: Random, groups: str) -> tuple[lexicon.Lexeme, lexicon.Lexeme]:
    """Two different words of these groups."""
    found = {lexeme.base: lexeme for group in groups.split() for lexeme in lexicon.groups()[group]}
    first, second = rng.sample(list(found.values()), 2)
    return first, second


def _objects(rng: Random) -> tuple[Scene, Scene]:
    """Two toys, of which the hero has one."""
    hero, friend = _children(rng)
    one, other = _drawn(rng, "toy gift")
    return Scene(hero, friend, {"x": one}), Scene(hero, friend, {"x": other})


def _owners(rng: Random) -> tuple[Scene, Scene]:
    """Two toys, of which the hero has the one and the friend the other; exchanged in the second scene."""
    hero, friend = _children(rng)
    one, other = _drawn(rng, "toy gift")
    return Scene(hero, friend, {"x": one, "y": other}), Scene(hero, friend, {"x": other, "y": one})


def _colours(rng: Random) -> tuple[Scene, Scene]:
    """Two colours of one thing."""
    hero, friend = _children(rng)
    one, other = _drawn(rng, "color")
    return Scene(hero, friend, {"j": one}), Scene(hero, friend, {"j": other})


def _both_orders(*templates: str) -> tuple[str, ...]:
    """Templates that begin with `A + B`, in both orders of the two: what was said last is no hint."""
    parts = [template.split(" + ") for template in templates]
    return tuple(f"{one} {two} {rest}" for a, b, rest in parts for one, two in ((a, b), (b, a)))


TASKS = {
    made.name: made
    for made in (
        Task(
            "character",
            "Which character was named before?",
            _names,
            (
                "Once upon a time, there was a little {h.kind} named {h}. {He} loved to play in the {outdoors}. "
                "One day, {h}",
                '{H} had a {color} {x=toy}. {He} took it to the {outdoors}. "h>m: Look at my {x}!" said {h}',
                'One day, {h} went to the {outdoors} with {m}. "h>m: I want to go home," said {h}',
                "One day, {h} went to the {outdoors} with {m}. {He} saw a {size} {wild} and wanted to play with it. "
                '"m>h: Be careful, {h!}!"',
                'One day, {h} was very {sad}. {M} asked, "m>h: What is wrong, {h!}?"',
                'One morning, {h} and {m} went to the {town_place}. {M} said, "m>h: Look, {h!}!"',
            ),
        ),
        Task(
            "pronoun",
            "Which pronoun fits the name of the one character?",
            _genders,
            (
                "One day, {h} went to the {outdoors}. {H} was very {happy} because {he}",
                "One day, {h} saw a {color} {toy} in the {town_place}. {H} was so {happy} that {he}",
                "{H} had a {color} {x=toy}. {H} loved the {x} very much. Every day, {he}",
                '"h>h: I want to play!" said {h}. Then {he}',
                "{H} found a {color} {x=toy} in the {outdoors}. {H} took the {x} home and showed it to {his}",
                "One day, {h} went to the {outdoors} with {his}",
            ),
        ),
        Task(
            "object",
            "Which thing does the character have?",
            _objects,
            (
                "One day, {h} got a new {x}. {H} loved to play with {his} {x}",
                "One day, {h} had a {size} {x}. {He} went to the {outdoors} to play with {his} {x}",
                "{H} had a {x}. One day, {he} could not find it. {He} looked everywhere for {his} {x}",
                "One day, {h} took {his} {x} to the {outdoors}. A {size} {furry} came and took the {x}",
                '"m>h: Here is a {x} for you," said {m}. {H} was very {happy}. {He} played with the {x}',
            ),
        ),
        Task(
            "owner",
            "Which of two things does the character have, and not the other one?",
            _owners,
            _both_orders(
                "{H} had a {x}. + {F} had a {y}. + {H} loved to play with {his} {x}",
                "One day, {h} got a {x}. + One day, {f} got a {y}. + Every day, {h} played with {his} {x}",
                "{H} found a {x}. + {F} found a {y}. + Then {h} showed {m} {his} {x}",
            ),
        ),
        Task(
            "colour",
            "Which colour does the thing have?",
            _colours,
            (
                "{H} had a {j} {toy}. One day, {he} could not find it. {He} looked everywhere for {his} {j}",
                "One day, {h} saw a {j} {bird} in the {outdoors}. {He} wanted to play with the {j}",
                '{H} got a {j} {x=toy} from {m}. "m>h: What color is the {x}?" asked {m}. "h>m: It is {j}."',
                "{H} wanted a {j} {clothes}. {M} took {him} to the shop. {H} saw a {j}",
            ),
        ),
    )
}
