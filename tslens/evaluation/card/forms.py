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
MOST = 3  # other forms of a word that are looked at
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
    rows, owners, words, lost = [], list[tuple[int, int]](), 0, 0.0  # a place, and which of its forms
    for sentence in sentences_of(text):
        for place, word in enumerate(sentence):
            if word not in model.counts:
                unknown = word.isalpha()
                words, lost = words + unknown, lost + CLIP * unknown
            elif others := _known_others(word, model):
                for form, other in enumerate((word, *others)):
                    changed = model.windows([*sentence[:place], other, *sentence[place + 1 :]])
                    rows.append(changed[place : place + len(model.orders)])
                    owners += [(words, form)] * len(rows[-1])
                words += 1
    if not rows:
        return lost, words
    sums = np.full((words, 1 + MOST), -np.inf)
    at = tuple(np.array(owners).T)
    sums[at] = 0.0
    np.add.at(sums, at, model.of_last_words(np.concatenate(rows)))
    known = sums[:, 0] > -np.inf
    return lost + float(np.clip(sums[known, 1:].max(1) - sums[known, 0], 0.0, CLIP).sum()), words


def _known_others(word: str, model: KneserNey) -> list[str]:
    """The most frequent of a word's other forms that the model knows."""
    known = [other for other in other_forms().get(word, ()) if other in model.counts]
    return sorted(known, key=lambda other: -model.counts[other])[:MOST]
