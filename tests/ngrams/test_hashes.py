"""Files of an index that were altered, of whatever size they are left, are noticed; a copy of the folder is not."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tslens import ngrams
from tslens.errors import InputError
from tslens.evaluation.copies.neighbours import neighbours
from tslens.ngrams.hashes import NAME
from tslens.ngrams.index import Index

TEXTS = ["Tom had a ball. The ball was red.", "A cat saw Tom. It ran.", "The red cat had a hat."]


@pytest.fixture
def index(tmp_path: Path) -> Index:
    found = ngrams.build(TEXTS, tmp_path / "index")
    neighbours(found)
    return found


def altered(path: Path) -> None:
    """Another byte in a file of the same size."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 1))  # however coarse the clock of the disk


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize("change", [altered, cut, Path.unlink])
def test_every_file_is_checked(index: Index, change: Callable[[Path], None]) -> None:
    beside = neighbours(index).folder
    for folder in (index.folder, beside):
        for name in sorted(path.name for path in folder.iterdir()):
            if not (folder / name).stat().st_size or name in ("index.json", NAME):
                continue  # nothing to alter; the records are altered by other tests
            data, times = (folder / name).read_bytes(), (folder / name).stat()
            change(folder / name)
            with pytest.raises(InputError, match=f"{name} was altered or cut off. Remove .*: it is made again"):
                neighbours(ngrams.open_index(index.folder))
            (folder / name).write_bytes(data)
            os.utime(folder / name, ns=(times.st_atime_ns, times.st_mtime_ns))
        neighbours(ngrams.open_index(index.folder))


def test_a_copy_is_read_and_known_again(index: Index, tmp_path: Path) -> None:
    copy = shutil.copytree(index.folder, tmp_path / "copy", copy_function=shutil.copyfile)
    assert {path.stat().st_mtime_ns for path in copy.iterdir()} != {
        p.stat().st_mtime_ns for p in index.folder.iterdir()
    }
    assert ngrams.open_index(copy).count("the red") == index.count("the red") == 1


@pytest.mark.parametrize("said", ["[]", "{", '{"../index.json": [1, 2, "a"]}', '{"words.bin": 3}', '{"words.bin": []}'])
def test_a_record_of_hashes_that_was_altered_is_refused(index: Index, said: str) -> None:
    (index.folder / NAME).write_text(said)
    with pytest.raises(InputError, match="altered.*. Remove .*: it is made again"):
        ngrams.open_index(index.folder)
