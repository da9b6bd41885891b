"""Every file that is not what it says is one line with the place, however it is broken."""

import copy
import json
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
NESTED = b"[" * 150 + b"]" * 150  # which parses
LARGE = b"9" * 309  # beyond a float
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


@pytest.mark.parametrize(
    ("value", "said"),
    [(NESTED, "lists or tables more than 100 deep"), (LARGE, "a number of over 308 digits"), (b"-" + LARGE, "digits")],
)
def test_what_parses_and_fails_later(value: bytes, said: str, refused: Refused) -> None:
    for data in (value, b'{"a": [1, {"b": ' + value + b"}]}"):
        with refused(f"^FILE has .*{said}. It was altered or cut off."):
            parse_json(data, "FILE")
    with refused(f"^FILE has .*{said}. Take it out."):
        parse_toml(b"a = [1, {b = " + value + b"}]", "FILE")


def test_what_is_just_not_too_much() -> None:
    assert float(parse_json(b"9" * 308, "FILE")) == 1e308
    nested = copy.deepcopy(parse_json(b"[" * 100 + b"]" * 100, "FILE"))
    assert parse_json(json.dumps(nested), "FILE") == nested


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
        ("nested.jsonl", b'{"prompt": ' + NESTED + b"}", "line 1 has lists or tables more than 100 deep"),
        ("large.jsonl", b'{"prompt": ' + LARGE + b"}", "line 1 has a number of over 308 digits"),
        ("latin.jsonl", b'{"prompt": "caf\xe9"}', "is not UTF-8: byte 0xe9"),
        ("list.jsonl", b"[1]", "line 1 is list"),
        ("latin.csv", LATIN, "is not UTF-8: byte 0xe9"),
        ("quote.csv", QUOTE, "line 3 is not CSV"),
        ("short.csv", b"prompt,completion,text\na,b,c\nd,e\n", "line 3: fields 2, columns 3; give each"),
        ("long.csv", b"prompt,completion,text\na,b,c, and d\n", "line 2: fields 4, columns 3; give each, and quote"),
        ("returns.csv", b"prompt,completion\ra,b\r", "line 1 is not CSV"),
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
    for content in (DEEP, b"a = " + DEEP, b"\xff\xfe", LONG, b"a = " + NESTED, b"a = " + LARGE, NESTED, LARGE):
        path.write_bytes(content)
        with refused("is not|has no|no file|has a number|has lists|Unknown|unknown|lacks"):
            read(path)
