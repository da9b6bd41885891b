"""`tslens analyze circuit` and `tslens analyze composition`: what is printed, what is written, what is refused."""

import json
from functools import partial
from pathlib import Path

import pytest

from tslens import cli, runs
from tslens.analysis import circuits
from tslens.models import Spec, build, load, story_tokenizer_of, weights


@pytest.fixture
def tiny(in_tmp: Path) -> Path:
    """The folder with an untrained model of two layers in the bundled model's tokens, `runs/tiny`."""
    tokenizer = story_tokenizer_of(load("stories2M"))
    spec = Spec(8, 2, 2, d_vocab=tokenizer.size, n_ctx=64)
    run = in_tmp / "runs" / "tiny"
    runs.write(run, {"spec": spec.to_dict(), "tokenizer": tokenizer.hash}, weights(build(spec)))
    tokenizer.save(run / runs.TOKENIZER)
    return in_tmp


def test_a_model_that_cannot_is_told_so_and_drawn(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        cli.main(["analyze", "circuit", "colour", "--model", "tiny", "--pairs", "40", "--twins", "2", "--out", "found"])
        == 0
    )
    printed = capsys.readouterr().out
    assert "tiny does not do the task 'colour'" in printed and "tiny does not do this (colour)" in printed
    names = sorted(path.name for path in (tiny / "found").iterdir())
    figures = [f"{name}.{kind}" for name in ("accuracy", "circuit", "twins-of-task") for kind in ("csv", "svg")]
    assert names == ["AccuracyResult", "CircuitResult", *figures[:4], "of-task", *figures[4:]]
    assert "On 40 pairs: " in printed and "prompts answered rightly (" in printed and "twins: " in printed
    assert not circuits.CircuitResult.load(tiny / "found").does


@pytest.mark.thorough  # the whole search, five times
def test_a_circuit_of_the_bundled_model_with_its_patching_and_controls(
    in_tmp: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = partial(circuits.circuit, random=20, others=1, donated=1, resamples=2)
    monkeypatch.setattr(circuits, "circuit", few)
    assert cli.main(["analyze", "circuit", "object", "--model", "stories2M", "--pairs", "16", "--json"]) == 0
    printed = capsys.readouterr()
    assert "No untrained twin is asked: an interval of their counts takes 20 pairs, and there are 16." in printed.err
    accuracy, patching, circuit = json.loads(printed.out)
    assert accuracy["does"] and patching["result"] == "PatchingResult" and len(patching["agreement"]) == 4
    assert circuit["verdict"].startswith("stories2M, object: accuracy") and "MLP 0" in circuit["verdict"]
    controls = " ".join(row["control"] for row in circuit["evidence"])
    for word in ("random sets", "nonsense", "permuted twin", "adversarial", "Jaccard", "equivalence", "independence"):
        assert word in controls


@pytest.mark.thorough
def test_composition_paths_and_the_tokens_of_a_head(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["analyze", "composition", "--model", "tiny", "--head", "1.0", "--stories", "made", "--limit", "12"]
    command += ["--twins", "2"]
    assert cli.main([*command, "--out", "found"]) == 0
    printed = capsys.readouterr().out
    assert "attended" in printed and "induction" in printed and "random rotations (untrained twins: " in printed
    names = {path.name for path in (tiny / "found").iterdir()}
    assert {"tokens.svg", "composition.svg", "paths-on-random-tokens.csv", "paths-on-stories.svg"} <= names


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["circuit", "pronouns"], "no task 'pronouns'. Did you mean 'pronoun'"),
        (["circuit", "object", "--pairs", "3"], "3 pairs were asked for"),
        (["composition", "--head", "3"], "--head takes LAYER.HEAD, such as 3.2; got '3'"),
        (["composition", "--head", "9.9"], "no head 9.9"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    command: list[str], said: str, tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["analyze", *command, "--model", "tiny"]) == 2
    message = capsys.readouterr().err
    assert said in message and len([line for line in message.splitlines() if line.startswith("tslens:")]) == 1
