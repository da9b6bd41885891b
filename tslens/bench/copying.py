"""Speed of looking for copies: all pairs by ROUGE, and the n-gram index of a corpus."""

import dataclasses
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np

from tslens import ngrams
from tslens.bench.measure import Benchmark, Measured, Target, median, take_turns
from tslens.bench.size import Size, corpus
from tslens.evaluation.copies.nearest import closest
from tslens.evaluation.copies.neighbours import Neighbours, neighbours
from tslens.evaluation.rouge import nearest

PEER_PAIRS = 400  # pairs that `rouge-score` does in a turn; all pairs take it minutes
ASKED = 100  # texts that are looked up
WHOLE = 2_000_000  # stories of a whole corpus
REPEATED = 20  # the index holds each made story so often, altered anew: making 200,000 takes longer than indexing them


def _pairs(size: Size) -> Measured:
    """Seconds per pair: of ours over all pairs, of the peer over some of them."""
    from rouge_score.rouge_scorer import RougeScorer

    stories, peer = corpus(size.compared), RougeScorer(["rouge2"])
    chosen = np.random.default_rng(0).integers(0, size.compared, (PEER_PAIRS, 2)).tolist()

    def theirs() -> None:
        for a, b in chosen:
            peer.score(stories[a], stories[b])

    times = take_turns(lambda: nearest(stories), theirs, repeats=size.repeats)
    times /= [size.compared * (size.compared - 1) / 2, PEER_PAIRS]
    ratio = median(times[:, 1] / times[:, 0])
    speeds = [f"{1 / np.median(spent):,.0f} pairs/s" for spent in times.T]
    return Measured(float(ratio.estimate), float(ratio.low), float(ratio.high), size.repeats, *speeds)


def texts(size: Size) -> Iterator[str]:
    """`REPEATED` times as many stories as are made: each as it is, then `altered`."""
    for again in range(REPEATED):
        for number, story in enumerate(corpus(size.made)):
            yield story if again == 0 else altered(story, again * 1_000_003 + number)


def altered(story: str, seed: int) -> str:
    """The story with one word in ten replaced by another of its words."""
    rng, split = np.random.default_rng(seed), story.split(" ")
    places = rng.integers(0, len(split), (2, max(1, len(split) // 10)))
    for a, b in places.T.tolist():
        split[a] = split[b]
    return " ".join(split)


@contextmanager
def _built(size: Size) -> Iterator[tuple[Neighbours, float, int]]:
    """An index with the posting lists beside it, the seconds that both took without making the stories, and the bytes
    of these."""
    stories = list(texts(size))
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        near = neighbours(ngrams.build(stories, Path(folder) / "index", source="made stories"))
        yield near, time.perf_counter() - began, sum(len(story.encode()) for story in stories)


@cache
def _measured(size: Size) -> tuple[float, float, float, int, dict[str, np.ndarray]]:
    """Seconds of building, bytes on disk and of the text, stories, and milliseconds of each query by its kind."""
    asked = [altered(story, -seed % 2**32) for seed, story in enumerate(corpus(size.made)[:ASKED], 1)]
    with _built(size) as (near, seconds, n_bytes):
        index = near.index
        queries: dict[str, Callable[[str], object]] = {
            "longest copy": index.longest_copy,
            "new n-grams": index.new_shares,
            "nearest": lambda text: closest([text], near),
        }
        spent = {}
        for name, query in queries.items():
            query(asked[0])
            times = []
            for text in asked:
                began = time.perf_counter()
                query(text)
                times.append((time.perf_counter() - began) * 1e3)
            spent[name] = np.array(times)
        return seconds, index.n_bytes + near.n_bytes, n_bytes, index.n_stories, spent


def _build(size: Size) -> Measured:
    seconds, _, n_bytes, stories, _ = _measured(size)
    whole = f"{seconds / stories * WHOLE / 60:,.0f} min for two million"
    return Measured.exactly(seconds, f"{n_bytes / seconds / 1e6:.1f} MB of text/s", whole)


def _bytes(size: Size) -> Measured:
    _, of_index, n_bytes, stories, _ = _measured(size)
    whole = f"{of_index / stories * WHOLE / 1e9:.1f} GB for two million"
    return Measured.exactly(of_index / n_bytes, f"{of_index / stories:,.0f} bytes a story", whole)


def _query(size: Size, name: str) -> Measured:
    found = median(_measured(size)[4][name])
    return Measured(float(found.estimate), float(found.low), float(found.high), ASKED)


def _nearest(size: Size) -> Measured:
    """A query reads lists that grow with the stories."""
    found, stories = _query(size, "nearest"), _measured(size)[3]
    whole = f"{found.value / stories * WHOLE:,.0f} ms for two million"
    return dataclasses.replace(found, ours=f"{stories / found.value:,.0f} stories/ms", theirs=whole)


BENCHMARKS = (
    Benchmark(
        "copies-pairs", "ROUGE-2 of all pairs among 1,000 stories, pairs a second", "rouge-score", Target(200), _pairs
    ),
    Benchmark(
        "copies-build",
        "n-gram index of 200,000 stories and its posting lists, one core",
        "seconds",
        None,
        _build,
        " s",
    ),
    Benchmark("copies-bytes", "bytes of both, the stories included", "bytes of the text", None, _bytes),
    Benchmark(
        "copies-nearest",
        "the nearest story to a text, of all, by ROUGE-2 and by rare words, median",
        "milliseconds",
        None,
        _nearest,
        " ms",
    ),
    Benchmark(
        "copies-longest",
        "the longest span of a story that the index has, median",
        "milliseconds",
        None,
        lambda size: _query(size, "longest copy"),
        " ms",
    ),
    Benchmark(
        "copies-new",
        "the share of a story's new n-grams, n = 1 to 10, median",
        "milliseconds",
        None,
        lambda size: _query(size, "new n-grams"),
        " ms",
    ),
)
