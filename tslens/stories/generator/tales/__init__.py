"""Tales that stories are made of: text files in the notation of `tslens.stories.generator.tale`."""

from functools import cache
from importlib.resources import files

from tslens.stories.generator.tale import Tale, read

NAMES = ("home", "friends", "outdoors", "deeds", "wonders")
"""The files, in the order in which a story's random numbers choose among their tales."""


@cache
def tales() -> tuple[Tale, ...]:
    """Every tale, in the order of the files."""
    here = files(__name__)
    return tuple(tale for name in NAMES for tale in read((here / f"{name}.txt").read_text(encoding="utf-8")))
