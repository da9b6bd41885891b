"""One pass: what a person sees meanwhile, and streams."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

from tslens import models, progress, scan
from tslens.analysis import lens
from tslens.models import Spec
from tslens.tokenizer import Tokenizer

STORIES = [f"Tom had {'a big ' * n}ball. He saw it roll." for n in range(12)]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(STORIES, size=280)


def test_the_bar_moves_with_the_model_and_not_with_the_reading(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All stories are read ahead in one window, so a bar over the source would be full before the first pass."""
    events: list[object] = []

    @contextmanager
    def watched_bar(what: str, total: object) -> Iterator[progress.Bar]:
        moved = progress.Bar(what, None, None)
        monkeypatch.setattr(moved, "advance", events.append)
        yield moved
        events.append("closed")

    monkeypatch.setattr(scan, "bar", watched_bar)
    real = scan.forward.activations

    def watched(*args: object, **options: object) -> object:
        events.append("pass")
        return real(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(scan.forward, "activations", watched)
    model = models.build(Spec(8, 1, 1, d_vocab=tokenizer.size, n_ctx=64), tokenizer=tokenizer)
    scan.scan(model, STORIES, lens.ByDepth(), batch_tokens=150)
    sizes = [event for event in events if isinstance(event, int)]
    assert len(sizes) > 1 and sum(sizes) == len(STORIES)
    assert events[: 2 * len(sizes)] == [step for size in sizes for step in ("pass", size)]
    assert events[2 * len(sizes)] == "closed"


def test_a_stream_of_unknown_length_is_scanned_too(tokenizer: Tokenizer) -> None:
    def stream() -> Iterator[str]:
        yield from STORIES

    model = models.build(Spec(8, 1, 1, d_vocab=tokenizer.size, n_ctx=64), tokenizer=tokenizer)
    whole, streamed = (scan.scan(model, source, lens.ByDepth()) for source in (STORIES, stream()))
    assert all(torch.equal(whole.tensors()[name], found) for name, found in streamed.tensors().items())
