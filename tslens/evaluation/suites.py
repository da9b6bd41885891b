"""Suites of prompts: read from TOML and checked.

Prompts come in pairs, and what one prompt of a pair accepts, its twin rejects (minimal pairs, as BLiMP's, Warstadt et
al. 2020, arXiv 1912.00582). So a model that ignores the prompt gets exactly half of them right, however common the
endings are: 50% is chance, by construction.
"""

import re
import tomllib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from tslens.errors import InputError
from tslens.nearest import did_you_mean


@dataclass(frozen=True)
class Prompt:
    """The beginning of a story with its accepted and rejected endings; a space separates it from its ending."""

    text: str
    accepted: tuple[str, ...]
    rejected: tuple[str, ...]
    pair: str
    """The topic of the prompt and its twin."""


@dataclass(frozen=True)
class Suite:
    """Prompts that ask one question of a model; twins follow one another."""

    name: str
    question: str
    prompts: tuple[Prompt, ...]


def _trimmed(text: str) -> str:
    if not text or text != text.strip():
        raise ValueError(f"{text!r} is empty or has spaces around it; one space is put between prompt and ending")
    return text


Trimmed = Annotated[str, AfterValidator(_trimmed)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class PromptTable(_Table):
    """A prompt in a suite's file."""

    text: Trimmed
    accepted: list[Trimmed]


class PairTable(_Table):
    """Two prompts about the same thing."""

    about: str
    prompts: list[PromptTable]


class SuiteTable(_Table):
    """The whole file."""

    question: str
    pair: list[PairTable]


def suites() -> list[str]:
    """The suites that come with tslens: every TOML file of `eval/`."""
    files = (file.name for file in resources.files("tslens.suites").iterdir())
    return sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml"))


def suite(name: str) -> Suite:
    """The suite of this name, or in this TOML file. InputError names the nearest, or what is wrong in the file."""
    data, label = _read(name)
    try:
        table = SuiteTable.model_validate(tomllib.loads(data.decode()))
    except UnicodeDecodeError as error:
        raise InputError(f"suite {name} is not UTF-8 (byte {error.start}). Save it as UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"suite {name} is not TOML: {error}.") from None
    except ValidationError as error:
        raise InputError(_first_fault(error, name)) from None
    prompts = [
        prompt for number, pair in enumerate(table.pair, 1) for prompt in _twins(pair, f"suite {name}, pair {number}")
    ]
    abouts = [pair.about for pair in table.pair]
    twice = next((about for i, about in enumerate(abouts) if about in abouts[:i]), None)
    if twice is not None:
        raise InputError(f"suite {name}: two pairs have about = {twice!r}; give each a different one.")
    if len(abouts) < 2:
        raise InputError(f"suite {name} has {len(abouts)} pairs; an interval needs 2 or more.")
    return Suite(label, table.question, tuple(prompts))


def _read(name: str) -> tuple[bytes, str]:
    """The content of the suite's file, and the suite's name."""
    if name.endswith(".toml"):
        if not Path(name).is_file():
            raise InputError(f"there is no suite file {name}; give the path of one, or one of {', '.join(suites())}.")
        label = Path(name).stem
        if not re.fullmatch(r"\w[\w-]*", label):  # it also names what is written of the answer
            raise InputError(f"a suite cannot be called {label!r}; name the file with letters, digits, - and _ alone.")
        return Path(name).read_bytes(), label
    if name in suites():
        return resources.files("tslens.suites").joinpath(f"{name}.toml").read_bytes(), name
    known = suites()
    raise InputError(
        f"no suite is called {name!r}.{did_you_mean(name, known)} Known: {', '.join(known)}; or give a .toml file."
    )


def _first_fault(error: ValidationError, name: str) -> str:
    """One error that pydantic found, misspelt keys first: the file, the place in it, the key, what is allowed."""
    faults = error.errors()
    fault = next((fault for fault in faults if fault["type"] == "extra_forbidden"), faults[0])
    *path, key = fault["loc"]
    where = "".join(f", {part}" if isinstance(part, str) else f" {part + 1}" for part in path)
    at = f"suite {name}{where}"
    if fault["type"] == "extra_forbidden":
        tables: dict[int, type[_Table]] = {0: SuiteTable, 2: PairTable}
        known = list(tables.get(len(path), PromptTable).model_fields)
        return f"{at} has no key {key!r}.{did_you_mean(str(key), known)} Keys: {', '.join(known)}."
    if isinstance(key, int):
        at, key = f"{at} {key + 1}", ""
    said = fault["msg"].removeprefix("Value error, ")
    got = "" if fault["type"] in ("missing", "value_error") else f"; got {fault['input']!r}"
    return f"{at}{f', {key!r}' if key else ''}: {said}{got}."


def _twins(pair: PairTable, where: str) -> tuple[Prompt, Prompt]:
    """The prompts of a pair, after the checks that make its chance level one half."""
    if len(pair.prompts) != 2:
        raise InputError(f"{where} ({pair.about}) has {len(pair.prompts)} prompts; a pair has 2.")
    a, b = pair.prompts
    if a.text == b.text:
        raise InputError(f"{where} ({pair.about}): both prompts are the same; twins must differ.")
    endings = [*a.accepted, *b.accepted]
    if not a.accepted or len(a.accepted) != len(b.accepted):
        raise InputError(f"{where} ({pair.about}): give both prompts the same number of accepted endings, at least 1.")
    if len(set(endings)) < len(endings):
        raise InputError(f"{where} ({pair.about}): an ending occurs twice; give each ending to one prompt only.")
    first, second = tuple(a.accepted), tuple(b.accepted)
    return Prompt(a.text, first, second, pair.about), Prompt(b.text, second, first, pair.about)
