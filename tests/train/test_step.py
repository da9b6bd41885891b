"""A step computed in pieces, or compiled, is the same step."""

import subprocess
import sys

from tslens.train import loop
from tslens.train.objectives.language import LanguageModelling

ADAMW = {"optimizer.method": "adamw", "optimizer.lr": "2e-3"}  # Muon makes much of a difference in rounding


def test_gradient_accumulation_gives_the_same_model(in_tmp, monkeypatch, run_of, largest_difference):
    rows, compute = [], LanguageModelling.__call__

    def counted(self, model, batch, *rest):
        rows.append(len(batch.tokens))
        return compute(self, model, batch, *rest)

    monkeypatch.setattr(LanguageModelling, "__call__", counted)
    loop.train(run_of("one", **ADAMW))
    loop.train(run_of("parts", **ADAMW, **{"train.micro_batch": "2"}))
    assert rows == [4] * 12 + [2, 2] * 12
    assert largest_difference("one", "parts") < 2e-4


COMPILED = """
import sys
from functools import partial
import torch
from tslens.train import loop, recipe
from tslens.train.prepare import prepare
torch.compile = partial(torch.compile, backend="aot_eager")
overrides = eval(sys.argv[1])
for name, compiled in (("plain", "false"), ("compiled", "true")):
    chosen = recipe.load("16x1x2", overrides | {"train.steps": "3", "train.compile": compiled})
    loop.train(prepare(chosen, name, progress=False))
"""


def test_a_compiled_step_gives_the_same_model(in_tmp, largest_difference, small):
    """Traced and differentiated ahead of time as in full; only the code generator is left out, for its minutes. In a
    process of its own, because the shape checks of the tests cannot be traced."""
    subprocess.run([sys.executable, "-c", COMPILED, repr(small | ADAMW)], check=True, timeout=300, capture_output=True)
    assert largest_difference("plain", "compiled") < 1e-5
