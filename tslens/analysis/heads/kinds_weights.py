"""Weights over a story's attention whose sum is, for each kind of key, the excess mass on its keys over null keys.

A key of a kind has two to five nulls, and a head has the kind only if the mass on the key exceeds all.

- *Other keys*: keys of the same query that are of no kind in question, as far (1-4, 5-8, 9-16, ... tokens) and as
  frequent (the token's count in the story: 1, 2-3, 4-7, 8-15, more); for speech copies of the same token, whose excess
  stands for that of all keys; for topic words of the same class.
- *Other queries*: keys that other queries of the story see at the same distance (to a fifth of it), of the same word
  class and at like places in the story if the kind is no class (so that it is not the class that attracts), else as
  frequent.
- *The same word*, for relations: the same token, seen by other queries of the story at the same distance.
- *As many words away*, for relations: keys at the same place of their word, seen by other queries of the story as many
  words away.

Each null holds with the head's own attention, and with what the place in the story leaves of it (`kinds_places`).
Attention by position exceeds none, attention to a class of words not the second, to favourite words not the third, and
attention by the number of words between not the fourth, where words have several tokens.
Where several keys match, the null is their mean mass: the mean over all draws of one of them, so nothing is drawn, and
no label depends on a seed, on the batch, or on other stories.

Kinds overlap, so each is measured where no other one explains it. A pair that is in two relations counts for none of
them. Keys that are related to the query count for no class of words. Classes do not overlap, and leave topic words out.
Where a kind is a special case of another, it is left out of the general one and must also exceed that, at like
distance: a repeated name the duplicates, for queries with as many earlier copies, which share a head's attention; and
the opening quotation mark the last marks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int
from torch import Tensor

from tslens import stats
from tslens.analysis.heads.kinds_words import (
    CLASSES,
    CONTENT,
    MODIFIER,
    NAME,
    OPENING,
    OTHER,
    PRONOUN,
    PUNCTUATION,
    RELATIONS,
    START,
    SUBJECT,
    TokenMarks,
)
from tslens.analysis.heads.null import FREQUENCIES
from tslens.analysis.heads.sums import FIRST

RELATED = (*RELATIONS, "duplicate token", "induction")
KINDS = (*RELATED, "topic word", "inside speech", "outside speech", *(f"word class {name}" for name in CLASSES))
"""Kinds of keys: relations to the query, then sets of words."""
DUPLICATE, INDUCTION = KINDS.index("duplicate token"), KINDS.index("induction")
_SPEECH = [KINDS.index("inside speech"), KINDS.index("outside speech")]
_TOPIC = KINDS.index("topic word")
_OF_RELATED, _OF_CLASSES = list(range(len(RELATED))), list(range(len(KINDS) - len(CLASSES), len(KINDS)))

RELATIONS_OF_WORDS = (PRONOUN, SUBJECT, MODIFIER, PUNCTUATION, START, OPENING)
"""Relations to which a head that likes some words, or counts words, could seem to answer."""
ROWS: tuple[int, ...] = (
    *_OF_RELATED,  # against other keys, as frequent
    *_SPEECH,  # against copies of the same token
    _TOPIC,  # against other keys, of the same word class
    *(*_OF_RELATED, *_SPEECH, _TOPIC),  # against other queries, by word class
    *_OF_CLASSES,  # against other keys
    *_OF_CLASSES,  # against other queries
    *(NAME, OPENING),  # against duplicates, and against other last marks
    *RELATIONS_OF_WORDS,  # against other queries, by token
    *RELATIONS_OF_WORDS,  # against other queries, by words between
)
"""The kind of each row of weights: a kind has a row for each of its nulls."""

FAR = tuple(4 << i for i in range(9))
BINS = 128  # more than any distance has
PLACES = 24  # more than the octaves of any query's place
NOTHING = (torch.zeros(0, dtype=torch.long), torch.zeros(0))


@dataclass(frozen=True)
class StoryWeights:
    """The weights of one story, most of which are 0."""

    matrix: Any
    """A sparse array of SciPy, `[row, query * key]`, rows as in `ROWS`."""
    queries: Int[Tensor, " row"]
    """Queries that have a key of the row's kind with a null key."""
    free: Int[Tensor, " pair"]
    """Pairs of a query and a key that count for classes of words, `query * n + key`."""
    cell: Int[Tensor, " pair"]
    """A number for each of these, the same for keys that the same query sees as far away."""

    def excess(self, pattern: Float[Tensor, "head query key"]) -> Float64[Tensor, "head row"]:
        """The weighted sums of attention, for every head."""
        flat = torch.empty(pattern[0].numel(), len(pattern), dtype=torch.float64)
        flat.copy_(pattern.flatten(1).T)
        return torch.from_numpy(np.asarray(self.matrix @ flat.numpy()).T)

    def dense(self, n: int) -> Float[Tensor, "row query key"]:
        """All weights, those that are 0 too."""
        return torch.from_numpy(self.matrix.toarray()).view(-1, n, n)


def story_weights(tokens: Int[Tensor, " pos"], marks: TokenMarks, visible: Bool[Tensor, "pos pos"]) -> StoryWeights:
    """The weights of one story. A key without null key has none; nor have BOS and the query. Where the marks are not
    those of a natural story, pronouns alone have any."""
    at = torch.arange(len(tokens))
    seen = visible & (at[:, None] > at) & (at > 0) & (at[:, None] >= FIRST) & (marks.classes >= 0)
    same, (query, key) = tokens[:, None] == tokens, seen.nonzero(as_tuple=True)  # from here on by pair
    related = _related(marks, same)[:, query, key]
    alone = related & (related.sum(0) == 1)
    of_key, topical, free = marks.classes[key], marks.topic[key], ~related.any(0)
    speech = [free & marks.speech[key], free & ~marks.speech[key]]
    content = torch.isin(of_key, torch.tensor([CLASSES.index(name) for name in CONTENT]))
    topic, plain, untopical = free & content & topical, free & content & ~topical, free & ~topical
    of_class = [untopical & (of_key == i) for i in range(len(CLASSES))]
    not_class = [untopical & (of_key != i) for i in range(len(CLASSES))]
    sets, others = [*speech, topic], [*speech[::-1], plain]
    types, of_type = tokens.unique(return_inverse=True)

    distance, queries = query - key, len(tokens) * (len(FAR) + 1)
    far = torch.bucketize(distance, torch.tensor(FAR))
    by_query, near = query * (len(FAR) + 1) + far, _bins(distance)
    copies = _bins((same & seen).sum(1).clamp(min=1))[query]
    placed = near * PLACES + at.clamp(min=1).double().log2().floor().long()[query]
    frequency, frequencies = torch.bucketize(same.sum(0), torch.tensor(FREQUENCIES))[key], len(FREQUENCIES) + 1
    classes, told = OTHER + 1, frequency * 2 + marks.speech[key]
    by_class = (placed * classes + of_key, BINS * PLACES * classes)
    of_words = (near * len(types) + of_type[key], BINS * len(types)), _by_word(marks, query, key)
    parts = (
        ([*alone], [free] * len(alone), by_query * frequencies + frequency, queries * frequencies),
        (speech, speech[::-1], by_query * len(types) + of_type[key], queries * len(types)),
        ([topic], [plain], by_query * classes + of_key, queries * classes),
        ([*alone, *sets], [free] * len(alone) + others, *by_class),
        (of_class, not_class, by_query * 2 * frequencies + told, queries * 2 * frequencies),
        (of_class, not_class, near * 2 * frequencies + told, BINS * 2 * frequencies),
        ([alone[NAME]], [alone[DUPLICATE]], far * BINS + copies, (len(FAR) + 1) * BINS),
        ([alone[OPENING]], [alone[PUNCTUATION]], near, BINS),
        *(([*alone[list(RELATIONS_OF_WORDS)]], [free] * len(RELATIONS_OF_WORDS), *by) for by in of_words),
    )
    place = query * len(tokens) + key
    rows = [
        (place[found], weights)
        for members, pool, cell, cells in parts
        for a, b in zip(members, pool, strict=True)
        for found, weights in [matched(a, b, cell, cells)]
    ]
    for i, spoken in enumerate(speech, start=len(RELATED)):  # few of their keys have a copy: these stand for all
        rows[i] = (rows[i][0], rows[i][1] * spoken.sum() / (rows[i][1] == 1).sum().clamp(min=1))
    if not marks.natural:
        rows = [row if kind == PRONOUN else NOTHING for row, kind in zip(rows, ROWS, strict=True)]
    cell = by_query[untopical].unique(return_inverse=True)[1]
    return _sparse(rows, len(tokens), place[untopical], cell)


def _by_word(marks: TokenMarks, query: Int[Tensor, " pair"], key: Int[Tensor, " pair"]) -> tuple[Tensor, int]:
    """The cell of each pair by the words between, the key's place in its word and the query's, and the number of
    cells."""
    between = _bins((marks.word[query] - marks.word[key]).clamp(min=0) + 1)
    places = int(marks.piece.max()) + 1 if len(marks.piece) else 1
    return (between * places + marks.piece[key]) * places + marks.piece[query], BINS * places**2


def _bins(n: Int[Tensor, "*axes"]) -> Int[Tensor, "*axes"]:
    """The bin of each number (`stats.octave_bins`)."""
    return torch.from_numpy(stats.octave_bins(n.numpy()))


def _sparse(rows: Sequence[tuple[Tensor, Tensor]], n: int, free: Tensor, cell: Tensor) -> StoryWeights:
    from scipy.sparse import csr_array

    places, weights = (torch.cat(part) for part in zip(*rows, strict=True))
    until = np.cumsum([0, *(len(row[0]) for row in rows)])
    queries = torch.tensor([len((places_ // n)[weights_ > 0].unique()) for places_, weights_ in rows])
    matrix = csr_array((weights.numpy(), places.int().numpy(), until), shape=(len(rows), n * n))
    return StoryWeights(matrix, queries, free, cell)


def _related(marks: TokenMarks, same: Bool[Tensor, "query key"]) -> Bool[Tensor, "related query key"]:
    """The keys of each of `RELATED`, by query."""
    of_words = marks.relations.clone()
    of_words[PUNCTUATION] &= ~of_words[OPENING]
    duplicate = same & ~of_words[NAME]
    follows = torch.zeros_like(same)
    follows[:, 2:] = (same & torch.ones_like(same).tril(-1))[:, 1:-1]
    return torch.cat([of_words, duplicate[None], follows[None]])


def matched(
    members: Bool[Tensor, "*axes"], pool: Bool[Tensor, "*axes"], cell: Int[Tensor, "*axes"], cells: int
) -> tuple[Int[Tensor, " place"], Float[Tensor, " place"]]:
    """The places with weights, flat: 1 on each member whose cell holds null keys, and as much less, spread evenly, on
    these."""
    if not (members.any() and pool.any()):
        return NOTHING
    chosen, null, of = members.flatten().nonzero()[:, 0], pool.flatten().nonzero()[:, 0], cell.flatten()
    in_chosen, in_null = of[chosen], of[null]
    n_members, n_null = (torch.bincount(each, minlength=cells) for each in (in_chosen, in_null))
    has_null, has_member = n_null[in_chosen] > 0, n_members[in_null] > 0
    share = n_members.float() / n_null
    less = -share[in_null[has_member]]
    return torch.cat([chosen[has_null], null[has_member]]), torch.cat([torch.ones(int(has_null.sum())), less])
