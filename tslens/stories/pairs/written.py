"""Minimal pairs as text: a template rendered in two scenes, cut before its last word, which is the answer."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from random import Random

from tslens.stories.generator.render import Character, Part, Renderer
from tslens.stories.pairs.tasks import Scene, Task


@dataclass(frozen=True)
class WrittenPair:
    """Two prompts that differ in one fact, and the word that each goes on with."""

    clean: str
    corrupt: str
    right: str
    """The answer to the clean prompt."""
    wrong: str
    """The answer to the corrupt prompt."""
    template: int
    """Which of the task's templates."""
    tag: str
    """The part of speech of the answer, as the generator records it."""
    owner: str
    """The character that the answer names or stands for, in the clean scene; empty if the answer is a word."""


def write(task: Task, seed: int = 0) -> Iterator[WrittenPair]:
    """Pairs of a task without end. Pair i depends on (task, seed, i) alone; templates come in turns."""
    for i in count():
        rng = Random(f"{task.name}:{seed}:{i}")
        template = i % len(task.templates)
        scenes, own = task.draw(rng), rng.random()
        avoid = {lexeme.base for scene in scenes for lexeme in scene.bound.values()}
        (clean, right, tag, owner), (corrupt, wrong, _, _) = (
            _rendered(task.templates[template], scene, Random(own), avoid) for scene in scenes
        )
        yield WrittenPair(clean, corrupt, right, wrong, template, tag, owner)


def _rendered(template: str, scene: Scene, rng: Random, avoid: set[str]) -> tuple[str, str, str, str]:
    """The prompt, its answer, the answer's tag, and the character whom it refers to. Words that are drawn are the same
    for both scenes: they depend on `rng`, and are none of `avoid`."""
    kind, pronoun, parent = ("girl", "she", ("Dad", "dad")) if scene.girl else ("boy", "he", ("Mom", "mom"))
    other_kind, other = ("boy", "he") if scene.girl else ("girl", "she")
    cast = {
        "h": Part(0, Character(scene.hero, kind, pronoun), "name"),
        "f": Part(1, Character(scene.friend, other_kind, other), "name"),
        "m": Part(2, Character(*parent, other), "kin"),
    }
    made = Renderer(rng, cast, dict(scene.bound), free=False, used=set(avoid))
    made.add(template)
    start, end, tag = next(span for span in reversed(made.tags) if span[2] != "PUNCT")
    text = made.text
    owners = [cast_of(cast, who) for a, _, who in made.pronouns if a == start]
    owner = owners[0] if owners else text[start:end] if tag == "PROPN" else ""
    return text[:start].rstrip(" "), text[start:end], tag, owner


def cast_of(cast: dict[str, Part], index: int) -> str:
    """The name of the character with this index."""
    return next(part.character.name for part in cast.values() if part.index == index)
