"""Training objectives, each in a file of its own."""

import importlib

from tslens.errors import InputError
from tslens.nearest import did_you_mean
from tslens.train.objectives.base import Objective

__all__ = ["OBJECTIVES", "Objective", "name_of", "named"]

OBJECTIVES = {
    "language-modelling": "tslens.train.objectives.language:LanguageModelling",
    "contrastive": "tslens.train.objectives.contrastive:Contrastive",
    "published-contrastive": "tslens.train.objectives.contrastive:PublishedContrastive",
    "instruct": "tslens.train.objectives.instruct:Instruct",
    "compressor": "tslens.train.objectives.compressor:CompressorObjective",
}
"""The class of each objective, by its name in recipes."""


def named(name: str) -> type[Objective]:
    """The objective of this name in recipes; a space counts as a hyphen, as in older recipes.

    InputError names the nearest one.
    """
    name = name.replace(" ", "-")
    if name not in OBJECTIVES:
        near = did_you_mean(name, list(OBJECTIVES))
        raise InputError(f"objective is {name!r}.{near} Known: {', '.join(OBJECTIVES)}.")
    module, _, cls = OBJECTIVES[name].partition(":")
    found: type[Objective] = getattr(importlib.import_module(module), cls)
    assert issubclass(found, Objective)
    return found


def name_of(objective: Objective) -> str:
    """The name of this objective in recipes."""
    cls = type(objective)
    return next(name for name, place in OBJECTIVES.items() if place == f"{cls.__module__}:{cls.__qualname__}")
