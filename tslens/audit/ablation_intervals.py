"""Simulated corpora for the paired intervals of an ablation: of the loss that it adds, overall and on some tokens."""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from tslens.analysis.heads.evidence import GroupEstimate, ratio
from tslens.audit.coverage import LEVEL, Simulated, covered
from tslens.stats import Interval

ROWS = (32, 100)
"""Rows of a comparison with twins, and those of a study's own ablation."""
TOKENS = 127
"""Scored tokens of a row."""
LOSS, SHAPE = 0.05, 8.0
"""Mean loss that the ablation adds to a token of a row, in nats, and the shape of its gamma distribution over rows: a
skewness of 0.7. Over 400 rows of stories2M that of its heads is 0.6 in the median and 2 at the most; 32 rows of the
most skewed cover 0.90."""
OWN = 0.3
"""Standard deviation of what one token adds, in nats: most of them change little, either way."""
PREDICTED, MORE = 5.0, 0.1
"""Tokens of a row that a label predicts, on average, and how much more the ablation costs on them, in nats."""


def of_ablations(runs: int, rngs: Iterator[np.random.Generator]) -> list[Simulated]:
    """The intervals of `heads.ablation` over `runs` simulated corpora, by the number of rows."""
    return [test for rows in ROWS for test in (_overall(rows, runs, next(rngs)), _contrast(rows, runs, next(rngs)))]


def _of_rows(rows: int, runs: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """What the ablation adds to a token of each row, on average over the row."""
    return rng.gamma(SHAPE, LOSS / SHAPE, (rows, runs))


def _overall(rows: int, runs: int, rng: np.random.Generator) -> Simulated:
    """The mean over all tokens; some rows are shorter."""
    tokens = TOKENS - rng.geometric(0.3, (rows, runs)) + 1
    gained = tokens * _of_rows(rows, runs, rng) + OWN * np.sqrt(tokens) * rng.normal(size=(rows, runs))
    return _covered("loss that an ablation adds", rows, ratio(*map(torch.from_numpy, (gained, tokens.astype(float)))))


def _contrast(rows: int, runs: int, rng: np.random.Generator) -> Simulated:
    """The mean over the predicted tokens less that over as many others of the row, which weigh less and are more."""
    predicted = rng.poisson(PREDICTED, (rows, runs)).astype(float)
    shared, others = _of_rows(rows, runs, rng), TOKENS - predicted
    on = predicted * (shared + MORE) + OWN * np.sqrt(predicted) * rng.normal(size=(rows, runs))
    off = predicted * (shared + OWN / np.sqrt(others) * rng.normal(size=(rows, runs)))
    counts = torch.from_numpy(predicted)
    found = ratio(torch.from_numpy(on), counts) - ratio(torch.from_numpy(off), counts)
    return _covered("loss beyond that of other tokens", rows, found, MORE)


def _covered(name: str, rows: int, found: GroupEstimate, truth: float = LOSS) -> Simulated:
    low, high = (end.numpy() for end in found.interval)
    return covered(f"{name}, {rows} rows", Interval(found.value.numpy(), low, high, LEVEL, "jackknife"), truth)
