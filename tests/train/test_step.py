"""A step computed in pieces, or compiled, is the same step."""

import subprocess
import sys

import numpy as np
import pytest

from tslens import runs
from tslens.train import recipe as recipes
from tslens.train import session
from tslens.train.estimate import estimate
from tslens.train.objectives.language import LanguageModelling

ADAMW = {"optimizer.method": "adamw", "optimizer.lr": "2e-3"}  # Muon makes much of a difference in rounding


@pytest.mark.thorough
def test_gradient_accumulation_gives_the_same_model(in_tmp, monkeypatch, train_of, largest_difference):
    rows, compute = [], LanguageModelling.__call__

    def counted(self, model, batch, *rest):
        rows.append(len(batch.tokens))
        return compute(self, model, batch, *rest)

    monkeypatch.setattr(LanguageModelling, "__call__", counted)
    train_of("one", **ADAMW)
    train_of("parts", **ADAMW, **{"train.micro_batch": "2"})
    assert rows == [4] * 12 + [2, 2] * 12
    assert largest_difference("one", "parts") < 2e-4


COMPILED = """
import sys
from functools import partial
import torch
from tslens.train import recipe, session
torch.compile = partial(torch.compile, backend="aot_eager")
overrides = eval(sys.argv[1])
for name, compiled in (("plain", "false"), ("compiled", "true")):
    chosen = recipe.load("16x1x2", overrides | {"train.steps": "3", "train.compile": compiled})
    session.train(chosen, name)
"""


@pytest.mark.thorough
@pytest.mark.parametrize(("precision", "apart"), [("float32", 1e-6), ("bfloat16", 1e-2)])
def test_a_compiled_step_gives_the_same_model(in_tmp, largest_difference, small, precision, apart):
    """Traced and differentiated ahead of time as in full; only the code generator is left out, for its minutes. In a
    process of its own, because the shape checks of the tests cannot be traced."""
    chosen = repr(small | ADAMW | {"train.precision": precision, "train.validate_every": "1"})
    subprocess.run([sys.executable, "-c", COMPILED, chosen], check=True, timeout=300, capture_output=True)
    plain, compiled = (
        [(record["train_loss"], record["gradient_norm"]) for record in runs.read_metrics(in_tmp / "runs" / name)]
        for name in ("plain", "compiled")
    )
    assert len(plain) == 3 and np.allclose(plain, compiled, rtol=apart, atol=0)
    assert precision == "bfloat16" or largest_difference("plain", "compiled") < 1e-5


def test_a_machine_without_a_compiler_says_so_before_anything_is_written(in_tmp, run_of, small, monkeypatch):
    begun = run_of("begun", **{"train.compile": "true"})
    monkeypatch.setenv("CXX", "no-such-compiler")
    chosen = recipes.load("16x1x2", small | {"train.compile": "true"})
    for refused in (
        lambda: session.prepare(chosen, "new"),
        lambda: estimate(chosen),
        lambda: session.resume(begun.folder.name),
    ):
        with pytest.raises(ValueError, match=r"train.compile needs a C\+\+ compiler.*Install g\+\+"):
            refused()
    assert [place.name for place in (in_tmp / "runs").iterdir() if place.name[0] != "."] == ["begun"]
    assert not (begun.folder / "checkpoints").exists()
