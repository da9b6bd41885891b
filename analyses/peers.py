"""On two CPU cores a 128x4 model reaches in 37 seconds by tslens and Muon the loss to which HookedTransformer takes 134
and transformers 74, both by AdamW; by AdamW too, tslens makes 2.5 times the tokens per second of HookedTransformer (2.5
to 2.7) and 1.4 times those of transformers, and ends 0.02 and 0.03 nats behind them in this one run.

How fast does one model learn by tslens, by HookedTransformer as it trains by itself, and by transformers, against the
tokens and against the clock?

One shape, the same rows of real stories in the same order. The peers and one of ours learn by the same AdamW, its rate
tuned in `analyses/optimizers.py`; another of ours as recipes choose, by Muon. Each computes as its users would:
HookedTransformer in float32, GPT2LMHeadModel under bf16 autocast where the machine has it, ours in the fused forward.
One seed; by this AdamW the three of `analyses/optimizers.py` end 0.04 nats apart. All take turns, some steps each, so
that whatever else the machine does hits all. `python analyses/peers.py --stories FILE` wants a quiet machine.
"""

import argparse
import time
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import torch

from tslens import forward
from tslens.bench.measure import median
from tslens.bench.peers import GPT2, HOOKED_FP32, OURS, PeerModel, TrainingSetup, peer
from tslens.bench.table import facts, number, sentence
from tslens.forward.precision import worthwhile
from tslens.models import Spec
from tslens.plots import panels, save
from tslens.progress import track
from tslens.stories import stories
from tslens.stories.pack import pack
from tslens.tokenizer import Tokenizer
from tslens.train.data import Rows
from tslens.train.optimizer import OptimizerSettings, learning_rate, set_muon_dtype, set_rate
from tslens.train.precision import muon_speedup

CPU = torch.device("cpu")
FIGURES = Path(__file__).resolve().parents[1] / "figures" / "peers"
ADAMW = OptimizerSettings(method="adamw", lr=4e-3, schedule="wsd")
MUON = OptimizerSettings(method="muon", lr=1e-2, schedule="wsd")
COMPARED = {
    "tslens, Muon": (OURS, MUON),
    "tslens, AdamW": (OURS, ADAMW),
    "HookedTransformer, AdamW": (HOOKED_FP32, ADAMW),
    "GPT2LMHeadModel, AdamW": (GPT2, ADAMW),
}
"""Who is compared, and what moves it; ours and HookedTransformer's begin with the same weights."""
BATCH, CONTEXT, VOCABULARY = 8, 256, 2048
TURN = 10  # steps of one side before the next has its turn
JUDGED = 64  # validation rows

parser = argparse.ArgumentParser(description="Train beside HookedTransformer and transformers, and draw figures/peers.")
parser.add_argument("--stories", default="made")
parser.add_argument("--shape", default="128x4")
parser.add_argument("--tokens", type=int, default=1_000_000)
parser.add_argument("--figures", type=Path, default=FIGURES)
asked = parser.parse_args()
known = sentence(facts())  # the load is that before it began


@dataclass
class Side:
    """A peer, what moves it, and the seconds of its turns."""

    made: PeerModel
    settings: OptimizerSettings
    seconds: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.optimizer = self.made.optimizer(self.settings)
        if self.settings.method == "muon":
            set_muon_dtype(self.optimizer, worthwhile(muon_speedup(self.made.model, CPU)))

    def step(self, rows: torch.Tensor, number: int, steps: int) -> None:
        """One step on these rows."""
        set_rate(self.optimizer, learning_rate(self.settings, number, steps))
        self.made.step(rows, self.optimizer, self.settings.clip)

    @torch.no_grad()
    def judged(self, rows: torch.Tensor) -> float:
        """The mean loss on these rows."""
        return float(np.mean([float(self.made.loss(piece)) for piece in rows.split(BATCH)]))


training, held_out = (list(stories(asked.stories, split=split)) for split in ("train", "validation"))
tokenizer = Tokenizer.train(training, VOCABULARY)
scratch = TemporaryDirectory()
packed = [
    Rows(pack(texts, tokenizer, Path(scratch.name) / name, source=asked.stories), CONTEXT, BATCH, 0)
    for texts, name in ((training, "training"), (held_out, "validation"))
]
rows, validation = packed[0], torch.cat([packed[1].batch(i).tokens for i in range(JUDGED // BATCH)])
spec = Spec.parse(asked.shape, d_vocab=VOCABULARY, n_ctx=CONTEXT + 1)  # the peers read the last token of a row too
steps = round(asked.tokens / (BATCH * CONTEXT) / TURN) * TURN
setup = TrainingSetup(spec, forward.dtype_for("auto", spec, CPU), all_predicted=True)
compared = {name: Side(peer(who, setup), settings) for name, (who, settings) in COMPARED.items()}
records = []
for turn in track(range(0, steps, TURN), "turns"):
    batches = [rows.batch(at).tokens for at in range(turn, turn + TURN)]
    for name, side in compared.items():
        began = time.perf_counter()
        for at, batch in enumerate(batches, turn):
            side.step(batch, at, steps)
        side.seconds.append(time.perf_counter() - began)
        if (turn // TURN) % 4 == 3 or turn + TURN == steps:
            records.append({"side": name, "tokens": (turn + TURN) * BATCH * CONTEXT, "seconds": sum(side.seconds)})
            records[-1]["validation loss"] = side.judged(validation)
curves = pd.DataFrame(records)

common = max(curves[curves["side"] == name]["validation loss"].iloc[-1] for name in compared)  # which all reach
answers = []
for name, side in compared.items():
    own = curves[curves["side"] == name]
    ratio = median(np.array(compared["HookedTransformer, AdamW"].seconds) / np.array(side.seconds))
    reached = own[own["validation loss"] <= common]
    answers.append(
        {
            "trained by": name,
            "tokens/s": TURN * BATCH * CONTEXT / np.median(side.seconds),
            "times HookedTransformer's": ratio.estimate,
            "low": ratio.low,
            "high": ratio.high,
            "validation loss": own["validation loss"].iloc[-1],
            "seconds": own["seconds"].iloc[-1],
            f"seconds to {common:.2f} nats": reached["seconds"].iloc[0],
        }
    )
answer = pd.DataFrame(answers)
written = ["| " + " | ".join(answer.columns) + " |", "|" + " --- |" * len(answer.columns)]
for row in answer.itertuples(index=False):
    cells = (cell if isinstance(cell, str) else number(cell) for cell in row)
    written.append("| " + " | ".join(cells) + " |")
print(answer.to_string(index=False, float_format="{:.3f}".format))


def chart(x: str, scale: float, label: str) -> dict[str, Any]:
    by_side = {name: curves[curves["side"] == name] for name in compared}
    return {
        "series": {name: own["validation loss"].to_numpy() for name, own in by_side.items()},
        "x": {name: own[x].to_numpy() * scale for name, own in by_side.items()},
        "title": f"{asked.shape}, validation",
        "x_label": label,
        "y_label": "nats per token",
    }


figure = panels(chart("tokens", 1e-6, "million tokens"), chart("seconds", 1.0, "seconds"))
save(figure, asked.figures / "peers.svg", curves)
answer.to_csv(asked.figures / "answer.csv", index=False)
(asked.figures / "table.md").write_text("\n".join([*written, "", known, ""]), encoding="utf-8")
