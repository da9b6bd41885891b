"""One training run: its recipe, its data, its folder."""

import dataclasses
import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from tslens import files, runs
from tslens.errors import InputError
from tslens.tokenizer import Tokenizer
from tslens.train import ground
from tslens.train.data import Batches
from tslens.train.recipe import Recipe, from_dict


@dataclasses.dataclass
class Run:
    """One training run: its recipe, its data and its folder."""

    recipe: Recipe
    folder: Path
    rows: Batches
    validation: list[str]
    tokenizer: Tokenizer
    facts: dict[str, Any]
    """Further entries of `config.json`, besides the recipe: origin of the data, counts."""

    @property
    def steps(self) -> int:
        """Total number of steps."""
        t = self.recipe.train
        return t.steps if t.steps is not None else max(1, round(t.epochs * self.rows.steps_per_epoch))

    @cached_property
    def tokenizer_sha256(self) -> str:
        """The SHA-256 of the run's `tokenizer.json`."""
        return files.sha256(self.folder / runs.TOKENIZER)

    def config(self, step: int, tokens: int, measured: Mapping[str, float]) -> dict[str, Any]:
        """The `config.json` of the model after `step` steps over `tokens` tokens, with its last validation."""
        return {
            "name": self.folder.name,
            **self.recipe.shape(self.tokenizer.size).to_config(),
            "tokenizer": self.tokenizer.hash,
            "tokenizer_sha256": self.tokenizer_sha256,
            "recipe": self.recipe.to_dict(),
            "data": self.facts,
            "step": step,
            "steps": self.steps,
            "tokens": tokens,
            **measured,
        }

    def refuse_gone(self) -> None:
        """InputError if the run's folder was removed or moved since it began: nothing is written in its place."""
        ground.refuse_gone(self.folder)

    def check_same(self, config: Mapping[str, Any]) -> None:
        """InputError if recipe, data or tokenizer in a checkpoint's `config.json` differ from this run's."""
        recipe = from_dict(config["recipe"], origin=f"a checkpoint of {self.folder}").to_dict()
        data = {key: value for key, value in self.facts.items() if key in config["data"]}
        for what, found, recorded in (
            ("recipe", self.recipe.to_dict(), recipe),
            ("data", data, config["data"]),
            ("tokenizer", self.tokenizer.hash, config["tokenizer"]),
        ):
            if differing := differences(found, recorded):
                raise InputError(
                    f"{self.folder} was trained with another {what} until its last checkpoint: {differing}. "
                    "Restore that one, or train again under another --name."
                )


CHANGEABLE = tuple(
    f"train.{name}" for name in ("on_divergence", "divergence_threshold", "rollback_lr_factor", "max_rollbacks")
)
"""Settings that may change when a run is resumed: those for a diverging loss."""
NOT_COMPARED = ("name", "train.log", *CHANGEABLE)
"""Settings in which the recipe of a resumed run may differ."""


def differences(now: Any, before: Any, now_is: str = "now", before_was: str = "then") -> str:
    """The first three differences between two trees of plain data, in words; empty if they are equal."""
    # As JSON gives them: a tuple that was written comes back as a list.
    a, b = (dict(_leaves(json.loads(json.dumps(tree)))) for tree in (now, before))
    found = [
        f"{key or 'it'} is {json.dumps(a.get(key))} {now_is} and {json.dumps(b.get(key))} {before_was}"
        for key in [*a, *(key for key in b if key not in a)]
        if a.get(key) != b.get(key) and key not in NOT_COMPARED
    ]
    return "; ".join(found[:3]) + (f"; and {len(found) - 3} more" if len(found) > 3 else "")


def _leaves(tree: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _leaves(value, f"{prefix}.{key}" if prefix else key)
    else:
        yield prefix, tree
