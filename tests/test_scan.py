"""One pass: how stories become batches, what is refused, and what a person sees meanwhile."""

from collections.abc import Iterator

import pytest
import torch

from tslens import models, scan
from tslens.analysis import lens
from tslens.models import Spec
from tslens.tokenizer import Tokenizer

STORIES = [f"Tom had {'a big ' * n}ball. He saw it roll." for n in range(12)]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(STORIES, size=280)


def of(tokenizer: Tokenizer, **options: int) -> list[scan.Batch]:
    return list(scan.batches(STORIES, tokenizer, **{"context": 64} | options))


def test_every_story_is_in_one_batch_with_its_number_and_its_tokens(tokenizer: Tokenizer) -> None:
    found = of(tokenizer, batch_tokens=100)
    assert len(found) > 1 and sorted(i for batch in found for i in batch.stories.tolist()) == list(range(len(STORIES)))
    for batch in found:
        assert batch.tokens.numel() <= 100 and batch.tokens.shape == batch.mask.shape
        for row, (number, text) in enumerate(zip(batch.stories.tolist(), batch.texts, strict=True)):
            assert text == STORIES[number]
            assert batch.tokens[row][batch.mask[row]].tolist() == tokenizer.encode([text])[0]
        assert (batch.tokens[~batch.mask] == tokenizer.bos).all()


def test_a_batch_holds_one_story_however_long(tokenizer: Tokenizer) -> None:
    assert [len(batch.texts) for batch in of(tokenizer, batch_tokens=1)] == [1] * len(STORIES)


def test_what_is_longer_than_the_context_is_cut_and_counted(tokenizer: Tokenizer) -> None:
    lengths = [len(ids) for ids in tokenizer.encode(STORIES)]
    found = of(tokenizer, context=20)
    assert max(batch.tokens.shape[1] for batch in found) == 20
    assert sum(batch.cut for batch in found) == sum(length > 20 for length in lengths) > 0


def test_parts_number_their_stories_as_the_whole(tokenizer: Tokenizer) -> None:
    (batch,) = scan.batches(STORIES[1::3], tokenizer, context=64, numbers=scan.Numbers(1, 3))
    assert sorted(batch.stories.tolist()) == [1, 4, 7, 10]


def test_no_story_is_refused(tokenizer: Tokenizer) -> None:
    with pytest.raises(ValueError, match=r"^There is no story to scan: the source is empty"):
        list(scan.batches([], tokenizer, context=8))


def test_the_bar_moves_with_the_model_and_not_with_the_reading(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All stories are read ahead in one window, so a bar over the source would be full before the first pass."""
    import rich.progress

    events: list[object] = []
    monkeypatch.setattr(rich.progress.Progress, "advance", lambda self, task, more=1: events.append(more))
    monkeypatch.setattr(rich.progress.Progress, "stop", lambda self: events.append("closed"))
    real = scan.forward.activations

    def watched(*args: object, **options: object) -> object:
        events.append("pass")
        return real(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(scan.forward, "activations", watched)
    model = models.build(Spec(8, 1, 1, d_vocab=tokenizer.size, n_ctx=64), tokenizer=tokenizer)
    scan.scan(model, STORIES, lens.Depth(), batch_tokens=150)
    sizes = [event for event in events if isinstance(event, int)]
    assert len(sizes) > 1 and sum(sizes) == len(STORIES)
    assert events[: 2 * len(sizes)] == [step for size in sizes for step in ("pass", size)]
    assert events[2 * len(sizes)] == "closed"


def test_a_stream_of_unknown_length_is_scanned_too(tokenizer: Tokenizer) -> None:
    def stream() -> Iterator[str]:
        yield from STORIES

    model = models.build(Spec(8, 1, 1, d_vocab=tokenizer.size, n_ctx=64), tokenizer=tokenizer)
    whole, streamed = (scan.scan(model, source, lens.Depth()) for source in (STORIES, stream()))
    assert all(torch.equal(whole.tensors()[name], found) for name, found in streamed.tensors().items())
