"""Where do stories come from when none are at hand? A story grammar of our own, with the truth about every story.

A tale (`tales/`) is a sequence of beats with many ways to tell each; `template` says how they are written and tagged, `grammar`
renders them, `story` puts a story together around them, `lexicon` holds the words.
"""
# ruff: noqa: E501

from collections.abc import Iterator
from random import Random

from tslens.errors import InputError
from tslens.stories.generator.grammar import Character
from tslens.stories.generator.story import FEATURES, MadeStory, make

__all__ = ["FEATURES", "Character", "MadeStory", "generate"]


def generate(n: int, seed: int = 0) -> Iterator[MadeStory]:
    """The first `n` stories of `seed`. Story i depends on (seed, i) alone; ValueError for a negative number.

    The features are those that Eldan & Li (2023, arXiv 2305.07759) asked their stories for.
    """
    if n < 0:
        raise InputError(f"{n} stories were asked for; give 0 or more")
    return (make(Random(f"{seed}:{i}")) for i in range(n))
