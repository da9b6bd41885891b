"""Muon with a rate that stays and then falls (wsd) learns best: it reaches in 0.155 of the tokens (0.150 to 0.160 over
three seeds) the loss that AdamW as nanoGPT sets it has after a million, and in 0.46 (0.42 to 0.51) that of tuned AdamW.

Which optimizer and schedule should a recipe choose, and how many tokens do they save over AdamW as nanoGPT sets it? A
128x4 model learns the same tokens by AdamW with nanoGPT's settings, AdamW tuned and Muon tuned (one learning rate
each, by validation loss under the cosine, on a seed that is not counted again), under three schedules, over seeds. Then
the best is trained on fewer and fewer tokens, its schedule ending with them, until it no longer reaches the loss that
nanoGPT's settings reach after all of them. `python analyses/optimizers.py --stories FILE`, run again, resumes.
"""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from _runs import CONTEXT, Plan, StudyRuns, options, over_seeds, steps_for

from tslens import files
from tslens.plots import lines, save
from tslens.stats import mean_interval

GRIDS = {"adamw": (2e-3, 4e-3, 8e-3), "muon": (1e-2, 2e-2, 4e-2)}  # widened by twos while an end is best
SCHEDULES = ("cosine", "wsd", "constant")
SHARES = (0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
LOOKS = 10  # at the validation, of a run
TUNING_SEED = 99

parser = options("optimizers", tokens=1_000_000)
parser.add_argument("--shape", default="128x4")
parser.add_argument("--batch", type=int, default=8, help=f"rows of {CONTEXT} tokens")
asked = parser.parse_args()
runs = StudyRuns(asked.stories, asked.out, asked.jobs)
seeds = range(asked.seeds)


class Trial(NamedTuple):
    """What one run is trained with."""

    method: str
    lr: float
    schedule: str
    min_lr_ratio: float = 0.05
    share: float = 1.0

    @property
    def label(self) -> str:
        return (
            "AdamW as nanoGPT"
            if self == NANOGPT
            else f"{'AdamW' if self.method == 'adamw' else 'Muon'} {self.schedule}"
        )

    def run(self, seed: int) -> str:
        """The name of its run."""
        tokens = round(self.share * asked.tokens / 1000)
        return f"{self.method}-{self.schedule}-{self.lr:g}-{self.min_lr_ratio:g}-{tokens}k-b{asked.batch}-s{seed}"

    def plan(self, seed: int) -> Plan:
        """Its run, and what it is."""
        settings = {
            f"optimizer.{field}": getattr(self, field) for field in ("method", "lr", "schedule", "min_lr_ratio")
        }
        long = steps_for(self.share * asked.tokens, asked.batch, looks=LOOKS)
        return self.run(seed), (asked.shape, settings | long | {"seed": seed})


NANOGPT = Trial("adamw", 6e-4, "cosine", min_lr_ratio=0.1)


def trained(wanted: Iterable[tuple[Trial, int]]) -> None:
    """See that these runs are there."""
    runs.train(dict(choice.plan(seed) for choice, seed in wanted))


def curve(choice: Trial, seed: int) -> pd.DataFrame:
    """The validation loss over tokens of a finished run."""
    return runs.curve(choice.run(seed))[["tokens", "validation_loss"]]


def ending(choice: Trial, seed: int) -> float:
    return runs.ending(choice.run(seed))


def endings(choice: Trial) -> np.ndarray:
    return np.array([ending(choice, seed) for seed in seeds])


def tuned(method: str) -> float:
    """The learning rate of the lowest validation loss, with a worse one on either side."""
    rates = sorted(GRIDS[method])
    while True:
        trained((Trial(method, rate, "cosine"), TUNING_SEED) for rate in rates)
        losses = [ending(Trial(method, rate, "cosine"), TUNING_SEED) for rate in rates]
        best = int(np.argmin(losses))
        if 0 < best < len(rates) - 1:
            print(
                f"{method}: learning rate {rates[best]:g} of",
                {f"{r:g}": round(v, 4) for r, v in zip(rates, losses, strict=True)},
            )
            return rates[best]
        rates = [rates[0] / 2, *rates] if best == 0 else [*rates, rates[-1] * 2]


def trained_shares(best: Trial) -> list[float]:
    """The shares of the tokens at which `best` was trained with every seed."""
    names = {share: [best._replace(share=share).run(seed) for seed in seeds] for share in (*SHARES, 0.8, 1.0)}
    whole = [share for share, each in names.items() if all(map(runs.is_finished, each))]
    return sorted(whole)


def reaches(best: Trial, target: np.ndarray) -> list[float]:
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


rates = {method: tuned(method) for method in GRIDS}
compared = [NANOGPT, *(Trial(method, rates[method], schedule) for method in GRIDS for schedule in SCHEDULES)]
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
    interval = over_seeds(ends)
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
files.write_json(asked.figures / "answer.json", answer | {"endings": rows})
