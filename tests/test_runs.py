import errno
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tslens import files, runs

TENSORS = {"w": torch.arange(6.0).view(2, 3), "half": torch.ones(2, dtype=torch.bfloat16)}


def everything(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


# Names


@pytest.mark.parametrize("name", ["512x12", "demo", "a.b_c-d", "run+1=2", "_x", "A" * 100])
def test_names_of_folders(name: str) -> None:
    assert runs.safe_name(name) == name


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../../x", "a/b", "/etc", "a\\b", ".hidden", "-rf", "a\n", "a b", "A" * 101]
)
def test_names_that_lead_elsewhere(name: str, refused: Any) -> None:
    with refused("cannot be a run's name"):
        runs.run_folder(name)


def test_runs_are_whole_models(in_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert runs.by_name() == {}
    for name in ("b", "a"):
        runs.write(runs.run_folder(name), {}, TENSORS)
    (in_tmp / "runs" / "begun").mkdir()
    (in_tmp / "runs" / "begun" / "metrics.jsonl").write_text("{}\n")
    assert runs.by_name() == {"a": Path("runs/a"), "b": Path("runs/b")}
    monkeypatch.setenv("TSLENS_RUNS", str(in_tmp / "other"))
    assert runs.by_name() == {}


def test_a_loss_that_no_float_holds_is_refused(in_tmp: Path, refused: Any) -> None:
    for file in (runs.METRICS, runs.STEPS):
        Path(file).write_text('{"step": 1, "train_loss": 2.5}\n{"step": 2, "train_loss": 1%s}\n' % ("0" * 400))
        with refused(f"{file}, line 2 has a number of over 308 digits. It was altered; take that line out."):
            runs.read_metrics(".", file)


# Writing


def test_round_trip(tmp_path: Path) -> None:
    runs.write(tmp_path / "new" / "run", {"spec": {"d_model": 2}, "name": "é"}, TENSORS)
    config, tensors = runs.read(tmp_path / "new" / "run")
    assert config["spec"] == {"d_model": 2}
    assert config["name"] == "é"
    assert config["sha256"] == files.sha256(tmp_path / "new" / "run" / runs.WEIGHTS)
    assert tensors.keys() == TENSORS.keys()
    assert all(torch.equal(tensors[k], t) and tensors[k].dtype == t.dtype for k, t in TENSORS.items())
    assert sorted(everything(tmp_path / "new" / "run")) == ["config.json", "model.safetensors"]


def test_a_disk_that_fills_while_writing(tmp_path: Path) -> None:
    """The kernel's own refusal, at 4 kB a file: the run that was there is still whole, and nothing else is left."""
    runs.write(tmp_path, {"step": 1}, TENSORS)
    before = everything(tmp_path)
    held, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, held[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            runs.write(tmp_path, {"step": 2}, {"w": torch.zeros(5000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, held)
        signal.signal(signal.SIGXFSZ, handler)
    assert everything(tmp_path) == before
    assert runs.read(tmp_path)[0]["step"] == 1


def test_killed_at_any_moment_a_folder_is_a_whole_model_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.write(tmp_path, {"step": 1}, TENSORS)
    real, done, at = os.replace, [], [0]

    def dies(source: str, target: str) -> None:
        if len(done) == at[0]:
            raise KeyboardInterrupt
        done.append(target)
        real(source, target)

    monkeypatch.setattr(os, "replace", dies)
    for at[0] in (0, 1):
        done.clear()
        with pytest.raises(KeyboardInterrupt):
            runs.write(tmp_path, {"step": 2}, {"w": torch.ones(3)})
        if (tmp_path / runs.CONFIG).exists():
            assert runs.read(tmp_path)[0]["step"] == 1
    assert not (tmp_path / runs.CONFIG).exists()  # new weights, and no config to vouch for others


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A superuser writes anywhere: what the system would answer others is made up for him."""

    def refuse(path: Any, *_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    tmp_path.chmod(0o500)
    if os.geteuid() == 0:
        monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(PermissionError):
        runs.write(tmp_path / "run", {}, TENSORS)
    assert everything(tmp_path) == {}


def test_a_file_where_a_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file")
    with pytest.raises(OSError, match="run"):
        runs.write(tmp_path / "run", {}, TENSORS)
    assert everything(tmp_path) == {"run": b"a file"}


# Reading


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    runs.write(tmp_path / "run", {}, TENSORS)
    return tmp_path / "run"


@pytest.mark.parametrize(
    "spoil",
    [lambda b: b[:-1], lambda b: b"", lambda b: b + b"\0", lambda b: b[:-3] + bytes([b[-3] ^ 1]) + b[-2:]],
    ids=["truncated", "empty", "longer", "one bit"],
)
def test_altered_weights_are_refused(folder: Path, spoil: Any, refused: Any) -> None:
    path = folder / runs.WEIGHTS
    path.write_bytes(spoil(path.read_bytes()))
    with refused(r"was truncated or altered: its SHA-256 is .*Restore it"):
        runs.read(folder)


def test_missing_weights(folder: Path) -> None:
    (folder / runs.WEIGHTS).unlink()
    with pytest.raises(ValueError, match=r"model\.safetensors is missing"):
        runs.read(folder)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (b'{"format": 1', "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b'{"format": 9}', "format 1"),
        (b"[]", "format 1"),
    ],
)
def test_configs_that_are_none(folder: Path, config: bytes, said: str, refused: Any) -> None:
    (folder / runs.CONFIG).write_bytes(config)
    with refused(said):
        runs.read(folder)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"tokens": "many"}, "tokens is 'many'; it must be a whole number"),
        ({"step": True}, "step is True; it must be a whole number"),
        ({"validation_loss": [2.5]}, r"validation_loss is \[2.5\]; it must be a number"),
        ({"recipe": "256x8"}, "recipe is '256x8'; it must be a table"),
        ({"recipe": {"train": 3}}, "recipe.train is 3; it must be a table"),
        ({"recipe": {"objective": {"name": 3}}}, "recipe.objective.name is 3; it must be text"),
        ({"data": ["a.txt"]}, r"data is \['a.txt'\]; it must be a table"),
        ({"data": {"source": 3}}, "data.source is 3; it must be text"),
        ({"data": {"digests": "abc"}}, "data.digests is 'abc'; it must be a table"),
    ],
)
def test_a_config_of_wrong_types_is_refused(tmp_path: Path, fields: dict[str, Any], said: str, refused: Any) -> None:
    runs.write(tmp_path / "run", fields, TENSORS)
    with refused(rf"run/config.json was altered: {said}. Restore it, or resume"):
        runs.read(tmp_path / "run")


def test_a_config_without_its_hash_is_refused(folder: Path, refused: Any) -> None:
    config = runs.read_config(folder)
    del config["config_sha256"]
    files.write_json(folder / runs.CONFIG, config)
    with refused("config.json was altered: it has no 'config_sha256'. Restore it"):
        runs.read_config(folder)


def test_a_planted_pickle_is_not_run(folder: Path, planted: bytes) -> None:
    """Even one whose hash the config vouches for."""
    path = folder / runs.WEIGHTS
    path.write_bytes(planted)
    with pytest.raises(ValueError, match="truncated or altered"):
        runs.read(folder)
    runs.change_config(folder, {"sha256": files.sha256(path)})
    with pytest.raises(ValueError, match="is not safetensors"):
        runs.read(folder)


def test_nothing_heavy_is_imported() -> None:
    heavy = "('transformers', 'matplotlib', 'datasets')"
    code = f"import sys, tslens.runs; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_only_numbered_folders_are_steps(tmp_path):
    for name in ("step-000004", "step-000012", "step-²", "step-", "step-12.damaged"):
        (tmp_path / name).mkdir()
    assert [runs.step_of(place) for place in runs.steps(tmp_path)] == [12, 4]
