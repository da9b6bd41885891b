"""Minimal pairs as tokens: two prompts of one length, token under token, and one token as the answer to each."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from tslens.errors import InputError
from tslens.stories.pairs.tasks import Task
from tslens.stories.pairs.tasks import task as task_of
from tslens.stories.pairs.written import WrittenPair, write

if TYPE_CHECKING:
    from tslens.tokenizer import Tokenizer

DRAWS, MORE = 12, 100  # pairs written for each that is wanted, or for so many, before too few is the answer
ROLES = ("changed", "after changed", "changed again", "between", "last")
"""Where a token stands in its pair. Tokens before the first change are left out: nothing there differs."""
REASONS = {
    "same": "the two prompts, or the two answers, are the same",
    "answer": "an answer is more than one token",
    "length": "the prompts differ in their number of tokens",
    "context": "a prompt is longer than the context",
    "seen": "the pair was drawn before",
}
"""Why a pair is dropped."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Minimal pairs of one task as tokens: BOS first, padded on the right with BOS, which no earlier token sees."""

    task: str
    clean: Int[Tensor, "pair pos"]
    corrupt: Int[Tensor, "pair pos"]
    length: Int[Tensor, " pair"]
    """Tokens of a prompt, BOS included; the answer follows the last one."""
    right: Int[Tensor, " pair"]
    """The token that answers the clean prompt."""
    wrong: Int[Tensor, " pair"]
    """The token that answers the corrupt prompt."""
    template: Int[Tensor, " pair"]
    dropped: dict[str, int]
    """How many pairs were dropped, by reason."""
    texts: tuple[WrittenPair, ...]

    def __len__(self) -> int:
        return len(self.length)

    def __getitem__(self, rows: Tensor) -> "Pairs":
        """Some of the pairs."""
        picked = {f: getattr(self, f)[rows] for f in ("clean", "corrupt", "length", "right", "wrong", "template")}
        return replace(self, **picked, texts=tuple(self.texts[i] for i in rows.tolist()))

    def roles(self) -> tuple[tuple[str, ...], Bool[Tensor, "role pair pos"]]:
        """The roles that occur, and where: the first run of tokens that differ (`changed`), the token after it, later
        tokens that differ (`changed again`), the last token, whose prediction is the answer, and those between."""
        at = torch.arange(self.clean.shape[1])
        real = at < self.length[:, None]
        last = at == self.length[:, None] - 1
        differs = (self.clean != self.corrupt) & real & ~last
        begun = differs.cumsum(1) > 0
        first = differs & ((begun & ~differs).cumsum(1) == 0)
        after = torch.zeros_like(first)
        after[:, 1:] = first[:, :-1] & ~first[:, 1:]
        after &= ~last
        between = begun & real & ~differs & ~last & ~after
        masks = torch.stack([first, after, differs & ~first & ~after, between, last])
        there = masks.flatten(1).any(1)
        return tuple(role for role, found in zip(ROLES, there.tolist(), strict=True) if found), masks[there]


def pairs(task: str | Task, tokenizer: "Tokenizer", n: int = 200, *, context: int, seed: int = 0) -> Pairs:
    """The first `n` pairs of a task that this tokenizer can express; fewer if 12 n draws, or 1,200, give fewer.

    Raises:
        InputError: fewer than 8 pairs are left, or fewer than 8 are asked for.
    """
    if n < 8:
        raise InputError(f"{n} pairs were asked for; an interval and two halves need 8 or more.")
    task = task_of(task) if isinstance(task, str) else task
    return encode(task.name, islice(write(task, seed), DRAWS * max(n, MORE)), tokenizer, n, context=context)


def encode(name: str, written: Iterable[WrittenPair], tokenizer: "Tokenizer", n: int, *, context: int) -> Pairs:
    """The first `n` of these pairs that stand token under token and have one token as the answer to each."""
    kept: list[tuple[WrittenPair, list[int], list[int], int, int]] = []
    dropped, seen = Counter[str](), set[tuple[str, str]]()
    for pair, (clean, right), (corrupt, wrong) in _tokens(written, tokenizer, n):
        if len(kept) == n:
            break
        if pair.clean == pair.corrupt or pair.right == pair.wrong:
            dropped["same"] += 1
        elif len(right) != 1 or len(wrong) != 1:
            dropped["answer"] += 1
        elif len(clean) != len(corrupt):
            dropped["length"] += 1
        elif len(clean) > context:
            dropped["context"] += 1
        elif (pair.clean, pair.corrupt) in seen:
            dropped["seen"] += 1
        else:
            seen.add((pair.clean, pair.corrupt))
            kept.append((pair, clean, corrupt, right[0], wrong[0]))
    if len(kept) < 8:
        why = "; ".join(f"{count} because {REASONS[reason]}" for reason, count in dropped.most_common())
        raise InputError(f"This tokenizer can express {len(kept)} pairs of the task {name!r}: of those drawn, {why}.")
    longest = max(len(clean) for _, clean, *_ in kept)
    rows = [[[*side, *[tokenizer.bos] * (longest - len(side))] for side in both] for _, *both, _, _ in kept]
    stacked = torch.tensor(rows)
    return Pairs(
        task=name,
        clean=stacked[:, 0],
        corrupt=stacked[:, 1],
        length=torch.tensor([len(clean) for _, clean, *_ in kept]),
        right=torch.tensor([right for *_, right, _ in kept]),
        wrong=torch.tensor([wrong for *_, wrong in kept]),
        template=torch.tensor([pair.template for pair, *_ in kept]),
        dropped=dict(dropped),
        texts=tuple(pair for pair, *_ in kept),
    )


Answered = tuple[list[int], list[int]]
"""The tokens of a prompt, and those that its answer adds to it; none if the answer changes the prompt's own."""


def _tokens(
    written: Iterable[WrittenPair], tokenizer: "Tokenizer", some: int
) -> Iterator[tuple[WrittenPair, Answered, Answered]]:
    """Every pair with the tokens of its two sides, encoded some pairs at a time."""
    stream = iter(written)
    while part := list(islice(stream, some)):
        sides = [(pair.clean, pair.right) for pair in part] + [(pair.corrupt, pair.wrong) for pair in part]
        prompts = tokenizer.encode([prompt for prompt, _ in sides])
        whole = tokenizer.encode([f"{prompt} {answer}" for prompt, answer in sides])
        found = [(a, b[len(a) :] if b[: len(a)] == a else []) for a, b in zip(prompts, whole, strict=True)]
        yield from zip(part, found[: len(part)], found[len(part) :], strict=True)
