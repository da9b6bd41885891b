"""Files are told apart by their hashes, and one that takes long to read is read under a progress bar."""

import hashlib
from pathlib import Path

import pytest

from tslens.stories import hashing
from tslens.stories.hashing import hashes


def test_hashes_are_those_of_the_bytes_in_however_many_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashing, "PIECE", 3)
    for name, content in (("a", b"Tom met a cat"), ("b", b"")):
        (tmp_path / name).write_bytes(content)
    expected = [hashlib.blake2b(content, digest_size=16).hexdigest() for content in (b"Tom met a cat", b"")]
    assert hashes([tmp_path / "a", tmp_path / "b"]) == expected


def test_what_takes_long_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a").write_bytes(b"Tom" * 100)
    alone = hashes([tmp_path / "a"], progress=True)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(hashing, "LONG", 100)
    assert hashes([tmp_path / "a"], progress=True) == alone
    assert "checking" in (shown := capsys.readouterr().err) and "300/300 bytes" in shown
    assert hashes([tmp_path / "a"], progress=False) == alone and capsys.readouterr().err == ""
