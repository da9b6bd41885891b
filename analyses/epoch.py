"""FINDING

What do heads, neurons and layers of larger models do after one whole epoch of real stories? Each shape is trained by
its own recipe, which chooses batch and steps by the stories there are; then all questions of `tslens analyze all` are
asked on its validation stories. `python analyses/epoch.py --stories FILE,FILE` trains what is missing (hours), asks
and draws this again; stopped, it resumes. `--twins` untrained twins are counted beside each model.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from tslens import load, model_stories
from tslens.plots import save
from tslens.study import everything

FIGURES = Path(__file__).resolve().parents[1] / "figures" / "epoch"
SHOWN = ("summary", "roles", "twins", "kinds", "writes", "ablation on stories", "tested labels", "tuned lens")

parser = argparse.ArgumentParser(description="Train models for one epoch, ask all questions, draw figures/epoch.")
parser.add_argument("--stories", required=True, help="what they are trained on")
parser.add_argument("--shapes", nargs="+", default=["256x8", "512x12"])
parser.add_argument("--limit", type=int, default=1000, help="validation stories that are scanned")
parser.add_argument("--checked", type=int, default=100, help="of these, stories of twins, swaps and ablations")
parser.add_argument("--twins", type=int, default=19)
asked = parser.parse_args()
FIGURES.mkdir(parents=True, exist_ok=True)


def train(shape: str) -> None:
    """See that `runs/SHAPE` is trained."""
    folder = Path("runs") / shape
    if not (folder / "config.json").is_file():
        how = ["--resume", shape] if (folder / "recipe.json").is_file() else [shape, "--data", asked.stories]
        subprocess.run([sys.executable, "-m", "tslens", "train", *how], check=True)


for shape in asked.shapes:
    train(shape)
    model = load(shape)
    corpus = model_stories(model, limit=asked.limit)
    found = {
        answer.name: answer.result for answer in everything(model, corpus, checked=asked.checked, twins=asked.twins)
    }
    print(found["summary"])
    for name in SHOWN:
        if name in found:
            answer = found[name]
            save(answer.figure(), FIGURES / f"{shape}-{name.replace(' ', '-')}.svg", answer.summary())
