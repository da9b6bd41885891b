"""Dropout hurts a 128x4 model that sees a million tokens, 0.28 of an epoch, once: after 0.1, 0.2 and 0.4 of it the
validation loss is 0.17, 0.30 and 0.61 nats per token higher than without (0.15 to 0.18, 0.30 to 0.31, 0.61 to 0.62 over
three seeds).

Of what was published, "dropout hurts at one epoch" holds here for stories that are seen at most once; what it does over
a whole epoch, or over several, this much data cannot say.

Does dropout hurt a story model that sees its stories at most once?

One shape on the same tokens with shares of the residual stream left out in training, over seeds; what is compared is
the validation loss, without dropout, seed by seed. `python analyses/dropout.py --stories FILE`, run again, resumes;
`--draw` draws the stored table.
"""

import numpy as np
import pandas as pd
from _runs import Plan, StudyRuns, differences, options, planned

from tslens.plots import intervals, save

SHARES = (0.0, 0.1, 0.2, 0.4)

parser = options("dropout", tokens=1_000_000)
parser.add_argument("--shape", default="128x4")
parser.add_argument("--draw", action="store_true", help="draw the table of --figures again, and train nothing")
asked = parser.parse_args()
runs = StudyRuns(asked.stories, asked.out, asked.jobs)


def plan(share: float, seed: int) -> Plan:
    if not share:
        return planned(asked.shape, asked.tokens, seed)
    return planned(asked.shape, asked.tokens, seed, f"dropout-{share:g}", {"train.dropout": share})


def trained() -> pd.DataFrame:
    """The table of all shares, once all runs are there."""
    runs.train(dict(plan(share, seed) for seed in range(asked.seeds) for share in SHARES))
    losses = {
        f"{share:g}": np.array([runs.ending(plan(share, seed)[0]) for seed in range(asked.seeds)]) for share in SHARES
    }
    return differences(losses, "0").rename(columns={"what": "dropout"})


table = pd.read_csv(asked.figures / "dropout.csv", dtype={"dropout": str}) if asked.draw else trained()
print(table.to_string(index=False, float_format="{:.4f}".format))
figure = intervals(
    [f"dropout {share}" for share in table["dropout"]],
    {"": tuple(table[name].to_numpy() for name in ("nats per token", "low", "high"))},
    title=f"{asked.shape} after {asked.tokens / 1e6:g} million tokens, {asked.seeds} seeds",
    x_label="validation loss, nats per token",
)
save(figure, asked.figures / "dropout.svg", table)
