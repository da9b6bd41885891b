"""Validation stories come back as they were kept, are a source like any other, and altered ones are refused."""

import json
from pathlib import Path

import pytest

from tslens.stories import stories
from tslens.train import validation_stories

TALES = ["Tom met a cat.\n\n“Hi,” he said.", "Ann ran.\u2028She won.", "The end."]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    validation_stories.write(tmp_path / "validation.jsonl", TALES)
    return tmp_path / "validation.jsonl"


def test_stories_come_back(path: Path) -> None:
    assert validation_stories.read(path) == TALES
    assert [p.name for p in path.parent.iterdir()] == ["validation.jsonl"]
    assert list(stories(str(path), clean=False)) == TALES


def without_the_last(lines: list[bytes]) -> list[bytes]:
    return lines[:-1]


def in_another_order(lines: list[bytes]) -> list[bytes]:
    return [lines[0], lines[2], lines[1]]


def with_a_word_changed(lines: list[bytes]) -> list[bytes]:
    return [*lines[:2], lines[2].replace(b"end", b"END")]


def without_a_digest(lines: list[bytes]) -> list[bytes]:
    return [json.dumps({"text": TALES[0]}).encode() + b"\n", *lines[1:]]


def cut_off(lines: list[bytes]) -> list[bytes]:
    return [*lines[:2], lines[2][:-3]]


def nothing(lines: list[bytes]) -> list[bytes]:
    return []


def no_text(lines: list[bytes]) -> list[bytes]:
    return [b"\xff\xfe\n", b"[]\n", b"7\n"]


@pytest.mark.parametrize(
    "change",
    [without_the_last, in_another_order, with_a_word_changed, without_a_digest, cut_off, nothing, no_text],
)
def test_altered_ones_are_refused(path: Path, refused, change) -> None:
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))
    with refused(r"validation\.jsonl was altered: .* Restore it, or remove it and the run reads them from its source"):
        validation_stories.read(path)
