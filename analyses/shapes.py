"""With 1.6e13 FLOPs 64x4 learns 14,167 real stories best: 2.51 nats per token, against 2.69 of 128x4 and 3.03 of 192x4;
with 6.4e13 it is 2.07 of 128x4 against 2.19 of 192x4, with 2.1e14 1.91 against 1.90: the more compute, the wider. One
seed each.

Which shape should the bundled model have, and how many epochs? At equal compute a wider model sees fewer of them.
`python analyses/shapes.py --stories FILE` trains each shape by the bundled model's recipe at a growing compute and
draws the validation loss; run again, it resumes. The bundled model's own curve is drawn beside it.
"""

from pathlib import Path
from typing import Any

import pandas as pd
from _runs import StudyRuns, options, steps_for

import tslens
from tslens.models import Spec
from tslens.plots import lines, save
from tslens.runs import read_metrics

BUNDLED = "stories2M"
CONTEXT, VOCABULARY = 320, 2048  # of the bundled model

parser = options("shapes", tokens=0)  # what they are is left to the compute
parser.add_argument(
    "--runs",
    nargs="+",
    default=["64x4:1.6e13", *(f"{shape}:{c}" for c in ("1.6e13", "6.4e13", "2.1e14") for shape in ("128x4", "192x4"))],
    help="SHAPE:FLOPs of each",
)
parser.set_defaults(seeds=1)
parser.add_argument("--batch", type=int, default=8)
asked = parser.parse_args()
runs = StudyRuns(asked.stories, asked.out, asked.jobs)


def tokens(shape: str, compute: float) -> float:
    """How many a shape sees for so many FLOPs."""
    spec = Spec.parse(shape, d_vocab=VOCABULARY, n_ctx=CONTEXT)
    return compute / spec.flops_per_token(training=True)


def name(shape: str, compute: float, seed: int) -> str:
    return f"{BUNDLED}-{shape}-{compute:.3g}-s{seed}".replace("+", "")


pairs = [(shape, float(compute)) for shape, _, compute in (text.partition(":") for text in asked.runs)]
every = [(shape, compute, seed) for shape, compute in pairs for seed in range(asked.seeds)]
runs.train(
    {
        name(shape, compute, seed): (
            BUNDLED,
            {"model.shape": shape, "model.n_ctx": CONTEXT, "train.validation_stories": 700, "seed": seed}
            | steps_for(tokens(shape, compute), asked.batch, CONTEXT),
        )
        for shape, compute, seed in every
    }
)
rows: list[dict[str, Any]] = []
for shape, compute, seed in every:
    last = runs.curve(name(shape, compute, seed)).iloc[-1]
    rows.append({"FLOPs": compute, "shape": shape, "seed": seed, "tokens": int(last["tokens"])})
    rows[-1] |= {"nats per token": last["validation_loss"], "bits per byte": last["bits_per_byte"]}
table = pd.DataFrame(rows)
print(table.to_string(index=False))
means = table.groupby(["shape", "FLOPs"], sort=False)["bits per byte"].mean()
by_shape = {shape: means[shape] for shape in dict.fromkeys(table["shape"])}
save(
    lines(
        {shape: values.to_numpy() for shape, values in by_shape.items()},
        {shape: values.index.to_numpy() for shape, values in by_shape.items()},
        title="Validation loss at equal compute",
        x_label="FLOPs",
        y_label="bits per byte",
        log_x=True,
    ),
    asked.figures / "shapes.svg",
    table,
)

history = pd.DataFrame(read_metrics(Path(tslens.__file__).parent / "bundled" / BUNDLED))
curve = lines(
    {"training": history["train_loss"].to_numpy(), "validation": history["validation_loss"].to_numpy()},
    history["tokens"].to_numpy() / 1e6,
    title=BUNDLED,
    x_label="million tokens",
    y_label="nats per token",
)
save(curve, asked.figures / f"{BUNDLED}.svg", history)
