"""`tslens export`: what it writes, says and refuses."""

import resource
from collections.abc import Iterator
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


@pytest.fixture
def small_files() -> Iterator[None]:
    """Files of at most a megabyte, beyond which the system says what it says of a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("small_files")
@pytest.mark.parametrize("to", ["hf", "transformer-lens"])
def test_a_file_that_is_too_large_is_one_line(in_tmp: Path, capsys: pytest.CaptureFixture[str], to: str) -> None:
    assert main(["export", "stories2M", "--to", to, "--out", "out"]) == 2
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("tslens: file too large: out. Raise the limit on the size of a file")
    assert not [*in_tmp.iterdir()]
