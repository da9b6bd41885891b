"""Files of an n-gram index: their names, their record, and how they are mapped."""

import contextlib
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from tslens import files
from tslens.errors import InputError, MissingInputError
from tslens.parsing import parse_json
from tslens.paths import MOST_KEPT, contents, refuse_special

VERSION = 2
DEPTH = 30  # words by which places are sorted; a multiple of the words in a key
BITS = 21  # of a word's number
AT_ONCE = 3  # words in one 64-bit key
PADDING = DEPTH + AT_ONCE  # separators after the last story, so that every place has DEPTH words after it
TEXTS, TEXT_STARTS, WORDS, STARTS = "texts.bin", "text_starts.bin", "words.bin", "starts.bin"
SENTENCES, PLACES, VOCABULARY, RECORD = "sentences.bin", "places.bin", "vocabulary.json", "index.json"


@dataclass(frozen=True)
class IndexRecord:
    """The contents of ``index.json``."""

    version: int
    source: str
    digest: str
    """BLAKE2b of the stories"""
    stories: int
    words: int
    """with a separator after each story"""
    dtype: str
    """of places: uint32, or uint64 where the corpus needs it"""

    @classmethod
    def read(cls, folder: Path) -> "IndexRecord":
        """The record of the index in a folder; InputError for one of another version or one that was altered."""
        if not (folder / RECORD).is_file():
            raise MissingInputError(f"{folder} holds no n-gram index; build one with tslens.ngrams.build.")
        found = files.read_json(folder / RECORD)
        version = found.get("version") if isinstance(found, dict) else None
        if version != VERSION:
            raise InputError(
                f"{folder} is an n-gram index of version {version!r}; this tslens reads {VERSION}. Remove it."
            )
        kinds = {field.name: field.type for field in fields(cls)}
        if {key: type(value) for key, value in found.items()} != kinds or found["dtype"] not in ("uint32", "uint64"):
            raise InputError(f"{folder / RECORD} was altered. Remove {folder}, and build it again.")
        return cls(**found)


def read_counts(path: Path) -> dict[str, int]:
    """How often each word occurs, by the vocabulary's file. InputError for one that does not say so."""
    refuse_special(path)
    found = parse_json(contents(path, MOST_KEPT), str(path))  # a word may have half a surrogate pair, as its text has
    with contextlib.suppress(TypeError, LookupError, ValueError):
        counts = dict(zip(found["words"], found["counts"], strict=True))
        if {*map(type, counts)} <= {str} and {*map(type, counts.values())} <= {int}:
            return counts
    raise InputError(f"{path} was altered. Remove {path.parent}, and build the index again.")


def mapped(path: Path, dtype: str, size: int | None = None) -> np.ndarray:
    """A file of numbers, mapped from disk; InputError if it is missing or its size is not that of `size` numbers."""
    width = np.dtype(dtype).itemsize
    found = path.stat().st_size if path.is_file() else -1
    if found < 0 or found % width or (size is not None and found != size * width):
        raise InputError(f"{path} was altered or cut off. Remove {path.parent}, and build the index again.")
    return np.asarray(np.memmap(path, dtype=dtype, mode="r")) if found else np.zeros(0, dtype=dtype)
