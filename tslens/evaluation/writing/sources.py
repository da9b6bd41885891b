"""Prompts that models continue: a file of prompts, a suite, or stories that are cut, with their true ending."""

import re
from collections.abc import Iterable, Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from tslens.errors import InputError
from tslens.evaluation import suites
from tslens.parsing import lines, parse_toml, rows
from tslens.paths import absent, contents
from tslens.stories import stories

NAME = re.compile(r"\w[\w-]*")
WORD = re.compile(r"\S+\s*")
KINDS = (".txt", ".jsonl", ".csv")


class StoryPrompt(NamedTuple):
    """A prompt, and how the story truly goes on where that is known."""

    prompt: str
    ending: str = ""


def prompts_of(source: str, *, cut: float | None = None, limit: int | None = None) -> list[StoryPrompt]:
    """The first `limit` prompts of a source, each once.

    Without `cut` the source is a text file with one prompt a line, a JSONL or CSV file with a column `prompt` (and
    perhaps `ending`), a suite, or a list `beginnings` of texts; these two by name or TOML file. With `cut`, it is
    stories (`tslens.stories.stories`), of which each is cut after this share of its words. InputError for a source with
    no prompt, and for what it cannot be.
    """
    if cut is not None and not 0 < cut < 1:
        raise InputError(f"--cut is {cut}; it must be above 0 and below 1, such as 0.5.")
    if limit is not None and limit < 1:
        raise InputError(f"{limit} prompts were asked for; give 1 or more.")
    found = _read(source) if cut is None else _cut(stories(source), cut)
    kept = list(islice(dict.fromkeys(found), limit))
    if not kept:
        raise InputError(f"{source} holds no prompt; give one a line, or a column 'prompt'.")
    return kept


def cut_at(story: str, share: float) -> StoryPrompt | None:
    """A story cut after this share of its words, at least one on each side; None for a story of one word."""
    words = WORD.findall(story.strip())
    if len(words) < 2:
        return None
    n = min(max(1, round(share * len(words))), len(words) - 1)
    begun = "".join(words[:n])
    return StoryPrompt(begun.rstrip(), begun[len(begun.rstrip()) :] + "".join(words[n:]))


def _cut(found: Iterable[str], share: float) -> Iterator[StoryPrompt]:
    return (cut for story in found if (cut := cut_at(story, share)) is not None)


def _read(source: str) -> Iterator[StoryPrompt]:
    path = Path(source)
    if path.suffix.lower() not in KINDS:
        if path.is_file() and path.suffix.lower() != ".toml":
            raise InputError(f"prompts are read from {', '.join(KINDS)} or a suite's .toml; got {source}.")
        texts = _listed(source) or [prompt.text for prompt in suites.suite(source).prompts]
        return map(StoryPrompt, texts)
    if not path.is_file():
        raise InputError(f"{absent(source, 'file of prompts')}; give one of {', '.join(KINDS)}, or a suite.")
    if path.suffix.lower() == ".txt":
        return (StoryPrompt(line.strip()) for line in lines(path) if line.strip())
    return (_of_row(row, where) for where, row in rows(path, "prompts"))


def _listed(source: str) -> list[str]:
    """The list `beginnings` of a TOML file, or of one that comes with tslens; empty if there is none, as in a suite."""
    own = resources.files("tslens.suites").joinpath(f"{source}.toml") if NAME.fullmatch(source) else None
    file: Traversable = Path(source) if own is None else own
    if not file.is_file():
        return []
    data = contents(file) if isinstance(file, Path) else file.read_bytes()
    try:
        found = parse_toml(data, source).get("beginnings", [])
    except InputError:  # a suite's reader says what is wrong
        return []
    return [text for text in found if isinstance(text, str)] if isinstance(found, list) else []


def _of_row(row: dict[str, Any], where: str) -> StoryPrompt:
    if "prompt" not in row:
        raise InputError(f"{where} has no column 'prompt'; it has {', '.join(map(str, row)) or 'none'}.")
    prompt, ending = row["prompt"], row.get("ending") or ""
    if not (isinstance(prompt, str) and isinstance(ending, str)):
        raise InputError(f"{where}: 'prompt' and 'ending' must be text; got {prompt!r} and {ending!r}.")
    return StoryPrompt(prompt, ending)
