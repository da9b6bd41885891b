"""(finding)

When do previous-token and induction heads appear, and does a model of one layer get them (Olsson et al. 2022, arXiv
2209.11895)? Models of one and of two layers read stories in which a song of random words is sung twice, so that only
repetition predicts the second time. Every snapshot and checkpoint is read on validation stories.
`python analyses/dynamics.py` trains what is missing and draws this again.
"""

import random
import re
from pathlib import Path

from _runs import Plan, Runs, options

from tslens import dynamics
from tslens.dynamics.snapshot import INDUCTION, PREVIOUS, REPETITION
from tslens.plots import panels, save
from tslens.stories import generator, stories

SHAPES = {"two layers": "64x2", "one layer": "64x1"}
STORIES, WORDS, TIMES = 8000, 12, 2
STEPS, BATCH, CONTEXT = 1024, 16, 128
SHOWN = (PREVIOUS, INDUCTION, REPETITION)

parser = options("dynamics", tokens=STEPS * BATCH * CONTEXT)
parser.set_defaults(stories="")
asked = parser.parse_args()


def repeated(folder: Path) -> Path:
    """A file of made stories, each with a song of random words that is sung twice."""
    file = folder / f"songs-{STORIES}.txt"
    if file.is_file():
        return file
    made = [story.text for story in generator.generate(STORIES)]
    words = sorted({word for text in made[:2000] for word in re.findall(r"\b[a-z]{2,8}\b", text)})
    texts = []
    for i, text in enumerate(made):
        opening = " ".join(re.split(r"(?<=[.!?])\s+", text)[:2])
        song = " ".join(random.Random(i).choices(words, k=WORDS))
        texts.append(f"{opening} The song went: {song}. " + f"Again: {song}. " * (TIMES - 1) + "The end.")
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text("\n<|endoftext|>\n".join(texts), encoding="utf-8")
    return file


def plan(shape: str, seed: int) -> Plan:
    """A run: one shape, one seed."""
    settings = {
        "model.n_ctx": CONTEXT,
        "optimizer.schedule": "cosine",
        "train.batch": BATCH,
        "train.steps": max(1, round(asked.tokens / (BATCH * CONTEXT))),
        "train.validate_every": STEPS // 4,
        "train.validation_stories": 100,
        "train.checkpoint_every": 128,
        "train.keep_checkpoints": 100,
        "seed": seed,
    }
    return f"songs-{shape}-s{seed}", (shape, settings)


source = asked.stories or str(repeated(asked.out))
runs = Runs(source, asked.out, asked.jobs)
runs.train(dict(plan(shape, seed) for seed in range(asked.seeds) for shape in SHAPES.values()))
held_out = list(stories(source, split="validation", limit=dynamics.STORIES))
found = {
    name: dynamics.dynamics(
        [asked.out / plan(shape, seed)[0] for seed in range(asked.seeds)], held_out, checkpoints=True
    )
    for name, shape in SHAPES.items()
}
charts = []
for score in SHOWN:
    at = found["two layers"].scores.index(score)
    charts.append(
        {
            "series": {name: answer.mean[at, 1:] for name, answer in found.items()},
            "x": {name: answer.steps[1:] for name, answer in found.items()},
            "bands": {name: (answer.low[at, 1:], answer.high[at, 1:]) for name, answer in found.items()},
            "title": score.capitalize(),
            "x_label": "training step",
            "log_x": True,
        }
    )
for name, answer in found.items():
    times = dynamics.emergence(answer)
    print(name, *(f"  {score}: {times.sentence(score)}" for score in SHOWN), sep="\n")
    print(answer.summary().to_string(index=False, float_format="{:.3f}".format))
    save(answer.figure(), asked.figures / f"{name.replace(' ', '-')}.svg", answer.to_frame())
table = found["two layers"].to_frame().assign(layers=2)
save(panels(*charts), asked.figures / "dynamics.svg", table)
