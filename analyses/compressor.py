"""A compressor of as many parameters as 128x4 is the worse model of a million tokens, 0.28 of an epoch, by 0.049 bits
per byte (0.039 to 0.060 over three seeds), with 31% fewer operations a token.

Of what was published, "the compressor saves memory" does not hold as published (analyses/memory.py); whether it pays
for its loss with more data or a longer context, this much data cannot say.

Is a compressor as good a model as its baseline of as many parameters, over the same tokens?

Both learn the same stories, by a learning rate tuned for each on a seed that is not counted again, over seeds; what is
compared is the validation loss, seed by seed. `python analyses/compressor.py --stories FILE`, run again, resumes.
"""

import numpy as np
import pandas as pd
from _runs import Plan, StudyRuns, differences, options, over_seeds, planned

from tslens import models
from tslens.files import read_json
from tslens.plots import lines, save
from tslens.runs import CONFIG

KINDS = ("baseline", "compressor")
TUNING_SEED = 99

parser = options("compressor", tokens=1_000_000)
parser.add_argument("--shape", default="128x4")
parser.add_argument("--rates", type=float, nargs="+", default=[2.5e-3, 5e-3, 1e-2, 2e-2], help="of Muon")
asked = parser.parse_args()
runs = StudyRuns(asked.stories, asked.out, asked.jobs)


def plan(kind: str, rate: float, seed: int) -> Plan:
    objective = {"objective.name": "compressor"} if kind == "compressor" else {}
    own = {} if rate == 1e-2 else {"optimizer.lr": rate}
    what = "-".join([*([kind] if objective else []), *([f"lr{rate:g}"] if own else [])])
    return planned(asked.shape, asked.tokens, seed, what, objective | own)


def bits(kind: str, rate: float, seed: int) -> float:
    return runs.ending(plan(kind, rate, seed)[0], "bits_per_byte")


runs.train(dict(plan(kind, rate, TUNING_SEED) for kind in KINDS for rate in asked.rates))
best = {kind: min(asked.rates, key=lambda rate: bits(kind, rate, TUNING_SEED)) for kind in KINDS}
runs.train(dict(plan(kind, best[kind], seed) for seed in range(asked.seeds) for kind in KINDS))

last = {kind: np.array([bits(kind, best[kind], seed) for seed in range(asked.seeds)]) for kind in KINDS}
table = differences(last, "baseline").rename(columns={"what": "model", "nats per token": "bits per byte"})
shapes = [models.spec_from_config(read_json(runs.folder / plan(k, best[k], 0)[0] / CONFIG)) for k in KINDS]
table["shape"] = [shape.name for shape in shapes]
table["parameters"] = [shape.n_parameters() for shape in shapes]
table["FLOPs a token"] = [shape.flops_per_token(training=True) for shape in shapes]
table["rate"] = [best[kind] for kind in KINDS]
print(table.to_string(index=False, float_format="{:.4f}".format))

curves = {kind: [runs.curve(plan(kind, best[kind], seed)[0]) for seed in range(asked.seeds)] for kind in KINDS}
bands = {kind: over_seeds(np.array([curve["bits_per_byte"] for curve in each])) for kind, each in curves.items()}
figure = lines(
    {kind: band.estimate for kind, band in bands.items()},
    curves["baseline"][0]["tokens"].to_numpy() / 1e6,
    bands={kind: (band.low, band.high) for kind, band in bands.items()},
    title=f"{asked.shape}: compressor and baseline of as many parameters",
    x_label="million tokens",
    y_label="validation loss, bits per byte",
)
rows = [curve.assign(model=kind, seed=seed) for kind in KINDS for seed, curve in enumerate(curves[kind])]
kept = ["model", "seed", "step", "tokens", "train_loss", "validation_loss", "bits_per_byte"]
save(figure, asked.figures / "curves.svg", pd.concat(rows)[kept])
table.to_csv(asked.figures / "answer.csv", index=False)
