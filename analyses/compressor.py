"""Not run yet: is a compressor as good a model as its baseline of as many parameters, over the same tokens?

Both learn the same rows of the same stories, by a learning rate tuned for each on a seed that is not counted again,
over seeds; what is compared is the validation loss over the same tokens, seed by seed.
`python analyses/compressor.py --stories FILE` goes on where it was stopped.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from tslens import checkpoints, models
from tslens.plots import lines, save
from tslens.stats import mean_interval, paired_difference
from tslens.train import recipe as recipes
from tslens.train.loop import train
from tslens.train.prepare import prepare, resume

FIGURES = Path(__file__).resolve().parents[1] / "figures" / "compressor"
KINDS = {"baseline": "language modelling", "compressor": "compressor"}
TUNING_SEED = 99

parser = argparse.ArgumentParser()
parser.add_argument("--stories", default="made")
parser.add_argument("--shape", default="128x8")
parser.add_argument("--tokens", type=int, default=4_000_000, help="of a run")
parser.add_argument("--context", type=int, default=256)
parser.add_argument("--vocabulary", type=int, default=2048)
parser.add_argument("--batch", type=int, default=16)
parser.add_argument("--rates", type=float, nargs="+", default=[5e-3, 1e-2, 2e-2], help="of Muon, at 128 wide")
parser.add_argument("--seeds", type=int, default=3)
parser.add_argument("--validation", type=int, default=500, help="stories")
parser.add_argument("--figures", type=Path, default=FIGURES)
asked = parser.parse_args()


def called(kind: str, rate: float, seed: int) -> str:
    """The name of a run."""
    return f"{kind}-{asked.shape}-{rate:g}-{asked.tokens // 1000}k-s{seed}"


def run(kind: str, rate: float, seed: int) -> pd.DataFrame:
    """The metrics of a run, trained to its end unless it is."""
    name = called(kind, rate, seed)
    folder = checkpoints.run_folder(name)
    if not (folder / checkpoints.CONFIG).is_file():
        steps = max(1, round(asked.tokens / (asked.batch * asked.context)))
        chosen = {
            "objective": f'"{KINDS[kind]}"',
            "data.source": f'"{asked.stories}"',
            "data.vocabulary": str(asked.vocabulary),
            "model.n_ctx": str(asked.context),
            "optimizer.method": '"muon"',
            "optimizer.lr": str(rate),
            "optimizer.tuned_width": "128",
            "train.batch": str(asked.batch),
            "train.steps": str(steps),
            "train.validate_every": str(max(1, steps // 10)),
            "train.checkpoint_every": str(max(1, steps // 3)),
            "train.validation_stories": str(asked.validation),
            "seed": str(seed),
        }
        begun = (folder / "recipe.json").is_file()
        train(resume(name) if begun else prepare(recipes.load(asked.shape, chosen), name), resume=begun)
    return pd.DataFrame(checkpoints.read_metrics(folder))


def ending(kind: str, rate: float, seed: int) -> float:
    return float(run(kind, rate, seed)["bits_per_byte"].iloc[-1])


def tuned(kind: str) -> float:
    """The learning rate of the lowest loss."""
    return min(asked.rates, key=lambda rate: ending(kind, rate, TUNING_SEED))


best = {kind: tuned(kind) for kind in KINDS}
curves = {kind: [run(kind, best[kind], seed) for seed in range(asked.seeds)] for kind in KINDS}
last = {kind: np.array([curve["bits_per_byte"].iloc[-1] for curve in seeds]) for kind, seeds in curves.items()}
apart = paired_difference(last["compressor"], last["baseline"])

for kind in KINDS:
    folder = checkpoints.run_folder(called(kind, best[kind], 0))
    shape = models.shape(checkpoints.read_json(folder / checkpoints.CONFIG))
    print(
        f"{kind}: {shape.name}, {models.n_parameters(shape):,} parameters, "
        f"{models.flops_per_token(shape, training=True):,} FLOPs a token, rate {best[kind]:g}, "
        f"{last[kind].mean():.4f} bits per byte"
    )
print(f"compressor - baseline: {apart.estimate:+.4f} bits per byte ({apart.low:+.4f} to {apart.high:+.4f})")

rows = [curve.assign(model=kind, seed=seed) for kind in KINDS for seed, curve in enumerate(curves[kind])]
table = pd.concat(rows)[["model", "seed", "step", "tokens", "train_loss", "validation_loss", "bits_per_byte"]]
losses = {kind: np.array([curve["bits_per_byte"] for curve in seeds]) for kind, seeds in curves.items()}
bands = {kind: mean_interval(values) for kind, values in losses.items()}
figure = lines(
    {kind: band.estimate for kind, band in bands.items()},
    curves["baseline"][0]["tokens"].to_numpy() / 1e6,
    bands={kind: (band.low, band.high) for kind, band in bands.items()},
    title=f"{asked.shape}: compressor and baseline of as many parameters",
    x_label="million tokens",
    y_label="validation loss (bits per byte)",
)
save(figure, asked.figures / "curves.svg", table)
