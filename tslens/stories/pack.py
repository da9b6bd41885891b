"""Pack stories as tokens on disk.

Packing appends, and records its position at least once a second. A killed packing resumes from there, and ends with the
same files as one that was not killed. One process at a time packs into a folder. A packing that fails on its input
removes what it wrote, and keeps the pack that it was to replace. `packed` describes the files.
"""

import errno
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

import numpy as np

from tslens import files, lock
from tslens.errors import InputError
from tslens.files import sync
from tslens.paths import refuse_special
from tslens.progress import bar
from tslens.stories import digests
from tslens.stories.encode import encoded
from tslens.stories.packed import RECORD, STARTS, TOKENIZER, TOKENS, VERSION, Packed, Record, packed_hash
from tslens.tokenizer import Tokenizer

FILES = (TOKENIZER, TOKENS, STARTS, RECORD)  # the record comes last: without it the others do not count
BATCH = 1000  # stories that are encoded at once
NOTE_EVERY = 1.0  # seconds of work that a kill can cost


def pack(
    stories: Iterable[str],
    tokenizer: Tokenizer,
    folder: str | Path,
    *,
    source: str,
    resume: bool = True,
    keep_tokenizer: bool = False,
) -> Packed:
    """Write the stories into a folder as tokens, and open it.

    Args:
        stories: the stories to pack; read once, and again from the first when a packing is resumed.
        tokenizer: the tokenizer; its hash is recorded.
        folder: the folder to write; created if missing.
        source: the name of the stories in the record.
        resume: continue where an earlier packing of the same stories stopped (a finished one is only checked);
            otherwise start over, and at the end replace the pack that is there.
        keep_tokenizer: write its ``tokenizer.json`` beside the tokens.

    Raises:
        InputError: no stories, or a source that cannot be read; another process that packs into the folder; or, when
            resuming, a pack made with another tokenizer or of other stories. Nothing is left of what was written.
        OSError: the disk is full, or the folder cannot be written. The packing can be resumed but not opened; a pack
            that was to be replaced is unchanged.
    """
    folder = Path(folder)
    if resume and (record := Record.read(folder)) is not None:
        record.refuse_other_tokenizer(folder, tokenizer)  # before a story is read
    stream = iter(stories)
    first = next(stream, None)
    if first is None:
        raise InputError(f"there are no stories in {source} to pack; give at least one")
    with lock.held(folder / RECORD, otherwise="pack into another folder"):
        files.sweep(folder)  # a kill cut an earlier one short
        record = Record.read(folder) if resume else None
        anew = not resume and (folder / RECORD).exists()
        with (
            _bar(getattr(stories, "n_bytes", None)) as show,
            files.atomic_files(folder, FILES) if anew else _kept_unless_refused(folder) as target,
            _explained_when_full(target),
        ):
            if keep_tokenizer:
                _keep(tokenizer, target, replace=not resume)
            _write(chain([first], stream), tokenizer, target, record, source, show)
    return Packed.open(folder, tokenizer)


def _write(
    stream: Iterator[str],
    tokenizer: Tokenizer,
    folder: Path,
    record: Record | None,
    source: str,
    show: Callable[[int, int], None],
) -> None:
    """Write the stories after those that an earlier record counts, and the record of all."""
    digest = digests.empty()
    if record is None:
        record = Record(VERSION, packed_hash(tokenizer), "uint16" if tokenizer.size <= 2**16 else "uint32", source)
        record.write(folder)
    else:
        record.refuse_other_tokenizer(folder, tokenizer)
        if record.finished:
            record.refuse_altered(folder)
        _refuse_other_stories(folder, record, stream, digest, source, show)
        record = replace(record, finished=False, tokens_hash="", starts_hash="")
    written = blake2b(digest_size=16), blake2b(digest_size=16)
    record = _append(stream, tokenizer, folder, record, digest, written, show)
    hashes = files.blake2b([folder / TOKENS, folder / STARTS])
    if hashes != [digest.hexdigest() for digest in written]:
        raise InputError(
            f"{folder} does not hold the {record.stories:,} stories and {record.tokens:,} tokens that were packed: "
            "another program also wrote there. Stop it, then pack again without resuming."
        )
    replace(record, finished=True, tokens_hash=hashes[0], starts_hash=hashes[1]).write(folder)


def _append(
    stream: Iterator[str],
    tokenizer: Tokenizer,
    folder: Path,
    record: Record,
    digest: blake2b,
    written: tuple[blake2b, blake2b],
    show: Callable[[int, int], None],
) -> Record:
    """Append the rest of the stream after the stories that the record counts; returns the record of all.

    `digest` is the digest of the stories, `written` the digests of all bytes of the two files.
    """
    noted = time.monotonic()
    with (
        _opened(folder / TOKENS, record.size_of_tokens, written[0]) as tokens,
        _opened(folder / STARTS, record.size_of_starts, written[1]) as starts,
    ):
        for texts, flat, lengths in encoded(stream, tokenizer, record.dtype, BATCH):
            places = (record.tokens + np.cumsum(lengths) - lengths).astype(np.int64)
            for file, hashed, data in ((tokens, written[0], flat.tobytes()), (starts, written[1], places.tobytes())):
                file.write(data)
                hashed.update(data)
            record = replace(
                record,
                stories=record.stories + len(texts),
                tokens=record.tokens + flat.size,
                bytes=record.bytes + sum(digests.add(digest, text) for text in texts),
                longest=max(record.longest, int(lengths.max())),
                digest=digest.hexdigest(),
            )
            show(record.stories, record.bytes)
            if time.monotonic() - noted > NOTE_EVERY:
                sync(tokens, starts)
                record.write(folder)
                noted = time.monotonic()
        sync(tokens, starts)
    return record


def _refuse_other_stories(
    folder: Path, record: Record, stream: Iterator[str], digest: blake2b, source: str, show: Callable[[int, int], None]
) -> None:
    """Read the stories that are already packed; InputError if they differ."""
    read = 0
    for number, story in enumerate(islice(stream, record.stories), 1):
        read += digests.add(digest, story)
        if number % BATCH == 0:
            show(number, read)
    if record.stories and digest.hexdigest() != record.digest:
        raise InputError(
            f"{folder} holds {record.stories:,} stories that are not the first of {source}; "
            "name another folder, or pack without resuming"
        )


# Files


@contextmanager
def _opened(path: Path, size: int, written: blake2b) -> Iterator[BinaryIO]:
    """A file opened for writing after its first ``size`` bytes, which go into the digest; bytes that a kill left after
    them are cut off."""
    if path.is_fifo():  # it would wait for a reader
        refuse_special(path)
    with path.open("r+b" if size else "wb") as file:
        while file.tell() < size:
            piece = file.read(min(files.PIECE, size - file.tell()))
            if not piece:
                raise InputError(f"{path} is shorter than its record says; pack again, without resuming")
            written.update(piece)
        if size:
            file.truncate(size)
            file.seek(size)
        yield file


def _keep(tokenizer: Tokenizer, folder: Path, *, replace: bool) -> None:
    """Write ``tokenizer.json`` unless it exists; replace another tokenizer's if requested."""
    path = folder / TOKENIZER
    if not replace and path.is_file():
        if Tokenizer.load(path).hash != packed_hash(tokenizer):
            raise InputError(f"{path} is another tokenizer; name another folder, or pack without resuming")
        return
    tokenizer.save(path)


@contextmanager
def _kept_unless_refused(folder: Path) -> Iterator[Path]:
    """The folder to pack in. After a kill or an error of the system, a later packing resumes from its files.

    An InputError would recur, so new files are removed and older ones stay.
    """
    before = {name for name in FILES if (folder / name).exists()}
    try:
        yield folder
    except InputError:
        for name in FILES:
            if name not in before:
                (folder / name).unlink(missing_ok=True)
        raise


@contextmanager
def _explained_when_full(folder: Path) -> Iterator[None]:
    """Add the remedy to the error of a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        message = "the disk is full, and the stories are not all packed; make room and pack again to resume"
        raise OSError(error.errno, message, str(folder)) from None


@contextmanager
def _bar(total: int | None) -> Iterator[Callable[[int, int], None]]:
    """A function that shows the number of stories and bytes done."""
    began = time.monotonic()
    with bar("packing", total, kept=True, in_bytes=True) as drawn:

        def show(stories: int, size: int) -> None:
            seconds = max(time.monotonic() - began, 1e-3)
            speed = f"{stories / seconds:,.0f} stories/s · {size / seconds / 1e6:.1f} MB/s"
            drawn.update(size, note=f"{stories:,} stories · {speed}")

        yield show
        if drawn.done:
            drawn.update(drawn.done, total=drawn.done)  # the file's size was a guess at the size of what is kept
