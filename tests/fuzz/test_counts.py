"""How many hostile cases are run, and that those meant to parse do."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from tests.fuzz import test_hostile_files as hostile_files
from tests.fuzz import test_hostile_options as hostile_options
from tests.fuzz.hostile import NESTED
from tslens.cli import build_app
from tslens.cli.bounds import largest


def marked(function: Callable[..., None], name: str) -> list[pytest.Mark]:
    return [mark for mark in getattr(function, "pytestmark", ()) if mark.name == name]


@pytest.mark.parametrize(
    ("target", "mark", "least", "most"), [("test-all", "thorough", 1_000, 1_300), ("stress", "stress", 10_000, 15_000)]
)
def test_as_many_cases_are_run_as_are_promised(
    target: str, mark: str, least: int, most: int, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each test of the mark is called as pytest calls it; `run` itself asserts that it runs as many as it is asked."""
    ran = 0

    def counted(_: Any, cases: int, *__: Any) -> None:
        nonlocal ran
        ran += cases

    for module in (hostile_files, hostile_options):
        monkeypatch.setattr(module, "run", counted)
        for function in [one for name, one in vars(module).items() if name.startswith("test_") and marked(one, mark)]:
            (parameters,) = marked(function, "parametrize")
            for value in parameters.args[1]:
                function(value, *[None] * 3)
    assert least <= ran <= most
    recipe = (checkout / "Makefile").read_text(encoding="utf-8").split(f"\n{target}: ")[1].split("\n\n")[0]
    assert f"$(PYTEST) -m {mark} " in recipe


@pytest.mark.parametrize("words", hostile_options.BASES)
def test_every_option_is_given_a_hostile_value(words: str) -> None:
    drawn = hostile_options.drawn_cases(words, hostile_options.cases_of(words), 5)
    named = {name for name, _, _ in hostile_options.options(words)}
    assert {name for _, names in drawn for name in names} == named
    for command, names in drawn:
        assert all(any(word == name or word.startswith(f"{name}=") for word in command) for name in names if name)


@pytest.mark.parametrize("words", hostile_options.BASES)
def test_every_whole_number_has_a_bound_but_a_seed(words: str) -> None:
    app = build_app(words.split())
    for word in words.split():
        app = app[word]
    for argument in app.assemble_argument_collection(parse_docstring=False):
        kinds = {argument.hint, *get_args(argument.hint)}
        if int in kinds | {inner for kind in kinds for inner in get_args(kind)}:
            assert (largest(words, argument.name) is None) == (argument.name == "--seed"), argument.name


@pytest.mark.parametrize(
    ("words", "line", "beyond"),
    [
        ("loss", "loss --limit 99999999999 --model x", True), ("loss", "loss --limit=2147483648", True),
        ("loss", "loss --limit 65536", False), ("loss", "loss --limit -99999999999", False),
        ("eval", "eval s --twins 9999", True), ("report", "report --twins 9999", False), ("eval cost", "eval cost --batch 65536", True),
    ],
)  # fmt: skip
def test_what_is_beyond_its_bound(words: str, line: str, beyond: bool) -> None:
    assert hostile_options.is_beyond(words, line.split()) is beyond


def test_what_is_nested_is_parsed() -> None:
    """So that what reads it is tested too: the deeper case never gets beyond the parser."""
    depths = []
    for levels in NESTED:
        value: Any = json.loads("[" * levels + "]" * levels)
        depths.append(0)
        while value is not None:
            value, depths[-1] = next(iter(value), None), depths[-1] + 1
    assert depths == list(NESTED)
    assert tomllib.loads("a = " + "[" * NESTED[1] + "]" * NESTED[1])
