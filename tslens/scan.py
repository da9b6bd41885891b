"""One pass, many questions: run a model once over stories and feed every reducer that asks.

A reducer is one question about activations over a corpus. Memory does not grow with the corpus, only the activations
asked for are ever kept, and because states merge, parts of a corpus can be scanned in different places.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload, runtime_checkable

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from tslens import forward
from tslens.draws import below, draw
from tslens.errors import InputError
from tslens.models import CompressorSpec, Spec, spec_of, tokenizer_of
from tslens.result import Result, read_on
from tslens.stories.identity import Occurrences
from tslens.tokenizer import Tokenizer, in_batches

if TYPE_CHECKING:
    from tslens.models import HookedTransformer

BATCH_TOKENS = 4096
ENCODED = 32  # stories that are cut into tokens at once: what the tokenizer says of them is large
WINDOW = 256  # stories that are read ahead and sorted by length, so that rows of a batch need little padding


@dataclasses.dataclass(frozen=True)
class Batch:
    """Stories as rows: BOS first, one story a row, right-padded."""

    tokens: Int[Tensor, "batch pos"]
    """Token ids; BOS where padded."""
    mask: Bool[Tensor, "batch pos"]
    """True on tokens of the story and its BOS, False on padding."""
    indices: Int[Tensor, " batch"]
    """Place of each row's story in the corpus, in reading order: to name a story to a reader, or to answer in the order
    of the corpus. Nothing is drawn, grouped or labelled by it, because it depends on the order."""
    hashes: Int[Tensor, " batch"]
    """64-bit hash of each story's text."""
    occurrences: Int[Tensor, " batch"]
    """How many stories of the same text came before in the whole corpus. With `hashes` the identity of a story: for
    every order of a corpus, every `batch_tokens` and every number of shards the same set of pairs."""
    texts: tuple[str, ...]
    """The stories themselves."""
    cut: int = 0
    """How many of them were longer than the context, so that only their beginning is here."""

    @property
    def seeds(self) -> Int[Tensor, " batch"]:
        """One 64-bit number for each story, mixed from its identity: whatever is drawn for a story starts here."""
        return draw(self.hashes, self.occurrences)

    def groups(self, n: int) -> Int[Tensor, " batch"]:
        """Which of `n` groups of stories each belongs to, for intervals: by its identity, so as if drawn at random."""
        return below(torch.tensor(n), self.seeds)


State = TypeVar("State")
Answer_co = TypeVar("Answer_co", bound=Result, covariant=True)


@runtime_checkable
class Reducer(Protocol[State, Answer_co]):
    """One question. States are plain data (tensors, numbers, lists): they may be shipped and merged elsewhere."""

    def hooks(self, spec: Spec) -> Sequence[str]:
        """The activations that the question needs, by TransformerLens's names."""
        ...

    def start(self, model: "HookedTransformer") -> State:
        """The empty state, with whatever of the model the question needs."""
        ...

    def update(self, state: State, activations: Mapping[str, Tensor], batch: Batch) -> State:
        """The state after a batch; may change `state` in place."""
        ...

    def merge(self, a: State, b: State) -> State:
        """The state of both corpora; associative."""
        ...

    def finish(self, state: State) -> Answer_co:
        """The answer."""
        ...


@dataclasses.dataclass(frozen=True)
class Shard:
    """The stories `number`, `number + of`, ... of a corpus. The states of all shards merge into that of the whole."""

    number: int = 0
    of: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.number < self.of:
            raise InputError(f"There is no shard {self.number} of {self.of}: shards count from 0 to {self.of - 1}.")


@dataclasses.dataclass(frozen=True)
class Story:
    """A story with its identity (see `Batch`)."""

    text: str
    index: int
    hash: int
    occurrence: int


def identified(texts: Iterable[str], shard: Shard) -> Iterator[Story]:
    """The stories of a shard. The whole corpus is read, because every earlier story of the same text counts."""
    occurrences = Occurrences()
    for index, text in enumerate(texts):
        identity = occurrences.identify(text)
        if index % shard.of == shard.number:
            yield Story(text, index, *identity)


def batches(
    texts: Iterable[str],
    tokenizer: Tokenizer,
    *,
    context: int,
    batch_tokens: int = BATCH_TOKENS,
    end: bool = False,
    shard: Shard = Shard(),
) -> Iterator[Batch]:
    """Stories as batches of at most `batch_tokens` places, sorted by length within a window that is read ahead.

    A story longer than `context` is cut to its first `context` tokens; with `end` the token that ends a story is the
    last of its row (where it fits). InputError where there is no story at all.
    """
    stories = identified(texts, shard)
    seen = 0
    while window := list(islice(stories, WINDOW)):
        seen += len(window)
        pieces = in_batches((story.text for story in window), ENCODED)
        ids = [row for texts in pieces for row in tokenizer.encode(texts)]
        if end:
            ids = [[*row, tokenizer.bos] for row in ids]
        rows = sorted(
            ((row[:context], story, len(row) > context) for row, story in zip(ids, window, strict=True)),
            key=lambda r: len(r[0]),
        )
        del ids, window  # before the next are made
        while rows:
            n = _rows_that_fit(rows, batch_tokens)
            yield _collate(rows[:n], tokenizer.bos)
            rows = rows[n:]
    if not seen:
        raise InputError("There is no story to scan: the source is empty or everything was filtered out.")


Row = tuple[list[int], Story, bool]  # token ids, the story, whether it was cut


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


def states(
    model: "HookedTransformer",
    stories: Iterable[str],
    reducers: Sequence[Reducer[Any, Any]],
    *,
    context: int | None = None,
    batch_tokens: int = BATCH_TOKENS,
    precision: str = "float32",
    progress: bool = True,
    shard: Shard = Shard(),
) -> list[Any]:
    """Run the pass and return every reducer's state, to be merged with others (see `Shard`) or finished."""
    spec, tokenizer = spec_of(model), tokenizer_of(model)
    wanted = tuple(dict.fromkeys(name for reducer in reducers for name in reducer.hooks(spec)))
    forward.check_hooks(spec, wanted)
    dtype = forward.resolve_dtype(precision, model)
    device = next(model.parameters()).device
    context = min(context or spec.n_ctx, spec.n_ctx)
    read = cut = 0
    with bar("scan", stories, progress) as advance:
        running = [reducer.start(model) for reducer in reducers]
        with torch.inference_mode():
            for batch in batches(stories, tokenizer, context=context, batch_tokens=batch_tokens, shard=shard):
                acts = forward.activations(model, batch.tokens.to(device), wanted, dtype=dtype) if wanted else {}
                for i, reducer in enumerate(reducers):
                    running[i] = reducer.update(running[i], acts, batch)
                read, cut = read + len(batch.texts), cut + batch.cut
                advance(len(batch.texts))
    if cut and progress:
        _stderr().print(f"{cut:,} of {read:,} stories were longer than {context} tokens: their beginning was read.")
    return running


@contextlib.contextmanager
def bar(what: str, stories: Iterable[str], shown: bool = True) -> Iterator[Callable[[int], None]]:
    """A bar on stderr for as long as the block lasts; it gives the function to tell how many more stories are done."""
    if not shown:
        yield lambda more: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    total = len(stories) if isinstance(stories, Sized) else None
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    console = _stderr()
    seen = console.is_terminal or console.is_jupyter
    with Progress(*columns, transient=True, console=console, disable=not seen) as drawn:
        task = drawn.add_task(what, total=total)
        yield lambda more: drawn.advance(task, more)


def _stderr() -> Any:
    from rich.console import Console

    return Console(stderr=True)


R1 = TypeVar("R1", bound=Result)


@overload
def scan(model: "HookedTransformer", stories: Iterable[str], reducers: Reducer[Any, R1], **options: Any) -> R1: ...
@overload
def scan(
    model: "HookedTransformer", stories: Iterable[str], reducers: Sequence[Reducer[Any, Any]], **options: Any
) -> list[Any]: ...
def scan(
    model: "HookedTransformer",
    stories: Iterable[str],
    reducers: Reducer[Any, Any] | Sequence[Reducer[Any, Any]],
    **options: Any,
) -> Any:
    """Answer every question in one pass: one reducer gives its Result, several give a list in their order.

    Options: `context` (tokens of a story that are read, at most the model's own), `batch_tokens`, `precision`
    (float32, bfloat16, auto), `progress`. ValueError for an unknown activation (with the nearest name) or no stories.
    For a compressor, scans its trunk; positions are token pairs (`forward.trunk`), and the stories are read twice.
    """
    if isinstance(spec_of(model, compressors=True), CompressorSpec):
        from tslens.forward.trunk import trunk

        stories = list(stories) if isinstance(stories, Iterator) else stories
        model = trunk(model, stories)
    several = isinstance(reducers, Sequence)
    asked: list[Reducer[Any, Any]] = list(reducers) if isinstance(reducers, Sequence) else [reducers]
    found = states(model, stories, asked, **options)
    with _stderr().status("weighing what was found") if options.get("progress", True) else contextlib.nullcontext():
        answers = [read_on(r.finish(state), stories) for r, state in zip(asked, found, strict=True)]
    return answers if several else answers[0]
