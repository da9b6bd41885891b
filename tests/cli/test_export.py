"""`tslens export`: what it writes, says and refuses."""

from pathlib import Path

import pytest

from tslens.cli import main


def test_a_bundled_model_for_transformers(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "stories2M", "--to", "hf"]) == 0
    said = capsys.readouterr().out
    assert 'AutoModelForCausalLM.from_pretrained("stories2M-hf") loads it' in said
    assert 0 < float(said.split("at most ")[1].split(",")[0]) < 1e-4
    assert main(["export", "stories2M", "--to", "hf"]) == 2
    assert "stories2M-hf is there already: remove it" in capsys.readouterr().err
    assert main(["loss", "--model", "hf:stories2M-hf", "--stories", "made", "--limit", "5"]) == 0


def test_what_cannot_be_written(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "stories2M", "--to", "llama2c"]) == 2
    assert "llama2.c cannot run stories2M: its style is not Llama's" in capsys.readouterr().err
    assert main(["export", "stories2M", "--to", "pickle"]) == 2
    assert not [*in_tmp.iterdir()]
