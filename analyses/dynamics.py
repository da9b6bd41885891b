"""Models of two layers go through the published phase change, models of one layer do not: between steps 1,536 and 2,048
of 3,072 the loss of three seeds falls from 4.98 (4.96 to 5.00) to 2.95 (2.58 to 3.31) nats a token, and their strongest
induction head rises from 0.01 to 0.29 (0.02 to 0.55), half of its final value from step 1,962 on (1,661 to 2,152). With
one layer no induction head ever appears, and the loss ends at 4.78 (4.63 to 4.93) where two layers end at 2.61 (2.60 to
2.62). The previous-token head, which both have, has half of its final value from step 1,831 on (1,365 to 2,248) with
two layers: not surely earlier. Before training the scores of these two heads are 0.02 and 0.01.

When do previous-token and induction heads appear, and does a model of one layer get them (Olsson et al. 2022, arXiv
2209.11895)? Models of one and of two layers read stories in which, from any place on, a song of 4 to 16 random words or
of 8 to 40 random tokens is sung three times, so that only repetition predicts it, and no place or distance does.
Every snapshot and checkpoint is read on validation stories.
`python analyses/dynamics.py` trains what is missing and draws this again.
"""

import random
import re
from pathlib import Path

import pandas as pd
from _runs import Plan, StudyRuns, options

from tslens import dynamics, files
from tslens.dynamics.snapshot import INDUCTION, LOSS, PREVIOUS, REPETITION
from tslens.plots import panels, save
from tslens.stories import generator, stories
from tslens.tokenizer import Tokenizer
from tslens.twins import TWINS

SHAPES = {"two layers": "64x2", "one layer": "64x1"}
STORIES, TIMES, VOCABULARY = 60_000, 3, 1024
WORDS, TOKENS, TOKEN = (4, 16), (8, 40), re.compile(" ?[a-z]+")
BEFORE, BETWEEN = (0, 30), ("", "", ".", ", and again:", ". Then the bird sang:", " and", ". Mom sang it too:")
STEPS, BATCH, CONTEXT = 3072, 16, 128
SHOWN = (LOSS, PREVIOUS, INDUCTION, REPETITION)

parser = options("dynamics", tokens=STEPS * BATCH * CONTEXT)
parser.set_defaults(stories="")  # songs
asked = parser.parse_args()


def songs(folder: Path) -> Path:
    """A file of stories in which one song is sung again and again: of random words, or of random tokens of a tokenizer
    that such stories train, which is kept for the runs."""
    file = folder / f"songs-{STORIES}.txt"
    if file.is_file():
        return file
    made = (story.text for story in generator.generate(2000))
    words = sorted({f" {word}" for text in made for word in re.findall(r"\b[a-z]{2,8}\b", text)})
    of_words = [story(i, words, WORDS) for i in range(STORIES)]
    tokenizer = Tokenizer.train(of_words[:5000], VOCABULARY)
    tokens = [piece for piece in map(tokenizer.decode, ([i] for i in range(VOCABULARY))) if TOKEN.fullmatch(piece)]
    texts = [story(i, tokens, TOKENS) if i % 2 else of_words[i] for i in range(STORIES)]
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(folder / f"tokenizer-{VOCABULARY}.json")
    with files.atomic(file) as opened:
        opened.write("\n<|endoftext|>\n".join(texts))
    return file


def story(i: int, parts: list[str], length: tuple[int, int]) -> str:
    """Story `i`: random parts, so that no song starts at a certain place, then one of so many parts again and again."""
    draw = random.Random(i)
    before, song = ("".join(draw.choices(parts, k=draw.randint(*of))) for of in (BEFORE, length))
    return before.strip() + "".join(draw.choice(BETWEEN) + song for _ in range(TIMES)) + "."


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


source = asked.stories or str(songs(asked.out))
runs = StudyRuns(source, asked.out, asked.jobs, VOCABULARY)
runs.train(dict(plan(shape, seed) for seed in range(asked.seeds) for shape in SHAPES.values()))
held_out = list(stories(source, split="validation", limit=dynamics.STORIES))
found = {
    name: dynamics.dynamics(
        [asked.out / plan(shape, seed)[0] for seed in range(asked.seeds)], held_out, checkpoints=True, n=TWINS
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
        }
    )
appear = []
for name, answer in found.items():
    emerged = dynamics.emergence(answer)
    appear.append(emerged.summary().assign(model=name))
    print(name, *(f"  {score}: {emerged.sentence(score)}" for score in SHOWN), sep="\n")
times = pd.concat(appear)
asked.figures.mkdir(parents=True, exist_ok=True)
times[times["score"].isin(SHOWN)].to_csv(asked.figures / "emergence.csv", index=False, float_format="%.6g")
table = pd.concat([answer.to_frame().assign(model=name) for name, answer in found.items()])
save(panels(*charts), asked.figures / "dynamics.svg", table[table["score"].isin(SHOWN)])
