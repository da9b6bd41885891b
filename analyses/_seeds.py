"""What one trained model each shows, again with other seeds: which pairs it prefers, and whether it keeps what is
asked for."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from _runs import over_seeds

from tslens.evaluation.instruct import instruct
from tslens.evaluation.pairs import own_pairs, score

if TYPE_CHECKING:
    from tslens.models import LanguageModel

PLAIN, TOLD, HELD_OUT = "128x4", "instruct 4", "instruct held out"
BEYOND, GROUPS = "beyond other instructions", ("all", "held out")


def over_seeds_of(models: "Sequence[Mapping[str, LanguageModel]]", told: Sequence[str], pairs: int) -> pd.DataFrame:
    """One row per measure and model: a column for each seed, their mean, and Student's interval over seeds.

    The models of each seed are `PLAIN`, `TOLD` and `HELD_OUT`. Shares of pairs are of `pairs` pairs of each of our
    phenomena, by axis; shares of words that are asked for, beyond those of other instructions, are by whether their
    combination was held out of the training of `HELD_OUT` of the same seed.
    """
    found: dict[tuple[str, str], list[float]] = {}
    for of_seed in models:
        preferred = score(of_seed, own_pairs(pairs)).by_paradigm()
        for (axis, name), rows in preferred.groupby(["axis", "scorer"], sort=False):
            found.setdefault((f"pairs of {axis}", name), []).append(
                float(np.average(rows["score"], weights=rows["pairs"]))
            )
        names = [HELD_OUT, TOLD, PLAIN]  # grouped by what the first was trained on
        kept = instruct([of_seed[name] for name in names], told).summary()
        kept["model"] = np.array(names)[pd.factorize(kept["model"])[0]]
        kept = kept[(kept["measure"] == "words") & (kept["what"] == BEYOND) & kept["group"].isin(GROUPS)]
        for name, group, value in kept[["model", "group", "value"]].itertuples(index=False):
            found.setdefault((f"words beyond those of others, {group}", name), []).append(value)
    rows = []
    for (measure, name), values in found.items():
        mean = over_seeds(np.array(values))
        seeds = {f"seed {seed}": value for seed, value in enumerate(values)}
        rows.append(
            {"measure": measure, "model": name, **seeds, "mean": mean.estimate, "low": mean.low, "high": mean.high}
        )
    return pd.DataFrame(rows)
