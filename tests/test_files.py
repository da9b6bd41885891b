"""A file or a folder is there whole or not at all; hashes tell one from another."""

import errno
import hashlib
import io
import os
from pathlib import Path

import pytest
from rich.console import Console

from tslens import files, lock, progress
from tslens.evaluation.writing import store as completions
from tslens.llm.store import AnswerStore


def everything(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_an_exception_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), files.atomic(path) as file:
        file.write("ne")
        raise KeyboardInterrupt
    assert everything(tmp_path) == {"file": b"old"}
    with files.atomic(path) as file:
        file.write("né")
        assert path.read_text() == "old"  # until it is whole
    assert everything(tmp_path) == {"file": "né".encode()}


def test_a_full_disk_while_syncing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files.write_json(tmp_path / "a.json", {"old": 1})
    before = everything(tmp_path)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        files.write_json(tmp_path / "a.json", {"new": 2})
    assert everything(tmp_path) == before


def test_a_full_disk_under_a_library_in_rust_is_the_systems_error(tmp_path: Path) -> None:
    from safetensors import SafetensorError

    for words in ("Error while serializing: I/O error: {} (os error {})", "{} (os error {})"):
        for kind in (SafetensorError, Exception):
            said = words.format(os.strerror(errno.ENOSPC), errno.ENOSPC)
            with pytest.raises(OSError, match="No space left") as raised, files.atomic_folder(tmp_path / "a") as made:
                (made / "half").write_text("half")
                raise kind(said)
            assert raised.value.errno == errno.ENOSPC and raised.value.filename == str(tmp_path / "a")
    with pytest.raises(OSError, match="No space left"), files.atomic_folder(tmp_path / "a"):
        raise OSError("100 requested and 25 written")  # as ndarray.tofile says it
    with pytest.raises(SafetensorError, match="invalid header"), files.atomic_folder(tmp_path / "a"):
        raise SafetensorError("invalid header")
    assert everything(tmp_path) == {}


def test_an_error_names_what_was_given_and_no_scratch(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file/sub", Path(os.devnull) / "x"):
        with pytest.raises(OSError) as raised, files.atomic_folder(place):
            pass
        assert raised.value.filename == str(place)
    with pytest.raises(OSError) as raised, files.atomic(tmp_path / ("n" * 250)):
        pass
    assert raised.value.filename == str(tmp_path / ("n" * 250))
    with pytest.raises(OSError) as raised, files.atomic_folder(tmp_path / "new") as made:
        (made / "lacking").read_text()
    assert raised.value.filename == str(tmp_path / "new/lacking")


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    place = tmp_path / "new/answer"
    with files.atomic_folder(place) as scratch:
        (scratch / "inner").mkdir()
        (scratch / "inner/a.txt").write_text("first")
        assert not place.exists()
    assert everything(tmp_path) == {"new/answer/inner/a.txt": b"first"}
    with pytest.raises(RuntimeError), files.atomic_folder(place) as scratch:
        (scratch / "b.txt").write_text("half")
        raise RuntimeError
    assert everything(tmp_path) == {"new/answer/inner/a.txt": b"first"}
    with files.atomic_folder(place) as scratch:
        (scratch / "b.txt").write_text("second")
    assert everything(tmp_path) == {"new/answer/b.txt": b"second"}
    assert [p.name for p in place.parent.iterdir()] == ["answer"]


@pytest.mark.parametrize("dies_at", range(4))
def test_at_no_moment_new_files_count_by_the_old_marker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies_at: int
) -> None:
    """Killed before the n-th of its changes to the folder, the marker is that of the files beside it, or absent."""
    for name in ("a", "b", "marker"):
        (tmp_path / name).write_text("old")
    (tmp_path / "mine").write_text("mine")
    changes = 0

    def dying(real):
        def change(*args, **options):
            nonlocal changes
            if Path(args[0]).parent.name.endswith(".tmp") or Path(args[0]).name == "marker":
                if changes == dies_at:
                    raise KeyboardInterrupt
                changes += 1
            return real(*args, **options)

        return change

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", dying(os.replace))
        patch.setattr(os, "unlink", dying(os.unlink))
        with pytest.raises(KeyboardInterrupt), files.atomic_files(tmp_path, ("a", "b", "marker")) as scratch:
            for name in ("a", "b", "marker"):
                (scratch / name).write_text("new")
    found = {name: (tmp_path / name).read_text() for name in ("a", "b", "marker") if (tmp_path / name).exists()}
    assert "marker" not in found or set(found.values()) == {found["marker"]}
    assert (tmp_path / "mine").read_text() == "mine"


def test_what_a_kill_left_is_swept_of_one_name_or_of_all(tmp_path: Path) -> None:
    for name in (".a.1f.tmp", ".b.2e.tmp", "c.tmp", ".hidden"):
        (tmp_path / name).touch()
    (tmp_path / ".a.77.tmp").mkdir()
    (tmp_path / ".a.77.tmp/half").touch()
    files.sweep(tmp_path, "a")
    assert sorted(p.name for p in tmp_path.iterdir()) == [".b.2e.tmp", ".hidden", "c.tmp"]
    files.sweep(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [".hidden", "c.tmp"]


def test_hashes_are_those_of_the_bytes_in_however_many_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PIECE", 3)
    for name, content in (("a", b"Tom met a cat"), ("b", b"")):
        (tmp_path / name).write_bytes(content)
    expected = [hashlib.blake2b(content, digest_size=16).hexdigest() for content in (b"Tom met a cat", b"")]
    assert files.blake2b([tmp_path / "a", tmp_path / "b"]) == expected


def test_hashing_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"Tom" * 100)
    shown = io.StringIO()
    monkeypatch.setattr(progress, "_stderr", lambda: Console(file=shown, force_terminal=True, width=100))
    found = files.blake2b([tmp_path / "a"])
    assert "checking" in shown.getvalue() and "300/300 bytes" in shown.getvalue()
    with progress.off():
        assert files.blake2b([tmp_path / "a"]) == found


def test_what_a_killed_writer_left_goes_with_the_next_and_what_a_living_one_writes_stays(tmp_path: Path) -> None:
    (tmp_path / ".a.1f.tmp").write_text("half")
    (tmp_path / ".a.2e.tmp").mkdir()
    (tmp_path / ".b.3d.tmp").touch()
    with files.atomic(tmp_path / "a") as first:
        first.write("first")
        with files.atomic(tmp_path / "a") as second:
            second.write("second")
        assert len([p for p in tmp_path.iterdir() if p.name.startswith(".a.")]) == 1
    assert everything(tmp_path) == {".b.3d.tmp": b"", "a": b"first"}
    with files.scratch_folder(tmp_path, "b") as scratch:
        assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["a", scratch.name])
    assert everything(tmp_path) == {"a": b"first"}


@pytest.mark.parametrize("at", ["touch", "_lock", "open"])
def test_ctrl_c_at_any_moment_leaves_nothing(at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also between making the scratch file and taking its lock, and just after."""
    owner = files if at == "_lock" else Path
    real = getattr(owner, at)

    def pressed(*given: object, **named: object) -> None:
        made = real(*given, **named)
        if at == "open":
            made.close()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(owner, at, pressed)
        with pytest.raises(KeyboardInterrupt), files.atomic(tmp_path / "x"):
            pass
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_said_with_the_file_that_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write to an open file names none; what fails for another reason, such as a connection, is left as it is."""

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for write in (files.atomic, files.atomic_folder):
        with pytest.raises(OSError, match="No space left") as raised, write(tmp_path / "its.txt"):
            full()
        assert raised.value.filename == str(tmp_path / "its.txt")
    with pytest.raises(ConnectionError) as lost, files.atomic(tmp_path / "its.txt"):
        raise ConnectionResetError(errno.ECONNRESET, "reset")
    assert lost.value.filename is None
    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left") as raised, lock.held(tmp_path / "its"):
        pass
    assert raised.value.filename == str(tmp_path / "its")


def test_an_answer_that_the_disk_does_not_hold_names_its_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    store = AnswerStore(tmp_path / "answers.jsonl")
    with pytest.raises(OSError, match="No space left") as raised, store.writing():
        monkeypatch.setattr(os, "fsync", full)
        store.intend([], [])
    assert raised.value.filename == str(tmp_path / "answers.jsonl")
    with pytest.raises(OSError, match="No space left") as raised, completions.opened(tmp_path, "m"):
        pass
    assert raised.value.filename == str(tmp_path / "m.jsonl")
