"""Does it help a story model to be pushed away from stories in pieces, and what does the published form's pole cost?

Models of one shape learn the same number of tokens of the same stories, over seeds: as plain language modelling; with a
third of the stories shuffled and no push (what that third costs); with the published push, 5 / (L_c + 0.01); and with
the bounded one. On validation stories: the loss, and the gap, what the same stories cost more when their sentences are
shuffled. `python analyses/contrastive.py --stories FILE` draws this again, and goes on where it stopped.
"""

import argparse
from pathlib import Path
from typing import Any

import pandas as pd
from rich.progress import Progress

from tslens import checkpoints, load
from tslens.plots import panels, save
from tslens.stats import paired_difference
from tslens.stories import stories
from tslens.tokenizer import Tokenizer
from tslens.train import recipe as recipes
from tslens.train.loop import train
from tslens.train.objectives.contrastive import Contrastive
from tslens.train.prepare import prepare, resume

FIGURES = Path(__file__).resolve().parents[1] / "figures" / "contrastive"
PLAIN = "plain"
RECORDS = 60  # of each run, so that a spike is seen

parser = argparse.ArgumentParser()
parser.add_argument("--stories", default="made")
parser.add_argument("--shape", default="128x4")
parser.add_argument("--tokens", type=int, default=3_000_000, help="of a run")
parser.add_argument("--context", type=int, default=256)
parser.add_argument("--batch", type=int, default=12, help="rows of a step, a multiple of 3")
parser.add_argument("--vocabulary", type=int, default=2048)
parser.add_argument("--lr", default="1e-2", help="of Muon, the same for all")
parser.add_argument("--alphas", nargs="+", default=["0.5"], help="of the bounded form")
parser.add_argument("--margin", default="1.0", help="of the bounded form, in nats per token")
parser.add_argument("--seeds", type=int, default=3)
parser.add_argument("--judged", type=int, default=500, help="validation stories at the end")
parser.add_argument("--figures", type=Path, default=FIGURES)
asked = parser.parse_args()
steps = round(asked.tokens / (asked.batch * asked.context))
KINDS: dict[str, dict[str, str]] = {
    PLAIN: {"objective.name": "language modelling"},
    "no push": {"objective.name": "contrastive", "objective.alpha": "0"},
    "published": {"objective.name": "published contrastive"},
} | {
    f"bounded {alpha}": {
        "objective.name": "contrastive",
        "objective.alpha": alpha,
        "objective.margin": asked.margin,
    }
    for alpha in asked.alphas
}


def name_of(kind: str, seed: int) -> str:
    kind = kind.replace(" ", "-") + (f"-{asked.margin}" if kind.startswith("bounded") else "")
    return f"contrastive-{kind}-{asked.shape}-{round(asked.tokens / 1000)}k-s{seed}"


def trained(kind: str, seed: int) -> Path:
    """The folder of a run of this kind, trained to its end."""
    name = name_of(kind, seed)
    folder = checkpoints.run_folder(name)
    if (folder / checkpoints.CONFIG).is_file():
        return folder
    chosen = KINDS[kind] | {
        "data.source": asked.stories,
        "data.tokenizer": str(tokenizer),
        "model.n_ctx": str(asked.context),
        "optimizer.method": "muon",
        "optimizer.lr": asked.lr,
        "train.batch": str(asked.batch),
        "train.steps": str(steps),
        "train.validate_every": str(max(1, steps // RECORDS)),
        "train.validation_stories": "40",
        "train.checkpoint_every": str(max(1, steps // 3)),
        "train.keep": "1",
        "train.explode": "0",
        "seed": str(seed),
    }
    run = resume(name) if folder.exists() else prepare(recipes.load(asked.shape, chosen), name, progress=False)
    with Progress(transient=True) as bar:
        task = bar.add_task(name, total=steps)
        train(run, resume=True, watch=lambda at: bar.update(task, completed=at.step))
    return folder


tokenizer = checkpoints.root() / f"contrastive-{asked.vocabulary}.json"
if not tokenizer.is_file():
    tokenizer.parent.mkdir(parents=True, exist_ok=True)
    Tokenizer.train(stories(asked.stories, split="train"), asked.vocabulary).save(tokenizer)

validation = list(stories(asked.stories, split="validation", limit=asked.judged))
rows: list[dict[str, Any]] = []
curves: list[pd.DataFrame] = []
for seed in range(asked.seeds):
    for kind in KINDS:
        folder = trained(kind, seed)
        curves.append(pd.DataFrame(checkpoints.read_metrics(folder)).assign(kind=kind, seed=seed))
        found = Contrastive().validate(load(str(folder)), validation, precision="float32").measured
        rows.append({"kind": kind, "seed": seed, "loss": found["validation_loss"], "gap": found["validation_gap"]})
        print(rows[-1], flush=True)

ends = pd.DataFrame(rows).pivot(index="seed", columns="kind", values=["loss", "gap"])
answers: list[dict[str, Any]] = []
for kind in KINDS:
    row: dict[str, Any] = {"kind": kind}
    for what in ("loss", "gap"):
        values = ends[what][kind].to_numpy()
        row[what] = values.mean()
        if kind != PLAIN and len(values) > 1:
            difference = paired_difference(values, ends[what][PLAIN].to_numpy())
            row |= {
                f"{what} over plain": difference.estimate,
                f"{what} low": difference.low,
                f"{what} high": difference.high,
            }
    answers.append(row)
answer = pd.DataFrame(answers)
print(
    f"{asked.shape}, {asked.tokens:,} tokens, {asked.seeds} seeds, {len(validation)} validation stories; nats per token"
)
print(answer.to_string(index=False, float_format="{:.4f}".format))

curve = pd.concat(curves, ignore_index=True)
if "L_n" not in curve:
    raise SystemExit("no record of L_n: give more tokens")
curve["L_n"] = curve["L_n"].fillna(curve["train_loss"])  # plain training has no other part


def chart(what: str, title: str, kinds: list[str]) -> dict[str, Any]:
    """Training curves of one quantity: the mean over seeds, and the band from the lowest to the highest seed."""
    chart: dict[str, Any] = {"series": {}, "x": None, "bands": {}, "title": title, "y_label": "nats per token"}
    for kind in kinds:
        table = curve[curve["kind"] == kind].pivot(index="tokens", columns="seed", values=what)
        chart["series"][kind] = table.mean(axis=1).to_numpy()
        chart["bands"][kind] = (table.min(axis=1).to_numpy(), table.max(axis=1).to_numpy())
        chart["x"] = table.index.to_numpy() / 1e6
    return chart | {"x_label": "million tokens"}


contrasted = [kind for kind in KINDS if kind != PLAIN]
figure = panels(
    chart("L_n", "Stories in order: L_n", [*contrasted, PLAIN]),
    chart("L_c", "Shuffled stories: L_c", contrasted),
    chart("gap", "Gap: L_c - L_n", contrasted),
    chart("train_loss", "What is made small: L", contrasted),
)
kept = ["kind", "seed", "step", "tokens", "train_loss", "L_n", "L_c", "gap", "validation_loss", "validation_gap"]
save(figure, asked.figures / "curves.svg", curve[[column for column in kept if column in curve]])
answer.to_csv(asked.figures / "answer.csv", index=False)
pd.DataFrame(rows).to_csv(asked.figures / "ends.csv", index=False)
