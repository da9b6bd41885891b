"""The tokens that a head's labels predict: its role, the kinds of its keys, the word class that it writes.

A role says what a head reads, so it says where its loss should matter:

- `previous token`: the head carries the token before the query. It can help where the last two tokens predict the next
  one better than the last alone does: at least twice as probable, by the counts of the other stories.
- `induction`: the token that followed an earlier occurrence of the query's token follows again.
- `duplicate token`: the query's token has occurred before in the story, so the head has something to look at.

A kind of key predicts the tokens that follow its queries, of every token of the query's word:

- a relation: the words that have such a key, as verbs do that have a subject. Which character a pronoun stands for is
  not known in a natural story, so all personal pronouns count that may stand for one.
- a sentence start, a last mark, a word of a class, of the topic, inside or outside speech: nearly every word has one
  before it, so those count that have one among the `NEAR` tokens before them.
- duplicates and induction: as the roles of these names.

A head that writes word classes predicts words of the one that it writes most. Other labels predict no tokens in
particular, and have no such test. Each predicted token is compared with the others of its story in the same bin of
frequency (`batching.contrast_weights`).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from tslens.analysis.heads.kinds_result import KindsResult, WritesResult
from tslens.analysis.heads.kinds_weights import KINDS, RELATED
from tslens.analysis.heads.kinds_words import CLASSES, PRONOUN, PUNCTUATION, RELATIONS, START, TokenMarks
from tslens.analysis.heads.result import RolesResult
from tslens.models import spec_of

if TYPE_CHECKING:
    from tslens.models import LanguageModel

TWICE = 2.0
NEAR = 4
"""The nearest distances at which kinds of keys are compared (`kinds_weights.FAR`)."""
WRITES = "writes "


def after_duplicates(tokens: Int[Tensor, "row pos"], real: Bool[Tensor, "row pos"]) -> Bool[Tensor, "row pos"]:
    """Tokens that a repeated token predicts: the one before has an earlier occurrence; BOS is none."""
    seen = _earlier(tokens).any(-1)
    found = torch.zeros_like(real)
    found[:, 2:] = seen[:, 1:-1] & real[:, 2:]
    return found


def continuations(tokens: Int[Tensor, "row pos"], real: Bool[Tensor, "row pos"]) -> Bool[Tensor, "row pos"]:
    """Tokens that follow their predecessor as they did at an earlier occurrence of it."""
    pairs = _earlier(tokens)[:, 1:-1, 1:-1] & _earlier(tokens)[:, 2:, 2:]  # both the predecessor and the token repeat
    found = torch.zeros_like(real)
    found[:, 2:] = pairs.any(-1) & real[:, 2:]
    return found


def _earlier(tokens: Int[Tensor, "row pos"]) -> Bool[Tensor, "row pos key"]:
    """Earlier keys of the same token; the first position, BOS, is no key."""
    same = (tokens[:, :, None] == tokens[:, None]).tril(-1)
    same[:, :, 0] = False
    return same


def by_two(tokens: Int[Tensor, "row pos"], real: Bool[Tensor, "row pos"]) -> Bool[Tensor, "row pos"]:
    """Tokens that the two before predict at least twice as well as the last alone, by the counts of the other rows."""
    rows = [row[: int(mask.sum())] for row, mask in zip(tokens.tolist(), real, strict=True)]
    own = [[_ngrams(row, n) for n in (1, 2, 3)] for row in rows]
    one, two, three = (sum((counts[i] for counts in own), Counter()) for i in range(3))
    found = torch.zeros_like(real)
    for i, (row, (one_, two_, three_)) in enumerate(zip(rows, own, strict=True)):
        for at in range(2, len(row)):
            last, pair, triple = tuple(row[at - 1 : at]), tuple(row[at - 1 : at + 1]), tuple(row[at - 2 : at + 1])
            both = triple[:2]
            after_two, of_two = three[triple] - three_[triple], two[both] - two_[both]
            after_one, of_one = two[pair] - two_[pair], one[last] - one_[last]
            found[i, at] = after_two > 0 and after_two * of_one >= TWICE * after_one * of_two
    return found


def _ngrams(row: Sequence[int], n: int) -> Counter[tuple[int, ...]]:
    return Counter(tuple(row[i : i + n]) for i in range(len(row) - n + 1))


PREDICTED: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "previous token": by_two,
    "induction": continuations,
    "duplicate token": after_duplicates,
}
"""The tokens that each role predicts, from tokens and the mask of real ones."""


def queries_of_kinds(marks: TokenMarks, pronouns: Bool[Tensor, " query"]) -> Bool[Tensor, "kind query"]:
    """The queries of a natural story that have a key of each kind (`kinds_weights.KINDS`), as the rule above says;
    none for duplicates and induction, whose tokens are those of the roles."""
    place = torch.arange(len(marks.word))
    distance = place[:, None] - place
    near = (distance > 0) & (distance <= NEAR) & (place > 0)
    found = torch.zeros(len(KINDS), len(place), dtype=torch.bool)
    found[: len(RELATIONS)] = marks.relations.any(-1)
    found[PRONOUN] = pronouns
    for relation in (PUNCTUATION, START):
        found[relation] = (marks.relations[relation] & near).any(-1)
    known = marks.classes >= 0
    sets = [
        marks.topic,
        known & marks.speech,
        known & ~marks.speech,
        *(marks.classes == i for i in range(len(CLASSES))),
    ]
    found[len(RELATED) :] = (torch.stack(sets)[:, None] & near).any(-1)
    return found


def labels_of(
    model: "LanguageModel",
    roles: RolesResult | None = None,
    keys: KindsResult | None = None,
    writes: WritesResult | None = None,
) -> list[tuple[int, int, str]]:
    """Layer, head and name of every label that predicts tokens, head after head: its role, the kinds of its keys from
    the largest score on, and `writes` with the class that it writes most. Without answers there are none."""
    spec, found = spec_of(model), []
    for layer in range(spec.n_layers):
        for head in range(spec.n_heads):
            named = [roles.roles[layer][head]] if roles is not None else []
            named = [role for role in named if role in PREDICTED]
            named += keys.kinds[layer][head] if keys is not None else []
            named += [f"{WRITES}{word}" for word in writes.kinds[layer][head][:1]] if writes is not None else []
            found += [(layer, head, name) for name in dict.fromkeys(named)]
    return found


def predicted_by(
    label: str,
    tokens: Int[Tensor, "row pos"],
    real: Bool[Tensor, "row pos"],
    classes: Int[Tensor, "row pos"],
    queries: Bool[Tensor, "kind row pos"],
) -> Bool[Tensor, "row pos"]:
    """The tokens that a label of `labels_of` predicts, given the class of the word that each token begins, and the
    queries of each kind."""
    if label in PREDICTED:
        return PREDICTED[label](tokens, real)
    if label.startswith(WRITES):
        return classes == CLASSES.index(label.removeprefix(WRITES))
    found = torch.zeros_like(real)
    found[:, 1:] = queries[KINDS.index(label)][:, :-1] & real[:, 1:]
    return found
