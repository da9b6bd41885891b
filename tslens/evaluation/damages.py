"""Damages to texts, each of which hits one axis of quality: controls for whatever scores stories.

Every damage is drawn from (seed, text), so the same call gives the same texts. None stands where a text has no room for
a damage, such as one sentence for another order.
"""

from collections.abc import Sequence
from random import Random

from tslens.errors import InputError
from tslens.evaluation.planted_errors import with_errors
from tslens.stories.sentences import sentences, shuffled, spans

__all__ = [
    "HITS",
    "LEAST_WORDS",
    "cut",
    "damaged",
    "foreign",
    "partners",
    "salad",
    "shuffled",
    "stopped",
    "with_errors",
]

HITS: dict[str, tuple[str, ...]] = {
    "shuffled": ("consistency",),
    "cut": ("plot",),
    "stopped": ("plot",),
    "with errors": ("grammar",),
    "foreign": ("consistency",),
    "salad": ("grammar", "consistency", "plot"),
}
"""The axes that each damage hits: sentences in another order; the end cut off in mid-sentence; the end left out
after a whole sentence; planted grammar errors; the ending of another story; words in random order, drawn by their
frequency. None hits creativity."""
LEAST_WORDS = 8
"""A text with fewer words is not cut."""


def cut(text: str, seed: int = 0) -> str | None:
    """The text up to the middle of a sentence, after 30 to 60% of its words."""
    words = text.split()
    if len(words) < LEAST_WORDS:
        return None
    inside = [n for n in range(1, len(words)) if words[n - 1][-1].isalnum()]
    wanted = Random(f"{seed}:{text}").uniform(0.3, 0.6) * len(words)
    if not inside:
        return None
    keep, at = min(inside, key=lambda n: abs(n - wanted)), 0
    for word in words[:keep]:
        at = text.index(word, at) + len(word)
    return text[:at]


def stopped(text: str, seed: int = 0) -> str | None:
    """The text up to the end of a sentence, after 30 to 60% of its sentences: nothing is broken off, but no end
    follows."""
    found = spans(text)
    if len(found) < 2:
        return None
    wanted = round(Random(f"{seed}:{text}").uniform(0.3, 0.6) * len(found))
    return text[: found[max(1, wanted) - 1][1]]


def foreign(text: str, other: str) -> str | None:
    """The first half of a text's sentences, and then the second half of another text's."""
    own, others = sentences(text), sentences(other)
    if len(own) < 2 or len(others) < 2:
        return None
    return " ".join(own[: len(own) // 2] + others[len(others) // 2 :])


def salad(text: str, texts: Sequence[str], seed: int = 0) -> str:
    """As many words as the text has, each drawn from all words of `texts`: a frequent word is drawn often."""
    words = [word for one in texts for word in one.split()]
    if not words:
        raise InputError("there is no word to draw; give texts that are not empty.")
    rng = Random(f"{seed}:{text}")
    return " ".join(rng.choice(words) for _ in text.split())


def partners(texts: Sequence[str], seed: int = 0) -> list[int | None]:
    """For each text the index of another one, drawn at random; texts in a circle. None if all texts are the same."""
    order = list(range(len(texts)))
    Random(f"{seed}:{len(texts)}").shuffle(order)
    found: list[int | None] = [None] * len(texts)
    for place, i in enumerate(order):
        circle = (order[(place + step) % len(order)] for step in range(1, len(order)))
        found[i] = next((j for j in circle if texts[j] != texts[i]), None)
    return found


def damaged(name: str, texts: Sequence[str], seed: int = 0) -> list[str | None]:
    """Every text with the damage of this name (a key of `HITS`). InputError for another name."""
    if name == "foreign":
        other = partners(texts, seed)
        return [None if j is None else foreign(text, texts[j]) for text, j in zip(texts, other, strict=True)]
    if name == "salad":
        return [salad(text, texts, seed) for text in texts]
    alone = {"shuffled": shuffled, "cut": cut, "stopped": stopped, "with errors": with_errors}
    if name not in alone:
        raise InputError(f"no damage is called {name!r}; damages: {', '.join(HITS)}.")
    return [alone[name](text, seed) for text in texts]
