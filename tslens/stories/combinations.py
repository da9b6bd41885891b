"""Combinations of words and of features that instructions ask for, and which of them a hash holds out of training."""

import math
from collections.abc import Iterable
from hashlib import blake2b
from itertools import combinations

from tslens.stories.instruct import Instruction

FEATURES = ("Dialogue", "Twist", "BadEnding", "MoralValue", "Foreshadowing", "Conflict")
"""Features as instructions name them."""
Pair = tuple[str, str]
"""Two words, or two features, in alphabetical order."""


def word_pairs(instruction: Instruction) -> set[Pair]:
    """The pairs of words that are asked for together, in small letters."""
    return _pairs(word.lower() for word in instruction.words)


def feature_pairs(instruction: Instruction) -> set[Pair]:
    """The pairs of features that are asked for together."""
    return _pairs(instruction.features)


def _pairs(items: Iterable[str]) -> set[Pair]:
    return set(combinations(sorted(set(items)), 2))


def held_out_words(pair: Pair, share: float) -> bool:
    """Whether a pair of words is held out: by its hash, so that a share of all pairs is, and it is the same in every
    corpus. A larger share holds out what a smaller one does, and more."""
    return _hash(pair) < share * 2**64


def held_out_features(share: float) -> set[Pair]:
    """The pairs of features that are held out: this share of the 15, rounded up; those of the smallest hashes."""
    pairs = sorted(combinations(sorted(FEATURES), 2), key=_hash)
    return set(pairs[: math.ceil(share * len(pairs))])


def is_held_out(instruction: Instruction, share: float) -> bool:
    """Whether an instruction asks for a pair of words or of features that is held out."""
    words = any(held_out_words(pair, share) for pair in word_pairs(instruction))
    return words or not held_out_features(share).isdisjoint(feature_pairs(instruction))


def _hash(pair: Pair) -> int:
    return int.from_bytes(blake2b("\0".join(pair).encode(), digest_size=8).digest(), "little")
