"""The tokens that a head's role predicts.

A role says what a head reads, so it says where its loss should matter:

- `previous token`: the head carries the token before the query. It can help where the last two tokens predict the next
  one better than the last alone does: at least twice as probable, by the counts of the other stories.
- `induction`: the token that followed an earlier occurrence of the query's token follows again.
- `duplicate token`: the query's token has occurred before in the story, so the head has something to look at.

A head without such a role that writes a word class is tested on words of that class (`ablation`). Other heads predict
no tokens in particular, and have no such test. Each predicted token is compared with the others of its story in the
same bin of frequency (`batching.contrast_weights`).
"""

from collections import Counter
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Bool, Int
from torch import Tensor

TWICE = 2.0


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
