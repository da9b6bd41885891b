"""Continuous batching: rows that have ended leave the batch, and others take their places.

Rows that begin together form a group with a cache of its own, so attention reads no more keys than the group's rows
have; all groups share the other products of a step (iteration-level scheduling and selective batching: Yu et al. 2022,
Orca, OSDI). Equal prompts of a group are read once.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens import forward
from tslens.errors import InputError
from tslens.generate.beams import beam_search
from tslens.generate.cache import TransformerWriter, Writer, step_together
from tslens.generate.compressor import CompressorWriter
from tslens.generate.hooked import HookedWriter
from tslens.generate.sampling import Sampling, sample_token
from tslens.models import CompressorSpec, HookedSpec, Spec, spec_of, tokenizer_of

if TYPE_CHECKING:
    from tslens.models import LanguageModel

WIDTH, WIDE = 128, 512  # rows of a batch at most, on a CPU and on an accelerator
MEMORY, MORE = 1 << 30, 8 << 30  # bytes of keys and values, there and there
PROMPT = 256  # tokens of a prompt for which there is room in that
NEVER = (-1,)  # no token ends a story
FREE = 4  # new rows begin once a quarter of the places is free


class Row(NamedTuple):
    """A row to be continued, with its number, which decides with the seed what is drawn for it."""

    place: int
    tokens: list[int]
    number: int


class Pen(NamedTuple):
    """How rows are continued."""

    model: "LanguageModel"
    spec: Spec | HookedSpec | CompressorSpec
    sampling: Sampling
    most: int
    stop: tuple[int, ...]
    dtype: torch.dtype

    def writer(self, rows: list[list[int]], places: int, like: Writer | None) -> Writer:
        """A writer for rows that will fill this many places; it uses the packed weights of another."""
        if isinstance(self.spec, HookedSpec):
            return HookedWriter(self.model, rows)
        if isinstance(self.spec, Spec):
            return TransformerWriter(self.model, self.spec, rows, places, self.dtype, like)
        assert like is None or isinstance(like, CompressorWriter)
        return CompressorWriter(self.model, self.spec, rows, places, self.dtype, like)

    def together(self, rows: Sequence[Row]) -> list[list[Row]]:
        """Groups of rows that can begin together: all; for a compressor, those at the same place of a pair."""
        if not isinstance(self.spec, CompressorSpec):
            return [list(rows)] if rows else []
        by_place = [[row for row in rows if len(row.tokens) % 2 == place] for place in (0, 1)]
        return [group for group in by_place if group]


@dataclasses.dataclass
class Group:
    """Rows that began together: their cache, and what they have said."""

    writer: Writer
    scores: Float[Tensor, "row d_vocab"]
    place: Int[Tensor, " row"]
    budget: Int[Tensor, " row"]
    uniform: Float[Tensor, "row step"]
    said: Int[Tensor, "row step"]
    steps: int = 0

    @classmethod
    def begun(cls, pen: Pen, rows: list[Row], like: Writer | None) -> "Group":
        """A group that has read its prompts."""
        budgets = [budget_of(row.tokens, pen.spec.n_ctx, pen.most) for row in rows]
        order: dict[tuple[int, ...], int] = {}
        of = torch.tensor([order.setdefault(tuple(row.tokens), len(order)) for row in rows])
        prompts = [list(tokens) for tokens in order]
        writer = pen.writer(prompts, max(map(len, prompts)) + max(budgets), like)
        scores = writer.step(writer.prompt)
        if len(prompts) < len(rows):
            of = of.to(writer.device)
            writer.reorder(of)
            scores = scores[of]
        uniform = torch.zeros(len(rows), max(budgets))
        if pen.sampling.temperature:
            for i, row in enumerate(rows):
                seeded = torch.Generator().manual_seed(pen.sampling.seed * 1_000_003 + row.number)
                uniform[i, : budgets[i]] = torch.rand(budgets[i], generator=seeded)
        return cls(
            writer,
            scores,
            torch.tensor([row.place for row in rows]),
            torch.tensor(budgets, device=writer.device),
            uniform.to(writer.device),
            torch.full((len(rows), max(budgets)), pen.stop[0], device=writer.device),
        )

    def say(self, token: Int[Tensor, " row"], stop: tuple[int, ...]) -> Iterator[tuple[int, list[int]]]:
        """Add a token to every row; gives the place and the tokens of each row that has ended, which leaves."""
        self.said[:, self.steps] = token
        self.steps += 1
        over = torch.stack([token == one for one in stop] + [self.steps >= self.budget]).any(0).cpu()
        if not over.any():
            return
        for place, row in zip(self.place[over].tolist(), self.said[over.to(token.device)].tolist(), strict=True):
            new = row[: self.steps]
            yield place, new[:-1] if new[-1] in stop else new
        self._keep(~over)

    def _keep(self, alive: Bool[Tensor, " row"]) -> None:
        """Close the gaps of rows that have ended with the last rows."""
        n = int(alive.sum())
        rows = torch.arange(n)
        rows[~alive[:n]] = alive.nonzero().squeeze(1).flip(0)[: int((~alive[:n]).sum())]
        self.place, rows = self.place[rows], rows.to(self.writer.device)
        self.budget, self.uniform, self.said = self.budget[rows], self.uniform[rows], self.said[rows]
        self.writer.keep(rows)


def stream(
    model: "LanguageModel",
    rows: Iterable[Sequence[int]],
    *,
    numbers: Iterable[int] | None = None,
    max_new_tokens: int = 256,
    sampling: Sampling | None = None,
    stop: int | None = None,
    precision: str = "float32",
    width: int | None = None,
) -> Iterator[tuple[int, list[int]]]:
    """The place of each row in `rows` and its new tokens, as soon as it has ended; without the stop token.

    Rows are taken when there is room, and `width` rows at most are continued at a time (by default 128 on a CPU, or as
    many as have keys and values in a gigabyte), so memory does not grow with their number. A row ends at `stop` (the
    tokenizer's end of story and BOS by default), after `max_new_tokens`, or where the context is full. What is drawn
    for a row depends on the seed and on its number: one of `numbers`, which go with the rows, or its place. InputError
    for an empty prompt or one that fills the context.
    """
    if max_new_tokens < 1:
        raise InputError(f"max_new_tokens is {max_new_tokens}; it must be at least 1.")
    if width is not None and width < 1:
        raise InputError(f"width is {width}; it must be at least 1.")
    ends = (tokenizer_of(model).ends or NEVER) if stop is None else (stop,)
    dtype = forward.resolve_dtype(precision, model)
    pen = Pen(model, spec_of(model, compressors=True), sampling or Sampling(), max_new_tokens, ends, dtype)
    named = ((list(row), place) for place, row in enumerate(rows))
    asked = (
        (Row(place, row, place) for row, place in named)
        if numbers is None
        else (Row(place, row, number) for (row, place), number in zip(named, numbers, strict=True))
    )
    width = width or _width(pen, next(model.parameters()).device.type == "cpu")
    return _search(pen, asked, width) if pen.sampling.beams > 1 else _sample(pen, asked, width)


def budget_of(row: Sequence[int], n_ctx: int, most: int) -> int:
    """Tokens that a row may get. InputError for an empty row, or one that fills the context."""
    if not row:
        raise InputError("An empty prompt cannot be continued. Start it with the end-of-story token.")
    if len(row) >= n_ctx:
        raise InputError(f"A prompt of {len(row)} tokens fills this model's context of {n_ctx}. Shorten it.")
    return min(most, n_ctx - len(row))


def _width(pen: Pen, on_cpu: bool) -> int:
    """Rows that are continued at a time."""
    spec = pen.spec.trunk if isinstance(pen.spec, CompressorSpec) else pen.spec
    row = min(spec.n_ctx, pen.most + PROMPT) * 2 * spec.n_layers * spec.d_model * pen.dtype.itemsize
    rows, memory = (WIDTH, MEMORY) if on_cpu else (WIDE, MORE)
    return max(1, min(rows, memory // row))


@torch.inference_mode()
def _search(pen: Pen, asked: Iterator[Row], width: int) -> Iterator[tuple[int, list[int]]]:
    """Beam search over as many prompts at a time as their beams have places."""
    writer: Writer | None = None
    while rows := list(islice(asked, max(1, width // pen.sampling.beams))):
        for group in pen.together(rows):
            budgets = [budget_of(row.tokens, pen.spec.n_ctx, pen.most) for row in group]
            prompts = [row.tokens for row in group]
            writer = pen.writer(prompts, max(map(len, prompts)) + max(budgets), writer)
            made = beam_search(writer, budgets, pen.sampling.beams, pen.stop)
            yield from zip((row.place for row in group), made, strict=True)


@torch.inference_mode()
def _sample(pen: Pen, asked: Iterator[Row], width: int) -> Iterator[tuple[int, list[int]]]:
    groups: list[Group] = []
    writer: Writer | None = None
    while True:
        free = width - sum(len(group.place) for group in groups)
        if not groups or free * FREE >= width:
            for rows in pen.together(list(islice(asked, free))):
                groups.append(Group.begun(pen, rows, writer))
                writer = groups[-1].writer
        if not groups:
            return
        sizes = [len(group.place) for group in groups]
        uniform = torch.cat([group.uniform[:, group.steps] for group in groups])
        tokens = sample_token(torch.cat([group.scores for group in groups]), uniform, pen.sampling).split(sizes)
        for group, token in zip(groups, tokens, strict=True):
            yield from group.say(token, pen.stop)
        groups = [group for group in groups if len(group.place)]
        step(groups)


def step(groups: list[Group]) -> None:
    """The scores of every group after its last token."""
    tokens = [group.said[:, group.steps - 1 : group.steps] for group in groups]
    writers = [group.writer for group in groups if isinstance(group.writer, TransformerWriter)]
    if groups and len(writers) == len(groups):
        scores = step_together(writers, torch.cat(tokens)).split([len(token) for token in tokens])
    else:
        scores = tuple(group.writer.step(token) for group, token in zip(groups, tokens, strict=True))
    for group, found in zip(groups, scores, strict=True):
        group.scores = found
