"""Hostile numbers, names and places for every option of every command: each does its work, or refuses in one clear line."""

import re
import shutil
import zlib
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import get_args

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from tests.fuzz.answers import no_number
from tests.fuzz.given import GRADE, SMALL
from tests.fuzz.hostile import NAMES, NUMBERS, SETTINGS, special_files
from tests.fuzz.running import DRAWN, Case, Runner, check, report_all
from tslens.cli import build_app
from tslens.cli.bounds import largest
from tslens.cli.commands import COMMANDS

MODEL = "--model tiny --stories tales.txt --limit 6"
BASES = {
    "demo": " ".join(["--name", "x", "--limit", "40", *SMALL]), "report": f"{MODEL} --twins 0 --shown 1 --no-causes --out r.html",
    "analyze heads": MODEL, "analyze neurons": MODEL, "analyze lens": MODEL, "analyze attribution": MODEL,
    "analyze residuals": MODEL, "analyze circuit": "pronoun --model tiny --pairs 8 --twins 0", "analyze composition": f"{MODEL} --twins 0",
    "analyze twins": "--model tiny --stories tales.txt --limit 24 --twins 1",
    "analyze dynamics": "kept --stories tales.txt --limit 24 --twins 0",
    "analyze features": "--model tiny --stories tales.txt --limit 20 --hook blocks.0.hook_resid_post --fit-stories tales.txt --fit-limit 8 --width 16 --active 2 --steps 2",
    "analyze all": "--model tiny --stories tales.txt --limit 24 --twins 1", "audit": "--model tiny --stories tales.txt --limit 24 --seeds 1 --twins 1 --runs 10",
    "stories make": "--n 3 --out o.txt", "stories ask": "--n 2 --out o.jsonl --prices prices.toml --large-model claude-haiku-4-5",
    "stories audit": "tales.txt --limit 30", "stories check": "tales.txt", "stories pack": "tales.txt --out p --vocab 300",
    "train": " ".join(["16x1x2", "--data", "tales.txt", "--name", "n", *SMALL]),
    "runs": "", "plot": "small", "generate": "--model tiny --max-new-tokens 3", "models": "", "export": "--model tiny --to hf --out o",
    "loss": MODEL, "eval": "suite.toml --model tiny --completions 1", "eval all": "--model tiny --completions 0 --twins 0 --n-gram none",
    "eval beginnings": "--model tiny --stories tales.txt --n 2 --max-new-tokens 3",
    "eval write": "--model tiny --prompts prompts.txt --n 1 --limit-tokens 3 --beams 0", "eval grade": GRADE.removeprefix("eval grade "),
    "eval rank": "prefs.csv", "eval label": "--texts texts.jsonl --rubric rubric.toml --out labels.csv",
    "eval cost": "--model tiny --shape 16x1 --batch 1 --tokens 2 --repeats 2 --vocabulary 300",
    "eval pairs": "--model tiny --pairs pairs.jsonl --n-gram none",
    "eval copies": "--model small --stories tales.txt --limit 12 --tokens 3 --twins 0",
    "eval card": "--texts tales.txt --reference tales.txt --limit 8", "eval instruct": "--model tiny --stories instructed.txt --limit 4 --samples 1 --limit-tokens 3",
    "bench": "x",
}  # fmt: skip
"""Words after each command that make it quick."""
NEEDED = (
    *(
        "tiny",
        "tales.txt",
        "tales.jsonl",
        "prices.toml",
        "suite.toml",
        "recipe.toml",
        "prompts.txt",
        "texts.jsonl",
        "rubric.toml",
    ),
    *("scores.csv", "prefs.csv", "labels.csv", "pairs.jsonl", "instructed.txt", "runs/small", "runs/half", "runs/kept"),
)
COSTLY = {"demo", "analyze all", "audit", "eval all", "eval card", "eval cost", "analyze circuit"}
"""Commands that take long whatever their options are: they get fewer cases."""
CASES, FEW = 8, 3
MORE = 9
"""How many times the cases of `make test-all` those of `make stress` are."""
STOP = 2.0  # seconds after which Ctrl-C stops what may take long


def test_every_command_has_a_base() -> None:
    assert set(BASES) == {command.words for command in COMMANDS}


def options(words: str) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Every option of a command, as it is named, with hostile values of its kind; and its operands, without a name."""
    app = build_app(words.split())
    numerals = tuple(number for number in NUMBERS if not no_number(number))  # a name is printed as it was given
    for word in words.split():
        app = app[word]
    found = []
    for argument in app.assemble_argument_collection(parse_docstring=False):
        kinds = {argument.hint, *get_args(argument.hint)}
        name = next((one for one in argument.names if one.startswith("--")), "")
        if bool in kinds:
            found.append((name, ("",), ("",)))
        elif name == "--set":
            found.append((name, SETTINGS, SETTINGS))
        elif kinds & {int, float} or any(set(get_args(kind)) & {int, float} for kind in kinds):
            found.append((name, NUMBERS, NAMES))
        elif name:
            found.append((name, NAMES, numerals))
        else:
            found.append(("", NAMES, numerals))
    return found


def hostile_words(words: str, number: int, drawn: Random) -> tuple[list[str], list[str]]:
    """The words of the case of a number, with one or two options that are hostile, and the names of these. The first is
    the option of the case's number, so that each has its turn."""
    known, base = options(words), BASES[words].split()
    found, at = [*words.split(), *base], len(words.split())
    operand = int(bool(base) and not base[0].startswith("--"))
    chosen = [known[number % len(known)], *drawn.choices(known, k=drawn.choice((0, 0, 0, 1)))] if known else []
    for name, usual, other in chosen:
        value = drawn.choice(usual if drawn.randrange(10) else other)
        if name == "--set" and drawn.random() < 0.5:
            value = f"{drawn.choice(KEYS)}={drawn.choice((*NUMBERS, *NAMES))}"
        if not name:
            found[at : at + operand] = [value]
        elif value == "" and usual == ("",):
            found.append(name)
        else:
            found = _without(found, name) + ([f"{name}={value}"] if drawn.random() < 0.5 else [name, value])
    return found, [name for name, _, _ in chosen]


def drawn_cases(words: str, cases: int, first: int) -> list[tuple[list[str], list[str]]]:
    """So many cases of a command, drawn by a seed: their words, and the names of the options that are hostile."""
    found: list[tuple[list[str], list[str]]] = []

    @seed(first)
    @settings(DRAWN, max_examples=cases)
    @given(st.randoms(use_true_random=True))
    def each(drawn: Random) -> None:
        found.append(hostile_words(words, len(found), drawn))

    each()
    assert len(found) == cases, "fewer cases than asked for"
    return found


def _without(found: list[str], name: str) -> list[str]:
    """The words without an option and its value."""
    if name not in found or name == "--set":
        return found
    at = found.index(name)
    return found[:at] + found[at + 2 :]


def recipe_keys() -> list[str]:
    """Every key of a recipe, `section.name`."""
    from tslens.train import recipe

    tree = recipe.load("16x1x2", {}).to_dict()
    return [f"{section}.{key}" for section, keys in tree.items() if isinstance(keys, dict) for key in keys]


KEYS = recipe_keys()


def prepared(valid: Path, place: Path) -> Path:
    """A folder with the valid things that commands need."""
    place.mkdir(parents=True)
    for name in NEEDED:
        if (valid / name).is_dir():
            shutil.copytree(valid / name, place / name)
        else:
            shutil.copy(valid / name, place / name)
    return place


def is_beyond(words: str, command: Sequence[str]) -> bool:
    """Whether a command line gives a whole number beyond the bound of its option."""
    pairs = [
        (*word.split("=", 1), "") if "=" in word else (word, then)
        for word, then in zip(command, (*command[1:], ""), strict=True)
    ]
    return any(
        (most := largest(words, name)) is not None
        and re.fullmatch(r"\+?[0-9]+", value)
        and (len(value) > 18 or int(value) > most)
        for name, value, *_ in pairs
    )


def in_folder(place: Path, words: str, command: Sequence[str], stop: float) -> Case:
    environment = {"TSLENS_CACHE": str(place / "cache"), "HOME": str(place)}
    return Case(place, command, stop, environment, beyond=is_beyond(words, command))


def run(words: str, cases: int, first: int, valid: Path, folder: Path, runner: Runner) -> None:
    """Run so many cases of a command, drawn by a seed."""
    wrong, before = [], runner.stopped
    for number, (command, _) in enumerate(drawn_cases(words, cases, first)):
        place = prepared(valid, folder / str(number) / "in" / "here")  # `../..` stays in the case's own folder
        special_files(place)
        wrong.append(check(runner, in_folder(place, words, command, STOP)))
    report_all(wrong)
    assert words in COSTLY or runner.stopped - before < cases, "no case ended by itself"


def cases_of(words: str) -> int:
    """The cases of a command in `make test-all`: at least one of every option."""
    return max(FEW if words in COSTLY else CASES, len(options(words)))


@pytest.mark.thorough
@pytest.mark.parametrize("words", BASES)
def test_hostile_options(words: str, valid: Path, tmp_path: Path, runner: Runner) -> None:
    run(words, cases_of(words), zlib.crc32(words.encode()), valid, tmp_path, runner)


@pytest.mark.stress
@pytest.mark.parametrize("words", BASES)
def test_many_hostile_options(words: str, valid: Path, tmp_path: Path, runner: Runner) -> None:
    run(words, MORE * cases_of(words), 1 + zlib.crc32(words.encode()), valid, tmp_path, runner)
