"""What stands where a file is needed is said; no pipe, socket or device is read or written over."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tslens import files
from tslens.errors import InputError
from tslens.parsing import lines
from tslens.paths import absent, as_text, contents, refuse_special


@pytest.fixture
def things(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "broken").symlink_to("nothing")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "device").symlink_to("/dev/zero")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gone", "there is no recipe {}"),
        ("pipe", "{} is a pipe, not a file"),
        ("device", "{} is a device, not a file"),
        ("folder", "{} is a folder, not a file"),
        ("broken", "{} is a link to nothing, which leads to no file"),
        ("circle", "{} is a link to circle, which leads to no file"),
    ],
)
def test_what_is_there_in_words(things: Path, name: str, said: str) -> None:
    assert absent(things / name, "recipe") == said.format(things / name)


@pytest.mark.parametrize("name", ["pipe", "device"])
def test_a_special_file_is_neither_read_nor_replaced(things: Path, name: str) -> None:
    place = things / name
    kind = place.stat().st_mode
    for use in (
        files.read_json,
        files.sha256,
        lambda path: files.blake2b([path]),
        lambda path: files.write_json(path, {}),
    ):
        with pytest.raises(InputError, match=f"{name} is a {name}, not a file; give a plain file"):
            use(place)
    with pytest.raises(InputError, match="give a plain file"), files.atomic_folder(place):
        pass
    assert place.stat().st_mode == kind and sorted(p.name for p in things.iterdir() if p.name.endswith(".tmp")) == []


def test_what_is_left_to_who_opens_it(things: Path) -> None:
    for name in ("file", "folder", "gone", "broken"):
        refuse_special(things / name)


@pytest.mark.parametrize("name", ["", "gone/..", "."])
def test_what_names_no_new_folder_is_refused_before_anything_is_made(in_tmp: Path, name: str) -> None:
    with (
        pytest.raises(InputError, match="names no new folder"),
        files.atomic_folder(name),
    ):
        pass
    assert [*in_tmp.iterdir()] == []


@pytest.mark.skipif(not Path("/proc/self/mem").is_file(), reason="needs a file that opens and cannot be read")
@pytest.mark.parametrize("read", [contents, files.sha256, files.read_json, lambda path: next(lines(path))])
def test_an_error_while_a_file_is_read_names_it(read: Callable[[Path], object]) -> None:
    with pytest.raises(OSError) as raised:
        read(Path("/proc/self/mem"))
    assert raised.value.filename == "/proc/self/mem"


def test_a_file_that_is_read_whole_has_a_bound(tmp_path: Path) -> None:
    (tmp_path / "fits").write_bytes(b"x" * 100)
    assert contents(tmp_path / "fits", 100) == b"x" * 100
    with pytest.raises(InputError, match=r"fits has 100 bytes; of such a file at most 0 MiB are read"):
        contents(tmp_path / "fits", 99)


READ = """
from pathlib import Path
from tslens import files, runs
from tslens.backends import read_backend
from tslens.bench.scan_memory import largest_resident
from tslens.errors import InputError
from tslens.evaluation import suites, writing
from tslens.evaluation.grading import rubric
from tslens.llm.store import AnswerStore
from tslens.ngrams.layout import read_counts
from tslens.train import recipe, validation_stories

large, before = Path("large.toml"), largest_resident()
for read in (
    lambda: read_backend(large),
    lambda: files.read_json(large),
    lambda: runs.read_metrics(".", large.name),
    lambda: suites.suite(str(large)),
    lambda: rubric(str(large)),
    lambda: recipe.load(str(large)),
    lambda: AnswerStore(large),
    lambda: read_counts(large),
    lambda: validation_stories.read(large),
    lambda: runs.read_tensors(large, "0"),
):
    try:
        read()
    except InputError as error:
        print(error)
print(largest_resident() - before)
"""


def test_what_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """Each with the name and the size of the file, of which a process of its own reads nothing."""
    with (tmp_path / "large.toml").open("wb") as file:
        file.truncate(2**30 + 1)
    done = subprocess.run([sys.executable, "-c", READ], cwd=tmp_path, check=True, capture_output=True, text=True)
    *said, weights, grown = done.stdout.splitlines()
    assert len(said) == 9 and "large.toml was truncated or altered: its SHA-256" in weights
    for line in said:
        assert line.startswith("large.toml has 1,073,741,825 bytes; of such a file at most "), line
    assert int(grown) < 100e6


def test_a_name_that_is_no_utf8_is_neither_read_nor_written(tmp_path: Path) -> None:
    """By the library too: not one of these got as far as JSON, pandas or safetensors, which fail on it."""
    place = tmp_path / os.fsdecode(b"caf\xe9.txt")
    place.write_bytes(b"{}")
    with pytest.raises(InputError, match=r"caf\\udce9.txt' is no UTF-8: rename it, or give another name\."):
        files.read_json(place)
    for use in (files.sha256, lambda path: list(lines(path)), lambda path: files.write_json(path, {})):
        with pytest.raises(InputError, match="is no UTF-8"):
            use(place)
    with pytest.raises(InputError, match="is no UTF-8"), files.atomic_folder(place):
        pass
    assert place.read_bytes() == b"{}" and as_text(place.name) == r"caf\udce9.txt"
