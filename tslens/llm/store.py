"""The cache of answers: one file, one JSON line an answer, written before anything else is done with it."""

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from tslens import lock
from tslens.errors import InputError
from tslens.llm.prices import Tokens
from tslens.parsing import parse_json
from tslens.paths import MOST_KEPT, contents, refuse_special, writing

VERSION = 1
HEADER = {"tslens_answers": VERSION}


class AnswerStore:
    """Answers, failures and useless answers by key, and the message batches that were submitted.

    Without a path it lives in memory. A last line that a kill cut off is dropped.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._file: IO[bytes] | None = None
        self._read()

    def _read(self) -> None:
        self.found: dict[str, dict[str, Any]] = {}
        """answers, and failures that another try would not mend, by key"""
        self.misses: Counter[str] = Counter()
        """useless answers by key"""
        self.batches: dict[str, list[str]] = {}
        """keys of the batches that have not been read to their end, by id"""
        self.intended: tuple[list[str], list[str]] | None = None
        """keys of a batch whose id never arrived, and the ids of the batches before it"""
        self.output_tokens: defaultdict[str, list[int]] = defaultdict(list)
        """of the answers to requests of a kind"""
        self._whole = 0
        if self.path is not None and self.path.exists():
            refuse_special(self.path)
            self._load(contents(self.path, MOST_KEPT), self.path)

    @property
    def under_way(self) -> set[str]:
        """Keys of the batches that have not been read to their end."""
        return {key for keys in self.batches.values() for key in keys}

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the file's lock inside the block, and append to it. InputError if another process does."""
        if self.path is None:
            yield
            return
        with lock.held(self.path, "give another --cache"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                self._read()  # as it is now that nobody else writes it
                file.truncate(self._whole)
                self._file = file
                if not self._whole:
                    self._append(HEADER)
                try:
                    yield
                finally:
                    self._file = None

    def answer(self, key: str, kind: str, answer: dict[str, Any], tokens: Tokens, usd: float) -> None:
        """Keep an answer to a request of this kind."""
        counts = {"input": tokens.all_input, "output": tokens.output, "usd": usd}
        self._keep({"key": key, "kind": kind, "answer": answer} | counts)

    def failure(self, key: str, why: str, tokens: Tokens, usd: float) -> None:
        """Keep the reason why there is no answer."""
        self._keep({"key": key, "failure": why, "input": tokens.all_input, "output": tokens.output, "usd": usd})

    def miss(self, key: str, why: str, tokens: Tokens, usd: float) -> None:
        """Keep that an answer was useless."""
        self._keep({"key": key, "miss": why, "input": tokens.all_input, "output": tokens.output, "usd": usd})

    def intend(self, keys: Sequence[str], before: Sequence[str]) -> None:
        """Keep that a batch is about to be submitted, and which batches there were before it; no keys: it was not."""
        self._keep({"intended": list(keys), "before": list(before)})

    def submitted(self, batch: str, keys: Sequence[str]) -> None:
        """Keep a batch, to be read when it has ended, by whichever process."""
        self._keep({"batch": batch, "keys": list(keys)})

    def ended(self, batch: str) -> None:
        """Keep that a batch was read to its end."""
        self._keep({"ended": batch})

    def _keep(self, line: dict[str, Any]) -> None:
        self._append(line)
        self._take(line)

    def _append(self, line: dict[str, Any]) -> None:
        if self._file is not None and self.path is not None:
            with writing(self.path):
                self._file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
                self._file.flush()
                os.fsync(self._file.fileno())

    def _load(self, raw: bytes, path: Path) -> None:
        self._whole = raw.rfind(b"\n") + 1
        for number, text in enumerate(raw[: self._whole].splitlines(), 1):
            try:
                line = parse_json(text, str(path))
                version = VERSION if number > 1 else line["tslens_answers"]
                if number > 1:
                    self._take(line)
            except (ValueError, KeyError, TypeError) as error:
                what = "no cache of answers" if number == 1 else f"damaged in line {number}"
                remedy = "Give another --cache" if number == 1 else "Remove that line, or give another --cache"
                raise InputError(f"{path} is {what}. {remedy}.") from error
            if number == 1 and line != HEADER:
                raise InputError(
                    f"{path} is a cache of answers of version {version}; this tslens reads version {VERSION}. Give "
                    "another --cache"
                )

    def _take(self, line: dict[str, Any]) -> None:
        if "intended" in line:
            self.intended = (line["intended"], line["before"]) if line["intended"] else None
        elif "batch" in line:
            self.batches[line["batch"]] = line["keys"]
            self.intended = None
        elif "ended" in line:
            self.batches.pop(line["ended"], None)
        elif "miss" in line:
            self.misses[line["key"]] += 1
        else:
            self.found[line["key"]] = line
            if "answer" in line:
                self.output_tokens[line["kind"]].append(line["output"])
