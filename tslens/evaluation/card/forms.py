"""How usual the forms of words are under a 5-gram: a form of a verb, a noun or a pronoun against its other forms."""

from functools import cache

import numpy as np

from tslens.ngrams import KneserNey
from tslens.ngrams.words import sentences_of
from tslens.stories.generator import lexicon

SETS = (
    "was were is are be",
    "has have had",
    "do does did",
    "a an",
    "he him his",
    "she her hers",
    "they them their",
    "we us our",
    "i me my",
    "this these",
    "that those",
)
CLIP = 3.0  # nats; what another form may win at one place, at most


@cache
def other_forms() -> dict[str, tuple[str, ...]]:
    """The other forms of every word that has any, in small letters."""
    groups = [words.split() for words in SETS]
    for table, make in ((lexicon.NOUNS, lexicon.noun), (lexicon.VERBS, lexicon.verb)):
        groups += [[*make(word).forms.values()] for words in table.values() for word in words.split()]
    found: dict[str, set[str]] = {}
    for group in groups:
        for word in group:
            found.setdefault(word.lower(), set()).update(other.lower() for other in group)
    return {word: tuple(sorted(others - {word})) for word, others in found.items() if len(others) > 1}


def loss_by_forms(text: str, model: KneserNey) -> tuple[float, int]:
    """By how many nats other forms are more probable than the text's own, summed over its words and at most 3 for each;
    and how many words have other forms that the model knows. A word that the model does not know counts 3."""
    lost, words = 0.0, 0
    for sentence in sentences_of(text):
        own = model.word_log_probabilities(sentence)
        for place, word in enumerate(sentence):
            if word not in model.counts:
                if word.isalpha():
                    lost, words = lost + CLIP, words + 1
                continue
            others = sorted(
                (o for o in other_forms().get(word, ()) if o in model.counts), key=lambda o: -model.counts[o]
            )[:3]
            if not others:
                continue
            reach = slice(place, place + 5)  # later words follow this one
            best = max(_sum(model, sentence, place, other, reach) for other in others)
            lost += float(np.clip(best - own[reach].sum(), 0.0, CLIP))
            words += 1
    return lost, words


def _sum(model: KneserNey, sentence: list[str], place: int, word: str, reach: slice) -> float:
    changed = [*sentence[:place], word, *sentence[place + 1 :]]
    return float(model.word_log_probabilities(changed)[reach].sum())
