"""How are stories kept as tokens on disk, so that training reads them at once and in any order?

A pack is a folder of three files: ``tokens.bin`` (the tokens of all stories, BOS before each), ``starts.bin`` (where
each story starts, int64) and ``pack.json`` (what they are, and whether they are all there). Packing appends and notes
at most a second apart how far it is; a killed packing goes on from there, and its files are those of one never killed.
When all are there the record takes the hashes of both, so that a pack altered in place can be told from a whole one.
A packing that fails, as on a broken source, leaves nothing, and one that would replace a pack leaves that as it is.
"""

import errno
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from tslens import files
from tslens.errors import InputError
from tslens.files import sync
from tslens.tokenizer import Tokenizer, in_batches

VERSION = 1
TOKENS, STARTS, RECORD, TOKENIZER = "tokens.bin", "starts.bin", "pack.json", "tokenizer.json"
FILES = (TOKENIZER, TOKENS, STARTS, RECORD)  # the record comes last: without it the others do not count
BATCH = 1000  # stories that are encoded at once
NOTE_EVERY = 1.0  # seconds of work that a kill can cost


@dataclass(frozen=True)
class Record:
    """What ``pack.json`` says."""

    version: int
    tokenizer: str
    """hash of the tokenizer"""
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


@dataclass(frozen=True, eq=False)
class Packed:
    """Stories as tokens, mapped from disk."""

    folder: Path
    record: Record
    tokens: np.ndarray
    """shape (tokens,): every story after its BOS, one after the other"""
    starts: np.ndarray
    """shape (stories,): the place of each story's BOS in ``tokens``"""

    @property
    def n_stories(self) -> int:
        return self.record.stories

    @property
    def n_tokens(self) -> int:
        """With one BOS a story."""
        return self.record.tokens

    @property
    def n_bytes(self) -> int:
        """UTF-8 bytes of all stories: what bits per byte are counted by."""
        return self.record.bytes

    def __len__(self) -> int:
        return self.n_stories

    def story(self, number: int) -> np.ndarray:
        """The tokens of one story, BOS first."""
        if not 0 <= number < self.n_stories:
            raise IndexError(f"story {number} is not among the {self.n_stories:,} of {self.folder}")
        end = self.starts[number + 1] if number + 1 < self.n_stories else self.n_tokens
        return self.tokens[self.starts[number] : end]

    @classmethod
    def open(cls, folder: str | Path, tokenizer: Tokenizer, *, check: bool = False, progress: bool = True) -> "Packed":
        """The pack in a folder, if it is whole and was made with this tokenizer.

        With `check` every byte is read (about a gigabyte a second, where the disk can) and held to the record's hashes.

        Raises:
            FileNotFoundError: the folder holds no pack.
            ValueError: another tokenizer, a packing that was not finished, a truncated file, an unknown version; with
                `check`, a file that was altered since.
        """
        folder = Path(folder)
        record = _read_record(folder)
        if record is None:
            raise FileNotFoundError(f"{folder} holds no packed stories; make them with: tslens stories pack SOURCE")
        _refuse_other_tokenizer(folder, record, tokenizer)
        if not record.finished:
            raise InputError(f"{folder} was not finished ({record.stories:,} stories packed); pack again to resume")
        arrays = {}
        for name, dtype, count in ((TOKENS, record.dtype, record.tokens), (STARTS, "int64", record.stories)):
            path, expected = folder / name, count * np.dtype(dtype).itemsize
            found = path.stat().st_size if path.is_file() else 0
            if found != expected:
                raise InputError(
                    f"{path} has {found:,} bytes and should have {expected:,}; pack again, without resuming"
                )
            arrays[name] = np.memmap(path, dtype=dtype, mode="r", shape=(count,))
        if check:
            _refuse_altered(folder, record, progress=progress)
        return cls(folder, record, arrays[TOKENS], arrays[STARTS])


def pack(
    stories: Iterable[str],
    tokenizer: Tokenizer,
    folder: str | Path,
    *,
    source: str,
    resume: bool = True,
    progress: bool = True,
    keep_tokenizer: bool = False,
) -> Packed:
    """Write the stories into a folder as tokens, and open it.

    Args:
        stories: what to pack; read once, and again from the first for a packing that is resumed.
        tokenizer: how; its hash is recorded.
        folder: where; made if need be.
        source: what the record calls the stories.
        resume: go on where an earlier packing of the same stories stopped (one that was finished is only checked);
            otherwise begin anew, and replace whatever was packed there at the end.
        progress: show stories and megabytes a second.
        keep_tokenizer: write its ``tokenizer.json`` beside the tokens.

    Raises:
        ValueError: no stories, or a source that cannot be read; or, when resuming, a pack made with another tokenizer
            or of other stories. Nothing is left of what was written.
        OSError: the disk is full, or the folder cannot be written. What is there can be resumed, not opened; a pack
            that was to be replaced is as it was.
    """
    folder = Path(folder)
    record = _read_record(folder) if resume else None
    if record is not None:
        _refuse_other_tokenizer(folder, record, tokenizer)
    stream = iter(stories)
    first = next(stream, None)
    if first is None:
        raise InputError(f"there are no stories in {source} to pack; give at least one")
    stream, digest = chain([first], stream), blake2b(digest_size=16)
    anew = not resume and (folder / RECORD).exists()
    with (
        _bar(progress, getattr(stories, "n_bytes", None)) as show,
        files.atomic_files(folder, FILES) if anew else _kept_unless_refused(folder) as target,
        _clear_when_full(target),
    ):
        if keep_tokenizer:
            _keep(tokenizer, target, replace=not resume)
        if record is None:
            dtype = "uint16" if tokenizer.size <= 2**16 else "uint32"
            record = Record(VERSION, tokenizer.hash, dtype, source)
            _write_record(target, record)
        else:
            if record.finished:
                _refuse_altered(target, record, progress=False)
            _refuse_other_stories(folder, record, stream, digest, source, show)
            record = replace(record, finished=False, tokens_hash="", starts_hash="")
        record = _append(stream, tokenizer, target, record, digest, show)
        tokens_hash, starts_hash = files.blake2b([target / TOKENS, target / STARTS])
        _write_record(target, replace(record, finished=True, tokens_hash=tokens_hash, starts_hash=starts_hash))
    return Packed.open(folder, tokenizer)


def _append(
    stream: Iterator[str],
    tokenizer: Tokenizer,
    folder: Path,
    record: Record,
    digest: Any,
    show: Callable[[int, int], None],
) -> Record:
    """Write what is left of the stream behind what the record counts; the record of all."""
    noted = time.monotonic()
    with (
        _opened(folder / TOKENS, record.tokens * np.dtype(record.dtype).itemsize) as tokens,
        _opened(folder / STARTS, record.stories * 8) as starts,
    ):
        for texts, flat, lengths in _encoded(stream, tokenizer, record.dtype):
            tokens.write(flat.tobytes())
            starts.write((record.tokens + np.cumsum(lengths) - lengths).astype(np.int64).tobytes())
            record = replace(
                record,
                stories=record.stories + len(texts),
                tokens=record.tokens + flat.size,
                bytes=record.bytes + sum(_digest(digest, text) for text in texts),
                longest=max(record.longest, int(lengths.max())),
                digest=digest.hexdigest(),
            )
            show(record.stories, record.bytes)
            if time.monotonic() - noted > NOTE_EVERY:
                sync(tokens, starts)
                _write_record(folder, record)
                noted = time.monotonic()
        sync(tokens, starts)
    return record


def _encoded(
    stream: Iterator[str], tokenizer: Tokenizer, dtype: str
) -> Iterator[tuple[list[str], np.ndarray, np.ndarray]]:
    """Batches of stories with their tokens (one array, BOS before each story) and lengths (BOS counted).

    While one batch is encoded, the next is read and cleaned.
    """

    def encode(texts: list[str]) -> tuple[list[str], np.ndarray, np.ndarray]:
        rows = [encoding.ids for encoding in tokenizer.encodings(texts)]
        lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows)) + 1
        flat = np.empty(int(lengths.sum()), dtype=dtype)
        is_bos = np.zeros(flat.size, dtype=bool)
        is_bos[np.cumsum(lengths) - lengths] = True
        flat[is_bos] = tokenizer.bos
        flat[~is_bos] = np.fromiter(chain.from_iterable(rows), dtype=dtype, count=flat.size - len(rows))
        return texts, flat, lengths

    with ThreadPoolExecutor(max_workers=1) as encoder:
        ahead = None
        for texts in in_batches(stream, BATCH):
            current, ahead = ahead, encoder.submit(encode, texts)
            if current is not None:
                yield current.result()
        if ahead is not None:
            yield ahead.result()


def _digest(digest: Any, story: str) -> int:
    """Add a story to the digest of all; its size in UTF-8 bytes."""
    raw = story.encode()
    digest.update(len(raw).to_bytes(8, "little"))
    digest.update(raw)
    return len(raw)


# Files


@contextmanager
def _opened(path: Path, size: int) -> Iterator[BinaryIO]:
    """A file opened for writing behind its first ``size`` bytes; what a kill left behind them is cut off."""
    with path.open("r+b" if size else "wb") as file:
        if size:
            if file.seek(0, os.SEEK_END) < size:
                raise InputError(f"{path} is shorter than its record says; pack again, without resuming")
            file.truncate(size)
            file.seek(size)
        yield file


def _write_record(folder: Path, record: Record) -> None:
    """Replace ``pack.json`` in one step."""
    with files.atomic(folder / RECORD) as file:
        file.write(json.dumps(asdict(record), indent=2) + "\n")


def _read_record(folder: Path) -> Record | None:
    """What ``pack.json`` says, or None if there is none."""
    path = folder / RECORD
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_bytes())
        version = found.get("version")
        record = Record(**found) if version == VERSION else None
    except (ValueError, TypeError, AttributeError):
        raise InputError(f"{path} is not the record of packed stories; pack again, without resuming") from None
    if record is None:
        raise InputError(f"{path} is of version {version!r}, and this tslens reads version {VERSION}; pack again")
    return record


def _keep(tokenizer: Tokenizer, folder: Path, *, replace: bool) -> None:
    """Write ``tokenizer.json``, unless it is there; another's is replaced if that is asked for."""
    path = folder / TOKENIZER
    if not replace and path.is_file():
        if Tokenizer.load(path).hash != tokenizer.hash:
            raise InputError(f"{path} is another tokenizer; name another folder, or pack without resuming")
        return
    tokenizer.save(path)


def _refuse_other_tokenizer(folder: Path, record: Record, tokenizer: Tokenizer) -> None:
    if record.tokenizer != tokenizer.hash:
        raise InputError(
            f"{folder} was packed with another tokenizer (hash {record.tokenizer[:12]}, and this one is "
            f"{tokenizer.hash[:12]}); load the tokenizer it was packed with, or pack again"
        )


def _refuse_other_stories(
    folder: Path, record: Record, stream: Iterator[str], digest: Any, source: str, show: Callable[[int, int], None]
) -> None:
    """Read over the stories that are packed already, and refuse them if they are others."""
    read = 0
    for number, story in enumerate(islice(stream, record.stories), 1):
        read += _digest(digest, story)
        if number % BATCH == 0:
            show(number, read)
    if record.stories and digest.hexdigest() != record.digest:
        raise InputError(
            f"{folder} holds {record.stories:,} stories that are not the first of {source}; "
            "name another folder, or pack without resuming"
        )


def _refuse_altered(folder: Path, record: Record, *, progress: bool) -> None:
    """Hold both files to the record's hashes, if it has any: older packs have none."""
    if not record.tokens_hash:
        return
    paths, recorded = [folder / TOKENS, folder / STARTS], (record.tokens_hash, record.starts_hash)
    for path, was, now in zip(paths, recorded, files.blake2b(paths, progress=progress), strict=True):
        if now != was:
            raise InputError(
                f"{path} was altered since it was packed: its hash is not the one in {RECORD}; restore it, or remove "
                f"{folder} and pack its stories again (a run that is gone on with does so by itself)"
            )


@contextmanager
def _kept_unless_refused(folder: Path) -> Iterator[Path]:
    """The folder to pack in. What an error or a kill leaves is there to be resumed, unless the error (ValueError) would
    only come again. Then what was made goes, and what was there before stays."""
    files.sweep(folder)
    before = {name for name in FILES if (folder / name).exists()}
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
    except ValueError:
        for name in FILES:
            if name not in before:
                (folder / name).unlink(missing_ok=True)
        for place in missing:
            with suppress(OSError):  # it holds something by now
                place.rmdir()
        raise


@contextmanager
def _clear_when_full(folder: Path) -> Iterator[None]:
    """Say of a full disk what can be done about it."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        message = "the disk is full, and the stories are not all packed; make room and pack again to resume"
        raise OSError(error.errno, message, str(folder)) from None


@contextmanager
def _bar(progress: bool, total: int | None) -> Iterator[Callable[[int, int], None]]:
    """A function that is told how many stories and bytes are done, and shows it."""
    if not progress:
        yield lambda stories, size: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("packing"), BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True))
    task, began = bar.add_task("reading", total=total), time.monotonic()

    def show(stories: int, size: int) -> None:
        bar.start()  # with the first story: where there is none, nothing is drawn
        seconds = max(time.monotonic() - began, 1e-3)
        speed = f"{stories / seconds:,.0f} stories/s · {size / seconds / 1e6:.1f} MB/s"
        bar.update(task, completed=size, description=f"{stories:,} stories · {speed}")

    try:
        yield show
        bar.update(task, total=bar.tasks[0].completed)  # the file's size was a guess at the size of what is kept
    finally:
        if bar.live.is_started:
            bar.stop()
