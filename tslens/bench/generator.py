"""Speed and variety of generated stories."""

import numpy as np

from tslens.bench.measure import Benchmark, Measured, Target, clocked, median
from tslens.bench.size import Size, corpus
from tslens.evaluation.rouge import nearest
from tslens.stories.generator import generate


def _seconds(size: Size) -> Measured:
    def work() -> None:
        for _ in generate(size.made):
            pass

    return clocked(work, repeats=min(3, size.repeats))


def _duplicates(size: Size) -> Measured:
    stories = corpus(size.made)
    return Measured.exactly(len(stories) - len(set(stories)))


def _nearest(size: Size) -> Measured:
    stories = corpus(size.compared + 1)
    found = median(np.asarray(nearest(stories)))
    return Measured(float(found.estimate), float(found.low), float(found.high), len(stories))


def _words(size: Size) -> Measured:
    from tslens.pos.words import split

    words = {text[a:b].lower() for text in corpus(size.made) for a, b in split(text)[0] if text[a:b].isalpha()}
    return Measured.exactly(len(words))


BENCHMARKS = (
    Benchmark("made-seconds", "10,000 made stories, one core", "seconds", Target(10, at_most=True), _seconds, " s"),
    Benchmark(
        "made-duplicates", "exact duplicates in 10,000 made stories", "a count", Target(0, True), _duplicates, ""
    ),
    Benchmark(
        "made-nearest",
        "ROUGE-2 F of a made story to the nearest of 1,000 others, median",
        "real TinyStories have 0.18",
        Target(0.35, True),
        _nearest,
        "",
    ),
    Benchmark(
        "made-words", "different words in 10,000 made stories, lower case", "about 1,500 are meant", None, _words, ""
    ),
)
