"""Training runs of a study: each in its own process with one thread; resumable."""

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tslens import files, runs
from tslens.stats import Interval, mean_interval
from tslens.stories import stories
from tslens.tokenizer import Tokenizer
from tslens.train import recipe as recipes
from tslens.train.run import differences as settings_that_differ

FIGURES = Path(__file__).resolve().parents[1] / "figures"
CONTEXT, VOCABULARY = 256, 2048  # of every study, so that their losses can be compared
BATCH = 9  # rows; a multiple of three, as contrastive training needs


def options(study: str, tokens: int) -> argparse.ArgumentParser:
    """The options that all studies of training take; `tokens` is the default for a run."""
    parser = argparse.ArgumentParser(description=f"Train what figures/{study} compares, and draw it.")
    parser.add_argument("--stories", default="made", help="what they are trained on")
    parser.add_argument("--tokens", type=int, default=tokens, help="of a run")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time, a thread each")
    parser.add_argument("--out", type=Path, default=Path("runs/studies"), help="where the runs are kept")
    parser.add_argument("--figures", type=Path, default=FIGURES / study)
    return parser


@dataclass(frozen=True)
class StudyRuns:
    """The runs of a folder, all on the same stories by the same tokenizer."""

    stories: str
    folder: Path
    jobs: int = 1
    vocabulary: int = VOCABULARY

    @property
    def tokenizer(self) -> Path:
        """The file of the tokenizer that all runs share, trained when first asked for."""
        file = self.folder / f"tokenizer-{self.vocabulary}.json"
        if not file.is_file():
            self.folder.mkdir(parents=True, exist_ok=True)
            Tokenizer.train(stories(self.stories, split="train"), self.vocabulary).save(file)
        return file

    def train(self, wanted: Mapping[str, tuple[str, Mapping[str, Any]]]) -> None:
        """See that these runs are there: a name, its recipe and what is changed, as `tslens train --set` takes it."""
        shared: dict[str, Any] = {
            "data.tokenizer": self.tokenizer.resolve(),
            "model.n_ctx": CONTEXT,
            "train.keep_checkpoints": 1,
        }
        with ThreadPoolExecutor(self.jobs) as pool:
            todo = [
                pool.submit(self._train, name, recipe, {**shared, **changes})
                for name, (recipe, changes) in wanted.items()
            ]
            for job in todo:
                job.result()

    def _train(self, name: str, recipe: str, chosen: Mapping[str, Any]) -> None:
        self._refuse_other(name, recipe, chosen)
        if self.is_finished(name):
            return
        settings = [text for key, value in chosen.items() for text in ("--set", f"{key}={value}")]
        new = [recipe, "--data", self.stories, "--name", name, *settings]
        command = ["train", *(["--resume", name] if (self.folder / name / "recipe.json").is_file() else new)]
        print("tslens", *command, flush=True)
        settled = {"TSLENS_RUNS": str(self.folder), "OMP_NUM_THREADS": "1"}
        log_file = self.folder / f"{name}.log"
        with log_file.open("w", encoding="utf-8") as log:
            ran = subprocess.run(
                [sys.executable, "-m", "tslens", *command], env=os.environ | settled, stderr=log, stdout=log
            )
        if ran.returncode:
            raise SystemExit(
                f"{name} could not be trained: {log_file.read_text(encoding='utf-8').strip().splitlines()[-1]}"
            )
        print(f"{name}: {self.ending(name):.4f} nats per token", flush=True)

    def _refuse_other(self, name: str, recipe: str, chosen: Mapping[str, Any]) -> None:
        """Leave where a run of this name was trained by another recipe or on other stories."""
        if not (file := self.folder / name / "recipe.json").is_file():
            return
        wanted = recipes.load(recipe, {key: str(value) for key, value in chosen.items()})
        wanted = replace(wanted, data=replace(wanted.data, source=self.stories))
        if found := settings_that_differ(wanted.to_dict(), files.read_json(file), "now", "in the run"):
            raise SystemExit(f"{self.folder / name} is another run: {found}. Remove it, or give another --out.")

    def is_finished(self, name: str) -> bool:
        return (self.folder / name / runs.CONFIG).is_file()

    def curve(self, name: str) -> pd.DataFrame:
        """The metrics of a finished run, a row for every validation."""
        return pd.DataFrame(runs.read_metrics(self.folder / name))

    def ending(self, name: str, what: str = "validation_loss") -> float:
        """The last value of a metric."""
        return float(self.curve(name)[what].iloc[-1])


def steps_for(tokens: float, batch: int, context: int = CONTEXT, looks: int = 5) -> dict[str, int]:
    """The settings with which a recipe sees so many tokens: its batch, its steps, and when it validates."""
    steps = max(1, round(tokens / (batch * context)))
    return {
        "train.batch": batch,
        "train.steps": steps,
        "train.validate_every": max(1, steps // looks),
        "train.checkpoint_every": max(1, steps // 3),
    }


Plan = tuple[str, tuple[str, dict[str, Any]]]


def planned(shape: str, tokens: int, seed: int, what: str = "", changes: Mapping[str, Any] | None = None) -> Plan:
    """The name of a run and what it is: a shape on so many tokens (0: one epoch) by Muon, and what is changed, by the
    recipe's keys (`objective.name`); `what` names the changes. Without any, all studies share it."""
    length = steps_for(tokens, BATCH) if tokens else {"train.batch": BATCH, "train.epochs": 1.0}
    name = "-".join([shape, f"{tokens // 1000}k" if tokens else "epoch", *([what] if what else []), f"s{seed}"])
    usual = {
        "optimizer.method": "muon",
        "optimizer.lr": 1e-2,
        "optimizer.schedule": "cosine",  # under which rates are tuned
        "optimizer.tuned_width": 128,
        "train.validation_stories": 400,
        "train.micro_batch": BATCH,
        "seed": seed,
    }
    return name, (shape, {**usual, **length, **(changes or {})})


def over_seeds(values: np.ndarray) -> Interval:
    """The mean over seeds with its interval; one seed has none."""
    return mean_interval(values) if len(values) > 1 else Interval(values[0], values[0], values[0], 0.95, "one seed")


def differences(losses: Mapping[str, np.ndarray], to: str) -> pd.DataFrame:
    """For each of what is compared its mean over seeds, and how much more it is than `to`, seed by seed."""
    rows = []
    for what, values in losses.items():
        mean, more = over_seeds(values), over_seeds(values - losses[to])
        rows.append({"what": what, "nats per token": mean.estimate, "low": mean.low, "high": mean.high})
        rows[-1] |= {"more": more.estimate, "more, low": more.low, "more, high": more.high}
    return pd.DataFrame(rows)
