"""Store of completions: one file a model, to which each is added as soon as it is written."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from tslens import files, lock
from tslens.errors import InputError
from tslens.generate import Sampling
from tslens.parsing import parse_json
from tslens.paths import MOST_KEPT, contents, refuse_special, writing

FORMAT = 1


class Completion(NamedTuple):
    """What a model wrote after a prompt."""

    text: str
    tokens: int
    """New tokens, without that of the end of the story."""
    ended: bool
    """Whether the model ended the story; else it was cut at the limit of tokens, or where the context is full."""


class Asked(NamedTuple):
    """One completion that is wanted of a model."""

    prompt: str
    sampling: Sampling
    sample: int
    limit: int
    """Largest number of new tokens."""
    precision: str

    @property
    def key(self) -> str:
        """A name for all that decides the completion, but for the model."""
        s = self.sampling
        how = [s.temperature, s.top_k, s.top_p, s.beams, s.seed, self.sample, self.limit, self.precision]
        return hashlib.blake2b(json.dumps([self.prompt, how]).encode(), digest_size=12).hexdigest()

    @property
    def number(self) -> int:
        """What decides with the seed the random draws: prompt and sample, so no other completion plays a part."""
        drawn = hashlib.blake2b(json.dumps([self.prompt, self.sample]).encode(), digest_size=6)
        return int.from_bytes(drawn.digest())


class Store:
    """The completions of one model that are on disk, by key, and the file to which more are added."""

    def __init__(self, path: Path, file: IO[str], kept: dict[str, Completion]) -> None:
        self.path = path
        self.kept = kept
        self._file = file

    def add(self, key: str, made: Completion) -> None:
        """Keep a completion: its line is with the system when this returns, so a kill does not lose it."""
        assert key not in self.kept
        self._file.write(json.dumps({"key": key, **made._asdict()}, ensure_ascii=False) + "\n")
        self._file.flush()
        self.kept[key] = made


@contextmanager
def opened(folder: Path, model: str) -> Iterator[Store]:
    """The store of a model, by its hash, in a folder; one process at a time writes it.

    A last line that a kill cut off is removed. InputError if another process writes the store, if another version of
    tslens wrote it, or if it was altered.
    """
    path = folder / f"{model}.jsonl"
    with lock.held(path, "wait for it, or keep completions elsewhere (--store, or the variable TSLENS_CACHE)"):
        if not path.exists() or not path.stat().st_size:
            with files.atomic(path) as fresh:
                fresh.write(json.dumps({"format": FORMAT, "model": model}) + "\n")
        kept = _read(path, model)
        with writing(path), path.open("a", encoding="utf-8") as file:
            try:
                yield Store(path, file, kept)
            finally:
                files.sync(file)


def _read(path: Path, model: str) -> dict[str, Completion]:
    """The completions of a file, of which a line without its end is cut off."""
    refuse_special(path)
    content = contents(path, MOST_KEPT)
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        with path.open("r+b") as file:
            file.truncate(whole)
    rows = [_row(path, number, line) for number, line in enumerate(content[:whole].split(b"\n")[:-1], 1)]
    if (found := rows[0].get("format") if rows else None) != FORMAT or rows[0].get("model") != model:
        raise InputError(
            f"{path} holds completions in format {found}, and this version of tslens reads {FORMAT}. "
            "Move the file away, or keep completions elsewhere with --store."
        )
    kept: dict[str, Completion] = {}
    for number, row in enumerate(rows[1:], 2):
        key = row.pop("key", None)
        if not isinstance(key, str) or not _is_completion(row) or key in kept:
            raise InputError(f"{path}, line {number} is no completion of its own. It was altered; move the file away.")
        kept[key] = Completion(**row)
    return kept


def _is_completion(row: dict[str, Any]) -> bool:
    """Whether a line holds what was written after a prompt, each value of its kind."""
    kinds = {name: type(row.get(name)) for name in Completion._fields}
    return (
        row.keys() == kinds.keys()
        and kinds == {"text": str, "tokens": int, "ended": bool}
        and 0 <= row["tokens"] < 2**31
    )


def _row(path: Path, number: int, line: bytes) -> dict[str, Any]:
    row = parse_json(line, where := f"{path}, line {number}", remedy := "It was altered; move the file away.")
    if not isinstance(row, dict):
        raise InputError(f"{where} is not a JSON object. {remedy}")
    return row
