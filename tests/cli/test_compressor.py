"""The command line on a compressor: its trunk's heads and neurons, its own loss and stories; one line for the rest."""

import json
from pathlib import Path
from typing import Any

import pytest

from tslens import models, runs
from tslens.cli import main
from tslens.models import spec_of


@pytest.fixture(autouse=True)
def saved(compressor: Any, made_words: Any, made_stories: list[str], in_tmp: Path) -> None:
    """A run called `comp`, and stories."""
    folder = in_tmp / "runs/comp"
    record = {**spec_of(compressor, compressors=True).to_config(), "tokenizer": made_words.hash}
    runs.write(folder, record, models.weights(compressor))
    made_words.save(folder / runs.TOKENIZER)
    (in_tmp / "stories.txt").write_text("\n<|endoftext|>\n".join(made_stories))


ON = ["--model", "comp", "--stories", "stories.txt", "--json"]


@pytest.mark.parametrize(("what", "each"), [("heads", 3), ("neurons", 96)])
def test_heads_and_neurons_of_the_trunk(capsys: pytest.CaptureFixture[str], what: str, each: int) -> None:
    assert main(["analyze", what, *ON]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["model"] == "comp's trunk"
    layers = [row["layer"] for row in told["rows"]]
    assert {layer: layers.count(layer) for layer in layers} == {0: each, 1: each}


def test_loss_and_stories_of_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["loss", *ON]) == 0
    assert json.loads(capsys.readouterr().out)["nats_per_token"] > 0
    assert main(["generate", "--model", "comp", "--prompt", "One day", "--max-new-tokens", "4"]) == 0
    assert capsys.readouterr().out.startswith("One day")


@pytest.mark.parametrize("command", [["report", *ON], ["analyze", "lens", "--model", "comp", "--prompt", "One day"]])
def test_what_a_compressor_has_not_is_one_line(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and said[0].startswith("tslens: A compressor") and not list(Path().glob("*.html"))
