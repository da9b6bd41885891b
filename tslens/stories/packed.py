"""Packed stories: tokens on disk that training opens at once and reads in any order.

A pack is a folder of three files: ``tokens.bin`` (the tokens of all stories, BOS before each), ``starts.bin`` (where
each story starts, int64) and ``pack.json`` (the `Record`: what they are, whether they are complete, and their hashes,
which reveal later changes). ``tokenizer.json`` may lie beside them.
"""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from tslens import files
from tslens.errors import InputError, MissingInputError
from tslens.parsing import parse_json
from tslens.paths import contents
from tslens.tokenizer import Tokenizer

VERSION = 1
DTYPES = ("uint16", "uint32")
TOKENS, STARTS, RECORD, TOKENIZER = "tokens.bin", "starts.bin", "pack.json", "tokenizer.json"
AGAIN = "Restore it, or remove {} and pack its stories again (resuming a run does so by itself)."
"""What to do about damaged packed stories in a folder."""


def packed_hash(tokenizer: Tokenizer) -> str:
    """The hash that a pack records of its tokenizer: without another end than BOS, which alone is packed."""
    return tokenizer.hash if tokenizer.eos == tokenizer.bos else Tokenizer(tokenizer.backend, tokenizer.bos_text).hash


@dataclass(frozen=True)
class Record:
    """The contents of ``pack.json``."""

    version: int
    tokenizer: str
    """the tokenizer's hash"""
    dtype: str
    """uint16, or uint32 where the vocabulary needs it"""
    source: str
    stories: int = 0
    tokens: int = 0
    """with BOS"""
    bytes: int = 0
    """UTF-8 bytes of the stories, without any separator"""
    longest: int = 0
    """tokens of the longest story, with BOS"""
    digest: str = ""
    """BLAKE2b of the stories so far, by which a resumed packing knows that its source is still the same"""
    finished: bool = False
    tokens_hash: str = ""
    """BLAKE2b of ``tokens.bin``, once it is finished"""
    starts_hash: str = ""

    @property
    def size_of_tokens(self) -> int:
        """Bytes of ``tokens.bin``."""
        return self.tokens * np.dtype(self.dtype).itemsize

    @property
    def size_of_starts(self) -> int:
        """Bytes of ``starts.bin``."""
        return self.stories * 8

    def write(self, folder: Path) -> None:
        """Replace ``pack.json`` in one step."""
        with files.atomic(folder / RECORD) as file:
            file.write(json.dumps(asdict(self), indent=2) + "\n")

    @classmethod
    def read(cls, folder: Path) -> "Record | None":
        """The record in a folder's ``pack.json``, or None if there is none. InputError for one that is no record."""
        path = folder / RECORD
        if not path.is_file():
            return None
        refusal = InputError(f"{path} is not the record of packed stories. {AGAIN.format(folder)}")
        found = parse_json(contents(path), str(path), AGAIN.format(folder))
        if not isinstance(found, dict):
            raise refusal
        if (version := found.get("version")) != VERSION:
            raise InputError(f"{path} is of version {version!r}, and this tslens reads version {VERSION}; pack again")
        kinds = {field.name: field.type for field in fields(cls)}
        if not found.keys() <= kinds.keys() or any(type(value) is not kinds[key] for key, value in found.items()):
            raise refusal
        try:
            record = cls(**found)
        except TypeError:  # a field is missing
            raise refusal from None
        counts = record.stories, record.bytes, record.longest, record.tokens
        if record.dtype not in DTYPES or min(counts) < 0 or record.tokens < max(record.stories, record.longest):
            raise refusal
        return record

    def refuse_other_tokenizer(self, folder: Path, tokenizer: Tokenizer) -> None:
        """InputError if the folder was packed with another tokenizer."""
        if self.tokenizer != (other := packed_hash(tokenizer)):
            raise InputError(
                f"{folder} was packed with another tokenizer (hash {self.tokenizer[:12]}, and this one is "
                f"{other[:12]}); load the tokenizer it was packed with, or pack again"
            )

    def refuse_altered(self, folder: Path) -> None:
        """InputError if a file does not have its recorded hash or size; older packs have no hashes."""
        if not self.tokens_hash:
            return
        paths, recorded = [folder / TOKENS, folder / STARTS], (self.tokens_hash, self.starts_hash)
        sizes = self.size_of_tokens, self.size_of_starts
        for path, was, now, size in zip(paths, recorded, files.blake2b(paths), sizes, strict=True):
            if now != was or path.stat().st_size != size:
                what = "hash" if now != was else "size"
                raise InputError(
                    f"{path} was altered since it was packed: its {what} is not the one in {RECORD}. "
                    f"{AGAIN.format(folder)}"
                )


@dataclass(frozen=True, eq=False)
class Packed:
    """Stories as tokens, mapped from disk."""

    folder: Path
    record: Record
    tokens: np.ndarray
    """shape (tokens,): every story after its BOS, one after the other"""
    starts: np.ndarray
    """shape (stories,): the position of each story's BOS in ``tokens``"""

    @property
    def n_stories(self) -> int:
        return self.record.stories

    @property
    def n_tokens(self) -> int:
        """Number of tokens, with one BOS per story."""
        return self.record.tokens

    @property
    def n_bytes(self) -> int:
        """UTF-8 bytes of all stories, the denominator of bits per byte."""
        return self.record.bytes

    def __len__(self) -> int:
        return self.n_stories

    def story(self, number: int) -> np.ndarray:
        """The tokens of one story, BOS first, shape (tokens of the story,)."""
        if not 0 <= number < self.n_stories:
            raise IndexError(f"story {number} is not among the {self.n_stories:,} of {self.folder}")
        end = self.starts[number + 1] if number + 1 < self.n_stories else self.n_tokens
        return self.tokens[self.starts[number] : end]

    @classmethod
    def open(cls, folder: str | Path, tokenizer: Tokenizer, *, check: bool = False) -> "Packed":
        """The pack in a folder, if it is whole and was made with this tokenizer.

        With `check` every byte is read (about a gigabyte a second at most) and compared with the record's hashes.

        Raises:
            FileNotFoundError: the folder holds no pack.
            InputError: another tokenizer, a packing that was not finished, a truncated file, an unknown version; with
                `check`, a file that was altered since.
        """
        folder = Path(folder)
        record = Record.read(folder)
        if record is None:
            raise MissingInputError(f"{folder} holds no packed stories; make them with: tslens stories pack SOURCE")
        record.refuse_other_tokenizer(folder, tokenizer)
        if not record.finished:
            raise InputError(f"{folder} was not finished ({record.stories:,} stories packed); pack again to resume")
        tokens = _mapped(folder / TOKENS, record.dtype, record.size_of_tokens)
        starts = _mapped(folder / STARTS, "int64", record.size_of_starts)
        if check:
            record.refuse_altered(folder)
        return cls(folder, record, tokens, starts)


def _mapped(path: Path, dtype: str, size: int) -> np.ndarray:
    found = path.stat().st_size if path.is_file() else 0
    if found != size:
        raise InputError(f"{path} has {found:,} bytes and should have {size:,}. {AGAIN.format(path.parent)}")
    return np.memmap(path, dtype=dtype, mode="r")
