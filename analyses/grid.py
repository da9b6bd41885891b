"""Of 14,167 real stories (3.7 million tokens an epoch) a 512 wide model takes three epochs, not six: 512x8 ends at 1.86
nats per token after three and at 1.99 after six, with a training loss of 0.92; 512x12 ends at 1.84 after three. 256x8
and 256x12 both end at 1.86 after six; 256x8 rises to 2.10 near the end of twelve. 128x8 ends at 1.92 and 64x8 at 2.10
after twelve; whether more would help them is not known. One seed each, on one H100 in bfloat16, 700 held-out stories: 7
of 32 runs ended before the time on the GPU was up. The curves of eleven more are drawn as far as they went, so no shape
has three seeds, and 64x12 and 128x12 have no end. The 64x8 model lies beside the figures, rounded to bfloat16.

What loss do the eight published shapes reach on all real stories, and how many epochs help? With the first seed each
shape is trained for the epochs below and for half as many; with the better number, other seeds. Rows of 512 tokens, 32
of them a step.
`python analyses/grid.py --stories FILE,FILE --jobs 16` trains what is missing and draws this again; with `--train no`
it draws the runs that are there, finished or not.
"""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
from _runs import StudyRuns, options, over_seeds

from tslens.models import Spec
from tslens.plots import panels, save

CONTEXT, VOCABULARY, BATCH = 512, 4096, 32
DEPTHS = (8, 12)
EPOCHS = {64: 24, 128: 24, 256: 12, 512: 6}
"""Most epochs by width."""
LOSS, RECORDED = "nats per token", ("precision", "device")

parser = options("grid", tokens=0)  # what they are is left to the epochs
parser.add_argument("--shapes", nargs="+", default=[f"{width}x{depth}" for depth in DEPTHS for width in EPOCHS])
parser.add_argument("--precision", default="auto")
parser.add_argument("--micro-batch", type=int, default=BATCH, help="rows computed at a time")
parser.add_argument("--train", choices=("yes", "no"), default="yes")
asked = parser.parse_args()
PAIR = 2  # runs of a shape at a time
runs = StudyRuns(asked.stories, asked.out, PAIR, VOCABULARY)


def name(shape: str, epochs: int, seed: int) -> str:
    return f"{shape}-{epochs}-epochs-s{seed}"


def train(shape: str, wanted: list[tuple[int, int]]) -> None:
    """See that the runs of a shape with these epochs and seeds are there."""
    chosen = {
        "model.n_ctx": CONTEXT,
        "train.batch": BATCH,
        "train.micro_batch": asked.micro_batch,
        "train.precision": asked.precision,
        "train.validate_every": 100,
        "train.validation_stories": 700,
        "train.checkpoint_every": 10**6,
        "train.keep_log_spaced": "false",
    }
    runs.train(
        {
            name(shape, epochs, seed): (shape, {**chosen, "train.epochs": float(epochs), "seed": seed})
            for epochs, seed in wanted
        }
    )


def spec(shape: str) -> Spec:
    return Spec.parse(shape, d_vocab=VOCABULARY, n_ctx=CONTEXT)


def counts(shape: str) -> tuple[int, int]:
    most = EPOCHS[spec(shape).d_model]
    return most // 2, most


def best(shape: str) -> int | None:
    """The number of epochs with the lower loss in the end, among finished runs."""
    finished = [epochs for epochs in counts(shape) if runs.is_finished(name(shape, epochs, 0))]
    return min(finished, key=lambda epochs: runs.ending(name(shape, epochs, 0)), default=None)


def complete(shape: str) -> None:
    train(shape, [(epochs, 0) for epochs in reversed(counts(shape))])
    if (epochs := best(shape)) is not None:
        train(shape, [(epochs, seed) for seed in range(1, asked.seeds)])


if asked.train == "yes":
    _ = runs.tokenizer  # trained once, before several runs ask for it
    with ThreadPoolExecutor(max(1, asked.jobs // PAIR)) as pool:
        list(pool.map(complete, sorted(asked.shapes, key=lambda shape: -spec(shape).n_parameters())))

rows, curves = [], []
for shape, at in itertools.product(asked.shapes, itertools.product((0, 1), range(asked.seeds))):
    epochs, seed = counts(shape)[at[0]], at[1]
    run = name(shape, epochs, seed)
    curve = runs.curve(run) if (asked.out / run).is_dir() else pd.DataFrame()
    if curve.empty:
        continue
    last, finished = curve.iloc[-1], runs.is_finished(run)
    rows.append({"shape": shape, "parameters": spec(shape).n_parameters(), "epochs": epochs, "seed": seed})
    rows[-1] |= {"finished": finished, "best": finished and epochs == best(shape)}
    rows[-1] |= {"steps": int(last["step"]), "tokens": int(last["tokens"]), LOSS: last["validation_loss"]}
    rows[-1] |= {"training loss": last["train_loss"], "bits per byte": last["bits_per_byte"]}
    rows[-1] |= {key: last[key] for key in RECORDED}
    curves.append(curve.assign(shape=shape, epochs=epochs, seed=seed))
table, history = pd.DataFrame(rows), pd.concat(curves)
print(table.to_string(index=False))

ends = {shape: over_seeds(of[LOSS].to_numpy()) for shape, of in table[table["best"]].groupby("shape", sort=False)}
longest = history.loc[(history["seed"] == 0) & (history["epochs"] == history["shape"].map(lambda s: counts(s)[1]))]
depths = {f"{depth} layers": [shape for shape in asked.shapes if spec(shape).n_layers == depth] for depth in DEPTHS}
charts = []
for what, shapes in depths.items():
    of = {shape: longest[longest["shape"] == shape] for shape in shapes}
    charts.append(
        {
            "series": {shape: curve["validation_loss"].to_numpy() for shape, curve in of.items()},
            "x": {shape: curve["tokens"].to_numpy() / 1e6 for shape, curve in of.items()},
            "title": f"In training, {what}",
            "x_label": "million tokens",
            "y_label": LOSS,
        }
    )
widths = list(EPOCHS)
known = {what: [shape for shape in shapes if shape in ends] for what, shapes in depths.items()}
charts.append(
    {
        "series": {what: np.array([ends[shape].estimate for shape in shapes]) for what, shapes in known.items()},
        "x": {what: np.array([widths.index(spec(s).d_model) for s in shapes]) for what, shapes in known.items()},
        "bands": {
            what: (np.array([ends[shape].low for shape in shapes]), np.array([ends[shape].high for shape in shapes]))
            for what, shapes in known.items()
        },
        "title": "At the better number of epochs",
        "x_label": "width",
        "y_label": LOSS,
        "ticks": widths,
    }
)
save(panels(*charts), asked.figures / "grid.svg", table)
measured = [
    "shape",
    "epochs",
    "seed",
    "step",
    "tokens",
    "learning_rate",
    "train_loss",
    "validation_loss",
    "bits_per_byte",
]
history[measured].to_csv(asked.figures / "curves.csv", index=False)
