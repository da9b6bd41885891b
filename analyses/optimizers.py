"""Which optimizer and schedule should a recipe choose, and how many tokens do they save over AdamW as nanoGPT sets it?

A 128x4 model learns the same tokens by AdamW with nanoGPT's settings, AdamW tuned and Muon tuned (one learning rate
each, by validation loss under the cosine, on a seed that is not counted again), under three schedules, over seeds. Then
the best is trained on fewer and fewer tokens, its schedule ending with them, until it no longer reaches the loss that
nanoGPT's settings reach after all of them. `python analyses/optimizers.py --stories FILE` goes on where it was stopped.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tslens import checkpoints
from tslens.plots import lines, save
from tslens.stats import Interval, mean_interval
from tslens.stories import stories
from tslens.tokenizer import Tokenizer

FIGURES = Path(__file__).resolve().parents[1] / "figures" / "optimizers"
CONTEXT, VOCABULARY = 256, 2048
GRIDS = {"adamw": (2e-3, 4e-3, 8e-3), "muon": (1e-2, 2e-2, 4e-2)}  # widened by twos while an end is best
SCHEDULES = ("cosine", "wsd", "constant")
SHARES = (0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
TUNING_SEED = 99

parser = argparse.ArgumentParser()
parser.add_argument("--stories", default="made")
parser.add_argument("--out", type=Path, default=Path("runs/optimizers"), help="where the runs are kept")
parser.add_argument("--shape", default="128x4")
parser.add_argument("--tokens", type=int, default=2_000_000, help="of a run")
parser.add_argument("--batch", type=int, default=8, help=f"rows of {CONTEXT} tokens")
parser.add_argument("--seeds", type=int, default=3)
parser.add_argument("--jobs", type=int, default=1, help="runs at a time, a thread each")
parser.add_argument("--figures", type=Path, default=FIGURES)
asked = parser.parse_args()


class Choice(NamedTuple):
    """What one run is trained with."""

    method: str
    lr: float
    schedule: str
    final: float = 0.05
    share: float = 1.0

    @property
    def label(self) -> str:
        return (
            "AdamW as nanoGPT"
            if self == NANOGPT
            else f"{'AdamW' if self.method == 'adamw' else 'Muon'} {self.schedule}"
        )

    def run(self, seed: int) -> str:
        tokens = round(self.share * asked.tokens / 1000)
        return f"{self.method}-{self.schedule}-{self.lr:g}-{self.final:g}-{tokens}k-b{asked.batch}-s{seed}"


NANOGPT = Choice("adamw", 6e-4, "cosine", final=0.1)


def trained(wanted: Iterable[tuple[Choice, int]]) -> None:
    """See that these runs are there, each trained by a process of its own unless it is finished."""
    with ThreadPoolExecutor(asked.jobs) as pool:
        list(pool.map(lambda pair: _train(*pair), dict.fromkeys(wanted)))


def _train(choice: Choice, seed: int) -> None:
    name = choice.run(seed)
    if (asked.out / name / checkpoints.CONFIG).is_file():
        return
    steps = round(choice.share * asked.tokens / (asked.batch * CONTEXT))
    chosen = {
        "data.tokenizer": asked.out / "tokenizer.json",
        "model.n_ctx": CONTEXT,
        "optimizer.method": choice.method,
        "optimizer.lr": choice.lr,
        "optimizer.schedule": choice.schedule,
        "optimizer.final": choice.final,
        "train.batch": asked.batch,
        "train.steps": steps,
        "train.validate_every": max(1, steps // 10),
        "train.checkpoint_every": max(1, steps // 3),
        "train.keep": 1,
        "seed": seed,
    }
    options = [text for key, value in chosen.items() for text in ("--set", f"{key}={value}")]
    new = ["train", asked.shape, "--data", asked.stories, "--name", name, *options]
    command = ["train", "--resume", name] if (asked.out / name / "recipe.json").is_file() else new
    print("tslens", *command, flush=True)
    settled = {"TSLENS_RUNS": str(asked.out), "OMP_NUM_THREADS": "1"}
    with (asked.out / f"{name}.log").open("w") as log:
        subprocess.run(
            [sys.executable, "-m", "tslens", *command], env=os.environ | settled, stderr=log, stdout=log, check=True
        )
    print(f"{name}: {ending(choice, seed):.4f}", flush=True)


def curve(choice: Choice, seed: int) -> pd.DataFrame:
    """The validation loss over tokens of a finished run."""
    return pd.DataFrame(checkpoints.read_metrics(asked.out / choice.run(seed)))[["tokens", "validation_loss"]]


def ending(choice: Choice, seed: int) -> float:
    return float(curve(choice, seed)["validation_loss"].iloc[-1])


def endings(choice: Choice) -> np.ndarray:
    return np.array([ending(choice, seed) for seed in seeds])


def tuned(method: str) -> float:
    """The learning rate of the lowest validation loss, with a worse one on either side."""
    rates = sorted(GRIDS[method])
    while True:
        trained((Choice(method, rate, "cosine"), TUNING_SEED) for rate in rates)
        losses = [ending(Choice(method, rate, "cosine"), TUNING_SEED) for rate in rates]
        best = int(np.argmin(losses))
        if 0 < best < len(rates) - 1:
            print(
                f"{method}: learning rate {rates[best]:g} of",
                {f"{r:g}": round(v, 4) for r, v in zip(rates, losses, strict=True)},
            )
            return rates[best]
        rates = [rates[0] / 2, *rates] if best == 0 else [*rates, rates[-1] * 2]


def trained_shares(best: Choice) -> list[float]:
    """The shares of the tokens at which `best` was trained with every seed."""
    names = {share: [best._replace(share=share).run(seed) for seed in seeds] for share in (*SHARES, 0.8, 1.0)}
    whole = [s for s, runs in names.items() if all((asked.out / run / checkpoints.CONFIG).is_file() for run in runs)]
    return sorted(whole)


def reaches(best: Choice, target: np.ndarray) -> list[float]:
    """The share of the tokens after which `best`, ending there, has each seed's target loss: on straight lines
    between the shares that were trained."""
    shares = trained_shares(best)
    losses = np.array([endings(best._replace(share=share)) for share in shares])
    return [float(np.interp(-t, -losses[:, i], shares, right=np.inf)) for i, t in enumerate(target)]


def shown(values: list[float]) -> str:
    found = np.array(values)
    if not np.isfinite(found).all():
        return f"not reached by {np.isinf(found).sum()} of {len(found)} seeds"
    least = "at most " if (found <= min(SHARES)).all() else ""  # shorter runs were not trained
    return least + (str(mean_interval(found)) if len(found) > 1 else f"{found[0]:.3g} (one seed)")


seeds = range(asked.seeds)
asked.out.mkdir(parents=True, exist_ok=True)
if not (asked.out / "tokenizer.json").is_file():
    Tokenizer.train(stories(asked.stories, split="train"), VOCABULARY).save(asked.out / "tokenizer.json")

rates = {method: tuned(method) for method in GRIDS}
compared = [NANOGPT, *(Choice(method, rates[method], schedule) for method in GRIDS for schedule in SCHEDULES)]
trained((choice, seed) for seed in seeds for choice in compared)
best = min(compared, key=lambda choice: endings(choice).mean())
target = endings(NANOGPT)
for share in SHARES:
    shorter = best._replace(share=share)
    trained((shorter, seed) for seed in seeds)
    if (endings(shorter) > target).all():
        break
if (endings(best._replace(share=SHARES[0])) > target).any():
    trained((best._replace(share=0.8), seed) for seed in seeds)

rows = []
for choice in compared:
    ends = endings(choice)
    interval = mean_interval(ends) if len(ends) > 1 else Interval(ends[0], ends[0], ends[0], 0.95, "one seed")
    rows.append(
        {
            "choice": choice.label,
            "learning rate": choice.lr,
            "nats per token": interval.estimate,
            "low": interval.low,
            "high": interval.high,
        }
    )
frame = pd.DataFrame(rows)
print(frame.to_string(index=False))
by_adamw = min((c for c in compared if c.method == "adamw"), key=lambda c: endings(c).mean())
answer: dict[str, Any] = {
    "best": best.label,
    "tokens": asked.tokens,
    "share of nanoGPT's tokens": shown(reaches(best, target)),
    f"share of the tokens of {by_adamw.label}, tuned": shown(reaches(best, endings(by_adamw))),
}
print(json.dumps(answer, indent=1))

first = {
    choice.label: np.mean([curve(choice, seed)["validation_loss"] for seed in seeds], axis=0) for choice in compared
}
at = curve(NANOGPT, 0)["tokens"].to_numpy() / 1e6
table = pd.DataFrame({"million tokens": at} | first)
title = f"{asked.shape}, validation, mean of {asked.seeds} seeds"
drawn = {name: values[1:] for name, values in first.items()}
save(
    lines(drawn, at[1:], title=title, x_label="million tokens", y_label="nats per token"),
    asked.figures / "curves.svg",
    table,
)
shares = trained_shares(best)
fewer = {
    best.label: np.array([endings(best._replace(share=share)).mean() for share in shares]),
    NANOGPT.label + ", all tokens": np.full(len(shares), target.mean()),
    by_adamw.label + ", all tokens": np.full(len(shares), endings(by_adamw).mean()),
}
millions = np.array(shares) * asked.tokens / 1e6
title = "Final validation loss of ever shorter runs"
figure = lines(fewer, millions, title=title, x_label="million tokens", y_label="nats per token")
save(figure, asked.figures / "shorter.svg", pd.DataFrame({"million tokens": millions} | fewer))
checkpoints.write_json(asked.figures / "answer.json", answer | {"endings": rows})
