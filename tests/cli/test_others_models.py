"""Commands of evaluation on a compressor, on a llama2.c file, and on the snapshots of a run."""

import json
from pathlib import Path
from typing import Any

import pytest

from tslens import models, runs
from tslens.cli import main
from tslens.models import Spec, spec_of
from tslens.models.export import to_llama2c
from tslens.train import recipe, session

COMMANDS = {
    "suite": "eval facts --completions 1 --twins 0",
    "pairs": "eval pairs --limit 2 --n-gram none",
    "card": "eval card --limit 0 --pairs 2 --n-gram none --twins 0",
    "write": "eval write --prompts prompts.txt --n 1 --limit-tokens 3 --beams 2",
    "beginnings": "eval beginnings --stories stories.txt --n 2 --max-new-tokens 3",
    "copies": "eval copies --stories stories.txt --train stories.txt --limit 12 --tokens 3 --twins 0",
    "cost": "eval cost --shape 16x1 --vocabulary 300 --batch 1 --tokens 2 --repeats 2",
    "loss": "loss --stories stories.txt --limit 4",
}


@pytest.fixture(autouse=True)
def given(made_words: Any, made_stories: list[str], in_tmp: Path) -> None:
    """A run `comp` of a compressor, a llama2.c folder, stories and prompts."""
    shape = {"n_heads": 3, "d_vocab": made_words.size, "n_ctx": 512, "d_encoder": 36}
    compressor = models.build(models.CompressorSpec(24, 1, 2, 2, **shape), tokenizer=made_words)
    record = {**spec_of(compressor, compressors=True).to_config(), "tokenizer": made_words.hash}
    runs.write(in_tmp / "runs/comp", record, models.weights(compressor))
    made_words.save(in_tmp / "runs/comp" / runs.TOKENIZER)
    spec = Spec(16, 1, 2, d_vocab=made_words.size, n_ctx=512, style="llama", rotary_adjacent=True)
    to_llama2c(models.build(spec, tokenizer=made_words), "llama")
    short = [story[: story.find(".", 300) + 1] for story in made_stories]
    Path("stories.txt").write_text("\n<|endoftext|>\n".join(short), encoding="utf-8")
    Path("prompts.txt").write_text("One day\nThe dog\n")


@pytest.mark.parametrize("model", ["comp", "llama2c:llama/model.bin"])
@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_models_of_other_kinds_are_evaluated(words: str, model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words.split(), "--model", model, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)


def test_the_card_is_drawn_over_the_snapshots_of_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    settings = {"data.source": "stories.txt", "data.vocabulary": 300, "model.n_ctx": 64, "train.batch": 2}
    settings |= {"train.steps": 3, "train.validation_stories": 2, "train.precision": "float32"}
    session.train(recipe.load("16x1x2", {key: str(value) for key, value in settings.items()}), "run")
    asked = ["eval", "card", "--model", "run@*", "--limit", "0", "--pairs", "4", "--n-gram", "none", "--twins", "0"]
    assert main([*asked, "--out", "found"]) == 0
    said = capsys.readouterr().out
    steps = [f"run@{step}" for step in (1, 2, 3)]
    assert all(step in said for step in steps)
    drawn = [path.read_text(encoding="utf-8") for path in Path("found").glob("*.svg")]
    assert any("step" in figure and "grammar" in figure for figure in drawn)
