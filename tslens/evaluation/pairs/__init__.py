"""Minimal pairs of whole texts: how often a model finds the good one more probable than the bad one."""

from tslens.evaluation.pairs.other_data import five_gram_of
from tslens.evaluation.pairs.reading import PairSet, known, own_pairs, read_pairs
from tslens.evaluation.pairs.result import LOCAL, PairsResult
from tslens.evaluation.pairs.scoring import NGram, score

__all__ = ["LOCAL", "NGram", "PairSet", "PairsResult", "five_gram_of", "known", "own_pairs", "read_pairs", "score"]
