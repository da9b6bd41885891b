"""One pass, many questions: run a model once over stories and feed every reducer that asks.

A reducer is one question about activations over a corpus. Memory does not grow with the corpus, only the activations
asked for are ever kept, and because states merge, parts of a corpus can be scanned in different places.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload, runtime_checkable

import torch
from torch import Tensor

from tslens import forward
from tslens.batching import BATCH_TOKENS, WHOLE, Batch, Shard, batches, several_texts
from tslens.errors import InputError
from tslens.models import CompressorSpec, Spec, spec_of, tokenizer_of
from tslens.progress import bar, note, stage
from tslens.result import Result, read_on

if TYPE_CHECKING:
    from tslens.models import LanguageModel

__all__ = ["BATCH_TOKENS", "Batch", "Begun", "Reducer", "Shard", "batches", "concluded", "reading", "scan", "states"]

State = TypeVar("State")
Answer = TypeVar("Answer", bound=Result)
Answer_co = TypeVar("Answer_co", bound=Result, covariant=True)


@runtime_checkable
class Reducer(Protocol[State, Answer_co]):
    """One question. States are plain data (tensors, numbers, lists): they can be sent and merged elsewhere."""

    def hooks(self, spec: Spec) -> Sequence[str]:
        """The activations that the question needs, by TransformerLens's names."""
        ...

    def start(self, model: "LanguageModel") -> State:
        """The empty state, with the parts of the model that the question needs."""
        ...

    def update(self, state: State, activations: Mapping[str, Tensor], batch: Batch) -> State:
        """The state after a batch; may change `state` in place."""
        ...

    def merge(self, a: State, b: State) -> State:
        """The state of both corpora; associative. It may change `a` in place, and leaves `b` as it is."""
        ...

    def finish(self, state: State) -> Answer_co:
        """The result."""
        ...


@dataclass(frozen=True)
class Begun:
    """A reducer whose state is given: that of an earlier pass, or a copy of an empty one that costs a pass to begin."""

    reducer: Reducer[Any, Any]
    begin: Callable[[], Any]
    """Gives the state."""

    def hooks(self, spec: Spec) -> Sequence[str]:
        return self.reducer.hooks(spec)

    def start(self, model: "LanguageModel") -> Any:
        return self.begin()

    def update(self, state: Any, activations: Mapping[str, Tensor], batch: Batch) -> Any:
        return self.reducer.update(state, activations, batch)

    def merge(self, a: Any, b: Any) -> Any:
        return self.reducer.merge(a, b)

    def finish(self, state: Any) -> Any:
        return self.reducer.finish(state)


def reading(reducer: Reducer[Any, Any]) -> Reducer[Any, Any]:
    """The reducer that reads the stories for this one: itself, or that which it `reads` and whose answer it goes on
    from (`conclude`)."""
    own: Reducer[Any, Any] = getattr(reducer, "reads", reducer)
    return own


def concluded(reducer: Reducer[Any, Any], answer: Any) -> Any:
    """The reducer's answer from that of the reducer that reads for it."""
    return reducer.conclude(answer) if hasattr(reducer, "reads") else answer  # type: ignore[attr-defined]


def states(
    model: "LanguageModel",
    stories: Iterable[str],
    reducers: Sequence[Reducer[Any, Any]],
    *,
    context: int | None = None,
    batch_tokens: int = BATCH_TOKENS,
    precision: str = "float32",
    shard: Shard = WHOLE,
) -> list[Any]:
    """Run the pass and return every reducer's state, to be merged with others (see `Shard`) or finished."""
    spec, tokenizer = spec_of(model), tokenizer_of(model)
    stories = several_texts(stories)
    if classes := [reducer.__name__ for reducer in reducers if isinstance(reducer, type)]:
        raise InputError(f"{classes[0]} is a class, and a scan takes what was made of it: give {classes[0]}().")
    wanted = tuple(dict.fromkeys(name for reducer in reducers for name in reducer.hooks(spec)))
    forward.check_hooks(spec, wanted)
    dtype = forward.resolve_dtype(precision, model)
    device = next(model.parameters()).device
    context = min(context or spec.n_ctx, spec.n_ctx)
    read = cut = 0
    with bar("scan", stories) as shown:
        running = [reducer.start(model) for reducer in reducers]
        with torch.inference_mode():
            for batch in batches(stories, tokenizer, context=context, batch_tokens=batch_tokens, shard=shard):
                acts = forward.activations(model, batch.tokens.to(device), wanted, dtype=dtype) if wanted else {}
                for i, reducer in enumerate(reducers):
                    running[i] = reducer.update(running[i], acts, batch)
                read, cut = read + len(batch.texts), cut + batch.cut
                shown.advance(len(batch.texts))
    if cut:
        note(f"{cut:,} of {read:,} stories were longer than {context} tokens: their beginning was read.")
    return running


@overload
def scan(
    model: "LanguageModel",
    stories: Iterable[str],
    reducers: Reducer[Any, Answer],
    *,
    context: int | None = None,
    batch_tokens: int = BATCH_TOKENS,
    precision: str = "float32",
) -> Answer: ...
@overload
def scan(
    model: "LanguageModel",
    stories: Iterable[str],
    reducers: Sequence[Reducer[Any, Any]],
    *,
    context: int | None = None,
    batch_tokens: int = BATCH_TOKENS,
    precision: str = "float32",
) -> list[Any]: ...
def scan(
    model: "LanguageModel",
    stories: Iterable[str],
    reducers: Reducer[Any, Any] | Sequence[Reducer[Any, Any]],
    *,
    context: int | None = None,
    batch_tokens: int = BATCH_TOKENS,
    precision: str = "float32",
) -> Any:
    """Answer every question in one pass: one reducer gives its Result, several give a list in their order.

    `context` is how many tokens of a story are read (at most the model's own), `batch_tokens` how many are read at a
    time, `precision` that of the model's matrix products (float32, bfloat16, auto). For a compressor, scans its trunk;
    positions are token pairs (`forward.trunk`), and the stories are read twice.

    Raises:
        InputError: an unknown activation (with the nearest name), or no stories.
    """
    if isinstance(spec_of(model, compressors=True), CompressorSpec):
        from tslens.forward.trunk import trunk

        stories = list(stories) if isinstance(stories, Iterator) else stories
        model = trunk(model, stories)
    several = isinstance(reducers, Sequence)
    asked: list[Reducer[Any, Any]] = list(reducers) if isinstance(reducers, Sequence) else [reducers]
    found = states(model, stories, asked, context=context, batch_tokens=batch_tokens, precision=precision)
    with stage("computing the results"):
        answers = [read_on(r.finish(state), stories) for r, state in zip(asked, found, strict=True)]
    return answers if several else answers[0]
