"""Which tales are told? Each module holds some, in the notation of `tslens.stories.generator.tale`."""

from functools import cache

from tslens.stories.generator.tale import Tale, read
from tslens.stories.generator.tales import deeds, friends, home, outdoors, wonders


@cache
def tales() -> tuple[Tale, ...]:
    """Every tale that can be told."""
    return tuple(tale for module in (home, friends, outdoors, deeds, wonders) for tale in read(module.TALES))
