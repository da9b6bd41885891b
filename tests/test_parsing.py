"""Every file that is not what it says is one line with the place, however it is broken."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tslens.evaluation import copies, suites
from tslens.evaluation.grading import rubric
from tslens.evaluation.pairs import read_pairs
from tslens.evaluation.writing import sources
from tslens.files import read_json
from tslens.llm.prices import price_of
from tslens.parsing import parse_json, parse_toml, rows
from tslens.stories import stories
from tslens.stories.asked import vocabulary_of
from tslens.train import recipe

Refused = Callable[[str], AbstractContextManager[None]]

DEEP = b"[" * 100_000
LONG = b'{"n": ' + b"9" * 5_000 + b"}"
LATIN = 'prompt,completion,text\n"caf\xe9",b,c\n'.encode("latin-1")
QUOTE = b'prompt,completion,text\nthe "cat,b,c\n"unclosed,b,c\n'
FIELD = b"prompt,completion,text\n" + b"x" * 200_000 + b",b,The cat sat.\n"


@pytest.mark.parametrize("text", [DEEP, LONG, b"{", b"\xff"])
def test_json(text: bytes, refused: Refused) -> None:
    with refused("^FILE is not JSON"):
        parse_json(text, "FILE")


@pytest.mark.parametrize(("text", "said"), [(b"a = " + DEEP, "TOML"), (b"a = ", "TOML"), (b'a = "\xff"', "UTF-8")])
def test_toml(text: bytes, said: str, refused: Refused) -> None:
    with refused(f"^FILE is not {said}"):
        parse_toml(text, "FILE")


READERS: dict[str, Callable[[Path], object]] = {
    "rows": lambda path: list(rows(path)),
    "prompts": lambda path: list(sources.prompts_of(str(path))),
    "completions": lambda path: copies.read_written(path),
    "stories": lambda path: list(stories(str(path))),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("deep.jsonl", DEEP, "line 1 is not JSON"),
        ("long.jsonl", LONG, "line 1 is not JSON"),
        ("latin.jsonl", b'{"prompt": "caf\xe9"}', "is not UTF-8: byte 0xe9"),
        ("list.jsonl", b"[1]", "line 1 is list"),
        ("latin.csv", LATIN, "is not UTF-8: byte 0xe9"),
        ("quote.csv", QUOTE, "is not CSV"),
    ],
)
def test_rows(reader: str, name: str, content: bytes, said: str, tmp_path: Path, refused: Refused) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with refused(said):
        READERS[reader](path)


@pytest.mark.parametrize("reader", READERS)
def test_a_long_field_is_read(reader: str, tmp_path: Path) -> None:
    path = tmp_path / "field.csv"
    path.write_bytes(FIELD)
    assert READERS[reader](path)


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("pairs.jsonl", read_pairs),
        ("record.json", read_json),
        ("suite.toml", lambda path: suites.suite(str(path))),
        ("rubric.toml", lambda path: rubric(str(path))),
        ("prices.toml", lambda path: price_of("claude-haiku-4-5", path)),
        ("words.toml", vocabulary_of),
        ("recipe.toml", lambda path: recipe.load(str(path))),
    ],
)
def test_other_files(name: str, read: Callable[[Path], object], tmp_path: Path, refused: Refused) -> None:
    path = tmp_path / name
    for content in (DEEP, b"a = " + DEEP, b"\xff\xfe", LONG):
        path.write_bytes(content)
        with refused("is not|has no|no file|Unknown|unknown|lacks"):
            read(path)
