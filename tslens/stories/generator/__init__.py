"""Generator of stories: a story grammar, with the ground truth of every story.

A tale (`tales/`) is a sequence of beats, each with several templates; `template` describes and tags them, `render`
turns them into text, `story` composes a story around a tale, and `lexicon` holds the words. `request` makes
stories that hold given words and features, by `steering` the choices of the others.
"""

from collections.abc import Iterator
from random import Random

from tslens.errors import InputError
from tslens.stories.generator.render import Character
from tslens.stories.generator.request import StoryRequest, requested
from tslens.stories.generator.story import FEATURES, MadeStory, make

__all__ = ["FEATURES", "Character", "MadeStory", "StoryRequest", "generate", "requested"]


def generate(n: int, seed: int = 0) -> Iterator[MadeStory]:
    """The first `n` stories of `seed`. Story i depends on (seed, i) alone; InputError for a negative number.

    The features are those that Eldan & Li (2023, arXiv 2305.07759) asked their stories for.
    """
    if n < 0:
        raise InputError(f"{n} stories were asked for; give 0 or more")
    return (make(Random(f"{seed}:{i}")) for i in range(n))
