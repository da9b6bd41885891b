"""Batches of stories as rows of tokens cut to the context, each story with its identity, for a corpus or one shard."""

import dataclasses
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens.draws import below, draw
from tslens.errors import InputError
from tslens.models import TextTokenizer
from tslens.stories.identity import Occurrences
from tslens.tokenizer import in_batches

BATCH_TOKENS = 4096
ENCODED = 32  # stories tokenized at once: the tokenizer's output is large
WINDOW = 256  # stories that are read ahead and sorted by length, so that rows of a batch need little padding
EMPTY = "There is no story to scan: the source is empty or everything was filtered out."


@dataclasses.dataclass(frozen=True)
class Batch:
    """Stories as rows: BOS first, one story a row, right-padded."""

    tokens: Int[Tensor, "batch pos"]
    """Token ids; BOS where padded."""
    mask: Bool[Tensor, "batch pos"]
    """True on tokens of the story and its BOS, False on padding."""
    indices: Int[Tensor, " batch"]
    """Index of each row's story in the corpus, in reading order: to name a story to a reader, or to answer in the order
    of the corpus. No draw, group or label depends on it, because it depends on the order."""
    hashes: Int[Tensor, " batch"]
    """64-bit hash of each story's text."""
    occurrences: Int[Tensor, " batch"]
    """Number of earlier stories of the same text in the whole corpus. With `hashes` the identity of a story: the set of
    pairs is the same for every order of a corpus, every `batch_tokens` and every number of shards."""
    texts: tuple[str, ...]
    """The stories themselves."""
    cut: int = 0
    """Number of stories longer than the context, of which only the beginning is here."""

    @property
    def seeds(self) -> Int[Tensor, " batch"]:
        """One 64-bit seed for each story, a hash of its identity, for every draw about that story."""
        return draw(self.hashes, self.occurrences)

    def groups(self, n: int) -> Int[Tensor, " batch"]:
        """The group of each story, of `n`, for intervals: pseudo-random, a function of its identity."""
        return below(torch.tensor(n), self.seeds)


@dataclasses.dataclass(frozen=True)
class Shard:
    """The stories `number`, `number + of`, ... of a corpus. The states of all shards merge into that of the whole."""

    number: int = 0
    of: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.number < self.of:
            raise InputError(f"There is no shard {self.number} of {self.of}: shards count from 0 to {self.of - 1}.")


WHOLE = Shard()


@dataclasses.dataclass(frozen=True)
class Story:
    """A story with its identity (see `Batch`)."""

    text: str
    index: int
    hash: int
    occurrence: int


def several_texts(texts: Iterable[str]) -> Iterable[str]:
    """What was given as texts. InputError for what is iterated over as something else, or not at all: one text or path,
    a table, a mapping, tokens."""
    if isinstance(texts, str | bytes | os.PathLike):
        raise InputError("Stories are several texts, and one text was given: give [text], or tslens.stories(SOURCE).")
    if isinstance(texts, Mapping | Tensor) or hasattr(texts, "columns") or not isinstance(texts, Iterable):
        raise InputError(f"Stories are texts, in a list, and a {type(texts).__name__} was given: give its texts.")
    if isinstance(texts, list | tuple) and texts:
        _refuse_other(texts[0], 0)
    return texts


def _refuse_other(text: object, index: int) -> None:
    if not isinstance(text, str):
        raise InputError(f"Stories are texts, and story {index} is of type {type(text).__name__}: give texts.")


def identified(texts: Iterable[str], shard: Shard) -> Iterator[Story]:
    """The stories of a shard. The whole corpus is read, because every earlier story of the same text counts."""
    occurrences = Occurrences()
    for index, text in enumerate(several_texts(texts)):
        _refuse_other(text, index)
        identity = occurrences.identify(text)
        if index % shard.of == shard.number:
            yield Story(text, index, *identity)


def batches(
    texts: Iterable[str],
    tokenizer: TextTokenizer,
    *,
    context: int,
    batch_tokens: int = BATCH_TOKENS,
    end: bool = False,
    shard: Shard = WHOLE,
) -> Iterator[Batch]:
    """Stories as batches of at most `batch_tokens` tokens with padding, sorted by length within a window read ahead.

    A story longer than `context` is cut to its first `context` tokens; with `end` the end-of-story token closes its
    row (where it fits). InputError if there is no story.
    """
    stories = identified(texts, shard)
    seen = 0
    while window := list(islice(stories, WINDOW)):
        seen += len(window)
        rows = sorted(_encoded(window, tokenizer, context, end), key=lambda r: len(r[0]))
        del window  # before the next is made
        while rows:
            n = _rows_that_fit(rows, batch_tokens)
            yield _collate(rows[:n], tokenizer.bos)
            rows = rows[n:]
    if not seen:
        raise InputError(EMPTY)


def chosen(texts: Iterable[str], tokenizer: TextTokenizer, *, rows: int, context: int) -> Batch:
    """The `rows` stories that their hashes choose, in the order of the hashes, each cut to `context` tokens.

    InputError if there is no story.
    """
    read = list(identified(texts, WHOLE))
    if not read:
        raise InputError(EMPTY)
    seeds = draw(*(torch.tensor([getattr(story, name) for story in read]) for name in ("hash", "occurrence")))
    some = [read[i] for i in seeds.argsort(stable=True)[:rows].tolist()]
    return _collate(_encoded(some, tokenizer, context), tokenizer.bos)


def contrast_weights(
    tokens: Int[Tensor, "row pos"], scored: Bool[Tensor, "row pos"], picked: Bool[Tensor, "row pos"]
) -> tuple[Float[Tensor, "row pos"], Float[Tensor, "row pos"]]:
    """Weights of the picked places (1 each) and of the other scored ones of the same row, of the same sum, such that
    their tokens are as frequent (once, 2-3 times, 4-7, ... among the rows). What has no match is left out."""
    counts = torch.bincount(tokens[scored], minlength=int(tokens.max()) + 1)
    bins = counts[tokens].clamp(min=1).double().log2().floor().long()
    on, off = torch.zeros(tokens.shape, dtype=torch.float64), torch.zeros(tokens.shape, dtype=torch.float64)
    for which in bins[scored & picked].unique():
        here = scored & (bins == which)
        n_on = (here & picked).sum(1, keepdim=True)
        n_off = (here & ~picked).sum(1, keepdim=True)
        both = (n_on > 0) & (n_off > 0)
        on += (here & picked & both).double()
        off += (here & ~picked & both) * (n_on / n_off.clamp(min=1)).double()
    return on, off


Row = tuple[list[int], Story, bool]  # token ids, the story, whether it was cut


def _encoded(stories: Sequence[Story], tokenizer: TextTokenizer, context: int, end: bool = False) -> list[Row]:
    """Each story as a row; with `end` the end-of-story token closes it."""
    pieces = in_batches((story.text for story in stories), ENCODED)
    ids = [[*row, tokenizer.eos] if end else row for texts in pieces for row in tokenizer.encode(texts)]
    return [(row[:context], story, len(row) > context) for row, story in zip(ids, stories, strict=True)]


def _rows_that_fit(rows: list[Row], batch_tokens: int) -> int:
    n = 1
    while n < len(rows) and len(rows[n][0]) * (n + 1) <= batch_tokens:
        n += 1
    return n


def _collate(rows: list[Row], pad: int) -> Batch:
    width = max(len(ids) for ids, *_ in rows)
    tokens = torch.full((len(rows), width), pad, dtype=torch.long)
    mask = torch.zeros(len(rows), width, dtype=torch.bool)
    for i, (ids, *_) in enumerate(rows):
        tokens[i, : len(ids)] = torch.tensor(ids, dtype=torch.long)
        mask[i, : len(ids)] = True
    stories = [story for _, story, _ in rows]
    return Batch(
        tokens,
        mask,
        indices=torch.tensor([story.index for story in stories]),
        hashes=torch.tensor([story.hash for story in stories]),
        occurrences=torch.tensor([story.occurrence for story in stories]),
        texts=tuple(story.text for story in stories),
        cut=sum(cut for *_, cut in rows),
    )
