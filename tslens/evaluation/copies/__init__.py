"""Copies: how much of what a model writes is taken from its training stories, and how much repeats."""

from tslens.evaluation.copies.cutting import Cut, cut_stories, endings_under, read_written, write_endings
from tslens.evaluation.copies.measuring import copies
from tslens.evaluation.copies.result import CopiesResult
from tslens.evaluation.copies.tracing import Corpora, Trace, corpora, trace

__all__ = [
    "CopiesResult",
    "Corpora",
    "Cut",
    "Trace",
    "copies",
    "corpora",
    "cut_stories",
    "endings_under",
    "read_written",
    "trace",
    "write_endings",
]
