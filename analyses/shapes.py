"""At 1.6e13 FLOPs on 14,167 real stories 128x4 reaches the lowest validation loss of four shapes: 1.317 bits per byte,
against 1.456 (192x4), 1.497 (128x8) and 1.554 (256x4). One seed each, and far from converged: it says which shape to
train on two CPU cores, not which is best with more compute.

Which shape should the bundled model have? `python analyses/shapes.py --data FILE` trains whatever is not yet in runs/.
"""

import argparse
from pathlib import Path

import pandas as pd

from tslens import checkpoints
from tslens.models import Spec, flops_per_token
from tslens.plots import bars, lines, save
from tslens.train import recipe as recipes
from tslens.train.loop import train
from tslens.train.prepare import prepare

FIGURES = Path(__file__).resolve().parents[1] / "figures" / "shapes"
COMPUTE = 1.6e13
SHAPES = {"128x4": 3e-3, "192x4": 3e-3, "128x8": 3e-3, "256x4": 2e-3}  # peak learning rates
BATCH, CONTEXT, VOCABULARY = 16, 256, 2048

parser = argparse.ArgumentParser()
parser.add_argument("--data", default="made")
data = parser.parse_args().data

rows = []
for shape, rate in SHAPES.items():
    spec = Spec.parse(shape, d_vocab=VOCABULARY, n_ctx=CONTEXT)
    steps = round(COMPUTE / (flops_per_token(spec, training=True) * BATCH * CONTEXT))
    chosen = {
        "data.source": f'"{data}"',
        "data.vocabulary": str(VOCABULARY),
        "train.batch": str(BATCH),
        "train.steps": str(steps),
        "train.validate_every": str(steps // 2),
        "train.validation_stories": "700",
        "optimizer.lr": str(rate),
    }
    folder = checkpoints.run_folder(f"shape-{shape}")
    if not (folder / checkpoints.CONFIG).is_file():
        train(prepare(recipes.load(shape, chosen), folder.name, overwrite=True))
    last = checkpoints.read_metrics(folder)[-1]
    rows.append({"shape": shape, "tokens": last["tokens"], "bits per byte": last["bits_per_byte"]})

frame = pd.DataFrame(rows)
print(frame)
title = "Validation loss at 1.6e13 FLOPs"
figure = bars(list(frame["shape"]), frame["bits per byte"].to_numpy(), title=title, x_label="bits per byte")
save(figure, FIGURES / "shapes.svg", frame)

history = pd.DataFrame(checkpoints.read_metrics(Path(checkpoints.__file__).parent / "bundled" / "stories1M"))
curve = lines(
    {"training": history["train_loss"].to_numpy(), "validation": history["validation_loss"].to_numpy()},
    history["tokens"].to_numpy() / 1e6,
    title="stories1M",
    x_label="million tokens",
    y_label="nats per token",
)
save(curve, FIGURES / "stories1M.svg", history)
