"""One training run: what was chosen, what it is trained on, and where it is kept."""

import dataclasses
from pathlib import Path
from typing import Any

from tslens.evaluation.loss import Loss
from tslens.tokenizer import Tokenizer
from tslens.train.data import Rows
from tslens.train.recipe import Recipe


@dataclasses.dataclass
class Run:
    """One training run: its recipe, its data and its folder."""

    recipe: Recipe
    folder: Path
    rows: Rows
    validation: list[str]
    tokenizer: Tokenizer
    facts: dict[str, Any]
    """What is written into `config.json` beside the recipe: where the data came from, counts."""

    @property
    def steps(self) -> int:
        """Steps in all."""
        t = self.recipe.train
        return t.steps if t.steps is not None else max(1, round(t.epochs * self.rows.steps_per_epoch))

    def config(self, step: int, tokens: int, last: Loss | None) -> dict[str, Any]:
        """What `config.json` says of the model after `step` steps over `tokens` tokens, with its last validation."""
        measured = {} if last is None else {"validation_loss": last.nats_per_token, "bits_per_byte": last.bits_per_byte}
        return {
            "name": self.folder.name,
            "spec": self.recipe.spec(self.tokenizer.size).to_dict(),
            "tokenizer": self.tokenizer.hash,
            "recipe": self.recipe.to_dict(),
            "data": self.facts,
            "step": step,
            "steps": self.steps,
            "tokens": tokens,
            **measured,
        }
