"""Which models the studies look at, and on which stories; every study takes the same two options.

`--stories SOURCE` (default: the embedded generator's validation stories, there without a download) and
`--model NAME=WHAT_LOAD_TAKES` for further models beside the bundled one. A study may take options of its own.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tslens import load
from tslens.stories import Stories, stories

if TYPE_CHECKING:
    from tslens.models import LanguageModel

TRAINING = 1000  # stories
FIGURES = Path(__file__).resolve().parents[1] / "figures"


@dataclass(frozen=True)
class Study:
    """What a study was asked to look at."""

    models: "dict[str, LanguageModel]"
    stories: Stories
    training: Stories
    """The training split of the same source, for what a study has to fit."""
    folder: Path
    options: argparse.Namespace
    """All options, as they were given."""


def study(name: str, limit: int = 300, **more: Path | None) -> Study:
    """The models, the stories and the folder `figures/<name>` of a study; `more` are its own options, paths."""
    parser = argparse.ArgumentParser(description=f"Redraw figures/{name}.")
    parser.add_argument("--stories", default="made")
    parser.add_argument("--model", action="append", default=[], metavar="NAME=WHAT")
    for option, default in more.items():
        parser.add_argument(f"--{option}", type=Path, default=default)
    asked = parser.parse_args()
    named = {"stories2M": "stories2M"} | dict(pair.split("=", 1) for pair in asked.model)
    held_out = stories(asked.stories, split="validation", limit=limit)
    training = stories(asked.stories, split="train", limit=TRAINING)
    folder = FIGURES / name
    folder.mkdir(parents=True, exist_ok=True)
    return Study({name: load(what) for name, what in named.items()}, held_out, training, folder, asked)
