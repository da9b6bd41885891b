"""What is a suite of prompts, and which are there? One TOML file each, read and checked here.

Prompts come in pairs, and what one prompt of a pair accepts, its twin rejects (minimal pairs, as BLiMP's, Warstadt et
al. 2020, arXiv 1912.00582). So whoever does not read the prompt gets exactly half of them right, however common the
endings are: 50% is chance, by construction.
"""

import re
import tomllib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from tslens.errors import InputError
from tslens.nearest import did_you_mean


@dataclass(frozen=True)
class Prompt:
    """The beginning of a story and how it may and may not go on; a space stands between it and its ending."""

    text: str
    accepted: tuple[str, ...]
    rejected: tuple[str, ...]
    pair: str
    """What the prompt and its twin are about."""


@dataclass(frozen=True)
class Suite:
    """Prompts that ask one question of a model; twins follow one another."""

    name: str
    question: str
    prompts: tuple[Prompt, ...]


def suites() -> list[str]:
    """The suites that come with tslens."""
    files = (file.name for file in resources.files("tslens.suites").iterdir())
    return sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml"))


def suite(name: str) -> Suite:
    """The suite of this name, or in this TOML file. ValueError names the nearest, or what is wrong in the file."""
    if name.endswith(".toml"):
        if not Path(name).is_file():
            raise InputError(f"there is no suite file {name}; give the path of one, or one of {', '.join(suites())}.")
        text, label = Path(name).read_text(encoding="utf-8"), Path(name).stem
        if not re.fullmatch(r"\w[\w-]*", label):  # it also names what is written of the answer
            raise InputError(f"a suite cannot be called {label!r}; name the file with letters, digits, - and _ alone.")
    elif name in suites():
        text, label = resources.files("tslens.suites").joinpath(f"{name}.toml").read_text(encoding="utf-8"), name
    else:
        known = suites()
        raise InputError(
            f"no suite is called {name!r}.{did_you_mean(name, known)} Known: {', '.join(known)}; or give a .toml file."
        )
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"suite {name} is not TOML: {error}.") from error
    return _suite(tree, label)


def _suite(tree: dict[str, Any], name: str) -> Suite:
    _keys(tree, {"question": str, "pair": list}, f"suite {name}")
    prompts: list[Prompt] = []
    for number, pair in enumerate(tree["pair"], 1):
        where = f"suite {name}, pair {number}"
        _keys(pair, {"about": str, "prompts": list}, where)
        prompts += _twins(pair["about"], pair["prompts"], where)
    abouts = [prompt.pair for prompt in prompts[::2]]
    twice = next((about for i, about in enumerate(abouts) if about in abouts[:i]), None)
    if twice is not None:
        raise InputError(f"suite {name}: two pairs are about {twice!r}; give each a name of its own.")
    if len(abouts) < 2:
        raise InputError(f"suite {name} has {len(abouts)} pairs; an interval needs 2 or more.")
    return Suite(name, tree["question"], tuple(prompts))


def _twins(about: str, tables: list[Any], where: str) -> tuple[Prompt, Prompt]:
    """A pair, checked for all that makes its chance level one half."""
    if len(tables) != 2:
        raise InputError(f"{where} ({about}) has {len(tables)} prompts; a pair has 2.")
    for table in tables:
        _keys(table, {"text": str, "accepted": list}, f"{where} ({about})")
    a, b = tables
    if a["text"] == b["text"]:
        raise InputError(f"{where} ({about}): both prompts are the same; twins must differ.")
    endings = [*a["accepted"], *b["accepted"]]
    if not a["accepted"] or len(a["accepted"]) != len(b["accepted"]):
        raise InputError(f"{where} ({about}): give both prompts as many accepted endings as each other, at least 1.")
    if len(set(endings)) < len(endings):
        raise InputError(f"{where} ({about}): an ending is there twice; each belongs to one of the two prompts.")
    loose = next(
        (t for t in (a["text"], b["text"], *endings) if not isinstance(t, str) or not t or t != t.strip()), None
    )
    if loose is not None:
        raise InputError(f"{where} ({about}): {loose!r} is no text, or has spaces around it; one space is put between.")
    first, second = tuple(a["accepted"]), tuple(b["accepted"])
    return Prompt(a["text"], first, second, about), Prompt(b["text"], second, first, about)


def _keys(table: Any, wanted: dict[str, type], where: str) -> None:
    """ValueError unless the table has these keys, of these types, and no others."""
    if not isinstance(table, dict):
        raise InputError(f"{where}: {table!r} is no table; it needs {', '.join(wanted)}.")
    for key in table:
        if key not in wanted:
            raise InputError(f"{where} has no key {key!r}.{did_you_mean(key, list(wanted))} Keys: {', '.join(wanted)}.")
    for key, kind in wanted.items():
        if not isinstance(table.get(key), kind):
            raise InputError(f"{where} needs {key!r}, a {'list' if kind is list else 'text'}; got {table.get(key)!r}.")
