"""`tslens eval write` and `tslens eval cost`: what is printed, what is written, what stays after Ctrl-C."""

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tslens import cli, runs
from tslens.evaluation.writing import WritingResult
from tslens.evaluation.writing.cost import CostResult
from tslens.evaluation.writing.store import Store
from tslens.models import Spec, build, weights
from tslens.tokenizer import Tokenizer

WRITE = ["eval", "write", "--n", "2", "--beams", "2", "--limit-tokens", "8", "--prompts", "p.txt"]


@pytest.fixture
def two(in_tmp: Path, made_words: Tokenizer) -> Path:
    """A folder with two small models, `runs/a` and `runs/b`, and three prompts."""
    spec = Spec(8, 1, 2, d_vocab=made_words.size, n_ctx=48)
    for seed, name in enumerate("ab"):
        run = in_tmp / "runs" / name
        runs.write(run, {"spec": spec.to_dict(), "tokenizer": made_words.hash}, weights(build(spec, seed=seed)))
        made_words.save(run / runs.TOKENIZER)
    (in_tmp / "p.txt").write_text("Once upon a time\nThe cat\nTom went\n")
    return in_tmp


def test_completions_of_two_models(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*WRITE, "--model", "a", "--model", "b", "--out", "found", "--store", "kept"]) == 0
    assert "story ended" in capsys.readouterr().out
    names = sorted(p.name for p in (two / "found").iterdir())
    assert names == ["WritingResult", "completions.jsonl", "side-by-side.csv", "writing.csv", "writing.svg"]
    rows = [json.loads(line) for line in (two / "found" / "completions.jsonl").read_text().splitlines()]
    assert len(rows) == 2 * 3 * (2 + 1) == len(pd.read_csv(two / "found" / "writing.csv"))
    assert [row["model"] for row in rows] == ["a"] * 9 + ["b"] * 9
    assert len(list((two / "kept").glob("*.jsonl"))) == 2
    assert WritingResult.load(two / "found").models == ["a", "b"]


def test_models_of_one_name_are_told_apart(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(two / "runs" / "b", two / "others" / "a")
    both = [*WRITE, "--model", "runs/a", "--model", "others/a", "--store", "kept"]
    assert cli.main([*both, "--out", "found"]) == 0
    assert WritingResult.load(two / "found").models == ["runs/a", "others/a"]
    assert cli.main([*WRITE, "--model", "a", "--model", "a", "--store", "kept"]) == 2
    assert capsys.readouterr().err.endswith("--model a is given twice; give each model once.\n")


def test_what_was_written_before_an_interrupt_is_kept(
    two: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    add = Store.add

    def interrupted(self: Store, key: str, made: Any) -> None:
        if len(self.kept) == 4:
            raise KeyboardInterrupt
        add(self, key, made)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "add", interrupted)
        assert cli.main([*WRITE, "--model", "a", "--out", "found", "--store", "kept"]) == 130
    said = capsys.readouterr().err
    assert "what was written is kept in kept, and the same command goes on from there" in said
    assert not (two / "found").exists()
    (place,) = (two / "kept").glob("*.jsonl")
    before = place.read_text()
    assert len(before.splitlines()) == 5
    assert cli.main([*WRITE, "--model", "a", "--store", "kept"]) == 0
    assert place.read_text().startswith(before) and len(place.read_text().splitlines()) == 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--prompts", "p.txt"], "give --model, the models that write"),
        (["--prompts", "none.txt", "--model", "a"], "there is no file of prompts none.txt"),
        (["--prompts", "p.txt", "--model", "a", "--n", "0", "--beams", "0"], "neither may be negative, nor both 0"),
        (["--prompts", "p.txt", "--model", "a", "--temperature", "-1"], "temperature is -1.0"),
    ],
)
def test_refusals(two: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["eval", "write", *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1


def test_the_cost_of_a_model_and_of_a_shape(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["eval", "cost", "--model", "a", "--shape", "8x1", "--batch", "2", "--tokens", "6", "--repeats", "2"]
    assert cli.main([*asked, "--out", "found", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [row["weights"] for row in record["rows"]] == ["trained", "random"]
    assert CostResult.load(two / "found").batches == [2]
