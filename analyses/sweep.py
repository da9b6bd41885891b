"""At a million tokens, 0.28 of an epoch, width matters and depth a little: against 128x4, 64 wide costs 0.26 nats per
token (0.25 to 0.28 over three seeds) and 256 wide saves 0.20 (0.14 to 0.25), 8 layers save 0.08 (0.05 to 0.10), 2 cost
no more that can be told (-0.03 to 0.04). Of the heads, one does as well as four, and sixteen of 8 dimensions cost 0.08
(0.06 to 0.10).

Of what was published, "width matters" holds here; "depth matters" holds from 4 layers to 8, and from 2 to 4 this much
data cannot say; "heads hardly do" holds from 1 to 4 and not for 16.

Do width, depth and the number of heads matter, at equal tokens?

Models that differ from one in the middle by one of the three, over seeds; what is compared is the validation loss, seed
by seed. `python analyses/sweep.py --stories FILE`, run again, resumes; `--draw` draws the stored table.
"""

import numpy as np
import pandas as pd
from _runs import Plan, StudyRuns, differences, options, planned

from tslens.models import Spec
from tslens.plots import intervals, save

MIDDLE = "128x4"
SWEEPS = {
    "width": ("64x4", MIDDLE, "256x4"),
    "depth": ("128x2", MIDDLE, "128x8"),
    "heads": ("128x4x1", MIDDLE, "128x4x16"),
}

parser = options("sweep", tokens=1_000_000)
parser.add_argument("--draw", action="store_true", help="draw the table of --figures again, and train nothing")
asked = parser.parse_args()
runs = StudyRuns(asked.stories, asked.out, asked.jobs)
shapes = list(dict.fromkeys(shape for sweep in SWEEPS.values() for shape in sweep))


def plan(shape: str, seed: int) -> Plan:
    return planned(shape, asked.tokens, seed)


def trained() -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table of all shapes, and the loss of every seed, once all runs are there."""
    runs.train(dict(plan(shape, seed) for seed in range(asked.seeds) for shape in shapes))
    losses = {shape: np.array([runs.ending(plan(shape, seed)[0]) for seed in range(asked.seeds)]) for shape in shapes}
    found = differences(losses, MIDDLE).assign(
        parameters=[Spec.parse(shape, d_vocab=2048, n_ctx=256).n_parameters() for shape in shapes]
    )
    order = [shape for sweep in SWEEPS.values() for shape in sweep]
    table = found.set_index("what").loc[order].reset_index()
    table.insert(0, "sweep", [name for name, sweep in SWEEPS.items() for _ in sweep])
    return table, pd.DataFrame(losses).rename_axis("seed").reset_index()


stored = asked.figures / "sweep.csv", asked.figures / "seeds.csv"
table, ends = map(pd.read_csv, stored) if asked.draw else trained()
print(table.to_string(index=False, float_format="{:.4f}".format))
others = table[table["what"] != MIDDLE]
figure = intervals(
    [f"{row.sweep}: {row.what}" for row in others.itertuples()],
    {"": tuple(others[name].to_numpy() for name in ("more", "more, low", "more, high"))},
    threshold=0.0,
    title=f"Loss beside {MIDDLE}'s, {asked.tokens / 1e6:g} million tokens, {len(ends)} seeds",
    x_label="nats per token more than it, seed by seed",
)
save(figure, asked.figures / "sweep.svg", table)
ends.to_csv(asked.figures / "seeds.csv", index=False)
