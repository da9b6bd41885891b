"""Suites of prompts: read from TOML and checked.

Prompts come in pairs, and what one prompt of a pair accepts, the other rejects (minimal pairs, as BLiMP's, Warstadt et
al. 2020, arXiv 1912.00582). So a model that ignores the prompt gets exactly half of them right, however common the
endings are: 50% is chance, by construction. Pairs are written by hand, or made from a template with slots.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from tslens.errors import InputError
from tslens.evaluation.templates import filled
from tslens.evaluation.toml_lines import line_of
from tslens.nearest import did_you_mean
from tslens.parsing import parse_toml
from tslens.paths import absent, contents

RESERVED = ("all", "beginnings", "card", "copies", "cost", "grade", "instruct", "label", "pairs", "rank", "write")
"""Words after `tslens eval` that are commands of their own."""


@dataclass(frozen=True)
class Prompt:
    """The beginning of a story with its accepted and rejected endings; a space separates it from its ending."""

    text: str
    accepted: tuple[str, ...]
    rejected: tuple[str, ...]
    about: str
    """The topic: of the two prompts of a pair, or of the template that they are made from."""
    templated: bool = False
    right: str = ""
    """What a right continuation looks like, for people and graders."""
    wrong: str = ""


@dataclass(frozen=True)
class Suite:
    """Prompts that ask one question of a model: the two of a pair in turn, those written by hand first."""

    name: str
    question: str
    prompts: tuple[Prompt, ...]

    @property
    def by_hand(self) -> tuple[Prompt, ...]:
        """The prompts that no template made: those that are continued, matched and graded."""
        return tuple(prompt for prompt in self.prompts if not prompt.templated)


def _trimmed(text: str) -> str:
    if not text or text != text.strip():
        raise ValueError(f"{text!r} is empty or has spaces around it; one space is put between prompt and ending")
    return text


BETWEEN = " / "
"""Between several right or wrong endings of a text, where they are shown together."""
Trimmed = Annotated[str, AfterValidator(_trimmed)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


Table = TypeVar("Table", bound=BaseModel)


class PromptTable(_Table):
    """A prompt in a suite's file."""

    text: Trimmed
    accepted: list[Trimmed]


class PairTable(_Table):
    """Two prompts about the same thing, with what a right and a wrong continuation of them look like."""

    about: Trimmed
    prompts: list[PromptTable]
    right: str = ""
    wrong: str = ""


class TemplateTable(PairTable):
    """Two prompts with slots, such as `{name}` and `{name2}`, and the words that fill them."""

    fill: dict[str, list[Trimmed] | list[list[Trimmed]]]
    pairs: Annotated[int, Field(ge=2, le=10_000)] = 14
    """How many pairs to make."""


class SuiteTable(_Table):
    """The whole file."""

    question: str
    pair: list[PairTable] = []
    template: list[TemplateTable] = []


def suites() -> list[str]:
    """The suites that come with tslens: every TOML file of `eval/`, but for the data of other commands."""
    files = (file.name for file in resources.files("tslens.suites").iterdir())
    return sorted({name.removesuffix(".toml") for name in files if name.endswith(".toml")} - set(RESERVED))


def suite(name: str) -> Suite:
    """The suite of this name, or in this TOML file. InputError names the nearest, or what is wrong in the file."""
    data, label = _read(name)
    table, text = read_table(SuiteTable, data, f"suite {name}")
    prompts, places = [], dict[str, str]()
    for kind, tables in (("pair", table.pair), ("template", table.template)):
        for number, given in enumerate(tables):
            where = f"suite {name}{_at_line(text, (kind, number))}, {kind} {number + 1} ({given.about})"
            if given.about in places:
                raise InputError(f"{where} has the topic of {places[given.about]}; give each a different 'about'.")
            places[given.about] = f"{kind} {number + 1}"
            prompts += [prompt for pair in _pairs(given, where) for prompt in pair]
    if len(places) < 2:
        raise InputError(f"suite {name} has {len(places)} pairs; an interval needs 2 or more.")
    times = Counter(prompt.text for prompt in prompts)
    if twice := next((text for text, n in times.items() if n > 1), None):
        raise InputError(f"suite {name} has the prompt {twice!r} in two pairs; each prompt is asked once.")
    return Suite(label, table.question, tuple(prompts))


def _read(name: str) -> tuple[bytes, str]:
    """The content of the suite's file, and the suite's name."""
    if name.endswith(".toml"):
        if not Path(name).is_file():
            raise InputError(f"{absent(name, 'suite file')}; give the path of one, or one of {', '.join(suites())}.")
        label = Path(name).stem
        if not re.fullmatch(r"\w[\w-]*", label):  # it also names what is written of the answer
            raise InputError(f"a suite cannot be called {label!r}; name the file with letters, digits, - and _ alone.")
        return contents(Path(name)), label
    if name in suites():
        return resources.files("tslens.suites").joinpath(f"{name}.toml").read_bytes(), name
    if name in RESERVED:
        raise InputError(f"{name} is a command of `tslens eval` and no suite; a file of this name is ./{name}.toml.")
    known = suites()
    raise InputError(
        f"no suite is called {name!r}.{did_you_mean(name, [*known, *RESERVED])} Known: {', '.join(known)}; "
        "or give a .toml file."
    )


def read_table(kind: type[Table], data: bytes, place: str) -> tuple[Table, str]:
    """The content of a TOML file, checked, and its text. InputError: the place, the line, the key, what is allowed."""
    found, text = parse_toml(data, place), data.decode()
    try:
        return kind.model_validate(found), text
    except ValidationError as error:
        raise InputError(_first_fault(error, kind, text, place)) from None


def _at_line(text: str, path: tuple[str | int, ...]) -> str:
    return f", line {line_of(text, path) or 1}"


def _first_fault(error: ValidationError, kind: type[BaseModel], text: str, place: str) -> str:
    """One error that pydantic found, misspelt keys first."""
    faults = error.errors()
    fault = next((fault for fault in faults if fault["type"] == "extra_forbidden"), faults[0])
    *path, key = [part for part in fault["loc"] if not str(part).startswith("list[")]  # a branch of a union
    where = "".join(f", {part}" if isinstance(part, str) else f" {part + 1}" for part in path)
    at = f"{place}{_at_line(text, (*path, key))}{where}"
    if fault["type"] == "extra_forbidden":
        known = list(_table_at(kind, path).model_fields)
        return f"{at} has no key {key!r}.{did_you_mean(str(key), known)} Keys: {', '.join(known)}."
    if isinstance(key, int):
        at, key = f"{at} {key + 1}", ""
    said = fault["msg"].removeprefix("Value error, ")
    got = "" if fault["type"] in ("missing", "value_error") else f"; got {fault['input']!r}"
    return f"{at}{f', {key!r}' if key else ''}: {said}{got}."


def _table_at(kind: type[BaseModel], path: list[Any]) -> type[BaseModel]:
    """The table that a path of keys and numbers leads to."""
    for key in path:
        if isinstance(key, str):
            kind = kind.model_fields[key].annotation.__args__[0]  # type: ignore[union-attr]  # list[Table]
    return kind


def _pairs(given: PairTable, where: str) -> Iterator[tuple[Prompt, Prompt]]:
    """The pair, or the pairs that the template gives, after the checks that make their chance level one half."""
    if len(given.prompts) != 2:
        raise InputError(f"{where} has {len(given.prompts)} prompts; a pair has 2.")
    a, b = given.prompts
    if a.text == b.text:
        raise InputError(f"{where}: both prompts are the same; they must differ.")
    if not a.accepted or len(a.accepted) != len(b.accepted):
        raise InputError(f"{where}: give both prompts the same number of accepted endings, at least 1.")
    texts, n = [a.text, b.text, *a.accepted, *b.accepted], len(a.accepted)
    templated = isinstance(given, TemplateTable)
    ways = filled(texts, given.fill, given.pairs, given.about, where) if isinstance(given, TemplateTable) else [texts]
    for first, second, *endings in ways:
        if len({ending.lower() for ending in endings}) < len(endings):  # as texts are matched
            raise InputError(f"{where}: an ending occurs twice; give each ending to one prompt only.")
        if any(BETWEEN in ending for ending in endings):
            raise InputError(
                f"{where}: an ending has {BETWEEN!r} in it, which stands between endings; write it without."
            )
        sides = tuple(endings[:n]), tuple(endings[n:])
        more = {"about": given.about, "templated": templated, "right": given.right, "wrong": given.wrong}
        yield Prompt(first, *sides, **more), Prompt(second, *sides[::-1], **more)  # type: ignore[arg-type]
