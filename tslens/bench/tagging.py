"""Accuracy and speed of the part-of-speech tagger, against the tagger whose model it uses."""

from functools import cache

from tslens import pos
from tslens.bench.measure import Benchmark, Measured, Target, faster, take_turns
from tslens.bench.size import Size, corpus
from tslens.pos.trigrams import trigrams
from tslens.pos.words import Unit, split
from tslens.stories.generator import generate


def _right(size: Size) -> Measured:
    found = pos.accuracy(generate(size.compared))
    return Measured(float(found.estimate), float(found.low), float(found.high), size.compared)


@cache
def _sentences(size: Size) -> list[list[Unit]]:
    """The sentences of generated stories, split into the model's units."""
    return [sentence for text in corpus(size.tagged) for sentence in split(text)[1] if sentence]


def _theirs(sentences: list[list[Unit]]) -> list[list[str]]:
    """HanTa's own search, sentence by sentence."""
    return [trigrams().tagger.tag_sent([unit.text for unit in sentence], taglevel=0) for sentence in sentences]


def _speed(size: Size) -> Measured:
    """Speed of both. After the unmeasured turn we have cached every word, HanTa only the words of its list."""
    sentences = _sentences(size)
    ours, theirs = take_turns(lambda: trigrams().tags(sentences), lambda: _theirs(sentences), repeats=size.repeats).T
    return faster(ours, theirs, units=sum(map(len, sentences)), unit="words")


def _same(size: Size) -> Measured:
    sentences = _sentences(size)
    pairs = zip(trigrams().tags(sentences), _theirs(sentences), strict=True)
    same = [a == b for ours, theirs in pairs for a, b in zip(ours, theirs, strict=True)]
    return Measured.exactly(sum(same) / len(same), f"{len(same) - sum(same):,} of {len(same):,} differ")


BENCHMARKS = (
    Benchmark(
        "tagging", "words of 1,000 made stories with their true part of speech", "a share", Target(0.95), _right, ""
    ),
    Benchmark("tagging-speed", "the best tags of the words of made stories", "HanTa's own search", None, _speed),
    Benchmark("tagging-same", "words with the same tag", "HanTa's own search", None, _same, ""),
)
