"""Build an n-gram index: the words of all stories on disk, and all their places, sorted by the words that follow.

A suffix array over words (Manber and Myers 1993, doi:10.1137/0222058), sorted to a depth of 30 words. Stories are read
once and written as they come; then places are divided by their first three words into parts of about 4 million, and
each part is sorted in memory. Memory: about 80 bytes per place of a part (350 MB) and the vocabulary, however large the
corpus is; a part is larger only if one and the same three words begin more than 4 million places.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from tslens import files, lock, progress
from tslens.errors import InputError
from tslens.ngrams.hashes import write_hashes
from tslens.ngrams.index import Index, open_index
from tslens.ngrams.layout import (
    AT_ONCE,
    BITS,
    DEPTH,
    PADDING,
    PLACES,
    RECORD,
    SENTENCES,
    STARTS,
    TEXT_STARTS,
    TEXTS,
    VERSION,
    VOCABULARY,
    WORDS,
    IndexRecord,
)
from tslens.ngrams.words import sentences_of

BATCH = 1000  # stories that are written at once
PART = 1 << 22  # places that are sorted at once
SAMPLE = 256  # places that are looked at for each part, to divide them evenly


def build(stories: Iterable[str], folder: str | Path, *, source: str = "") -> Index:
    """Index the stories, in one stream with bounded memory, and open the index.

    The folder appears when it is complete, and replaces an older index. Disk: about 14 bytes per word, with the text.

    Raises:
        InputError: no stories, more than two million different words, or a folder that holds something else.
    """
    folder = Path(folder)
    if folder.exists() and not (folder / RECORD).is_file():
        raise InputError(f"{folder} exists and is no n-gram index. Give another folder.")
    with lock.held(folder, otherwise=""), files.atomic_folder(folder) as scratch:
        n_stories, n_words, digest = _write(stories, scratch, source)
        dtype = "uint32" if n_words < 2**32 else "uint64"
        _sort(scratch, n_words, dtype)
        record = IndexRecord(VERSION, source, digest, n_stories, n_words, dtype)
        (scratch / RECORD).write_text(json.dumps(asdict(record), indent=1) + "\n", encoding="utf-8")
        write_hashes(scratch)
    return open_index(folder)


def kept(stories: Iterable[str], parent: str | Path, *, source: str = "") -> Index:
    """The index of the stories, kept in a folder of `parent` named after their hash; built if it is not there.

    The stories are read once for the hash, and once more where the index is built.
    """
    digest = blake2b(f"n-gram index {VERSION}\0".encode(), digest_size=16)
    for text in progress.track(stories, "hashing stories"):
        _add(digest, text.encode("utf-8", "surrogatepass"))
    folder = Path(parent) / digest.hexdigest()
    if not (folder / RECORD).is_file():
        return build(stories, folder, source=source)
    lock.sweep(folder)
    return open_index(folder)


def _add(digest: blake2b, raw: bytes) -> None:
    digest.update(len(raw).to_bytes(8, "little") + raw)


class _Numbers(dict[str, int]):
    """The number of each word, from 1 in the order of their first appearance; 0 separates stories."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self) + 1
        return number


def _write(stories: Iterable[str], folder: Path, source: str) -> tuple[int, int, str]:
    """Write texts, words, starts and vocabulary; returns the stories, the words with separators, and a digest."""
    numbers, counts, digest = _Numbers(), np.zeros(0, dtype=np.int64), blake2b(digest_size=16)
    n_stories = place = text_place = 0
    stream = iter(stories)
    with (
        ExitStack() as stack,
        progress.bar("indexing stories", getattr(stories, "n_bytes", None), in_bytes=True) as bar,
    ):
        out = {name: stack.enter_context((folder / name).open("wb")) for name in _STREAMED}
        while batch := list(islice(stream, BATCH)):
            flat: list[int] = []
            starts, begins, text_starts = [], [], []
            for text in batch:
                raw = text.encode("utf-8", "surrogatepass")
                text_starts.append(text_place)
                starts.append(place + len(flat))
                for sentence in sentences_of(text):
                    begins.append(place + len(flat))
                    flat.extend(map(numbers.__getitem__, sentence))
                flat.append(0)
                text_place += len(raw)
                _add(digest, raw)
                out[TEXTS].write(raw)
            for name, values in ((STARTS, starts), (SENTENCES, begins), (TEXT_STARTS, text_starts)):
                _append(out[name], values, np.int64)
            _append(out[WORDS], flat, np.uint32)
            counts = _added(counts, np.bincount(flat, minlength=len(numbers) + 1))
            n_stories, place = n_stories + len(batch), place + len(flat)
            bar.update(text_place, note=f"{n_stories:,} stories")
            if len(numbers) >= 2**BITS - 2:
                raise InputError(
                    f"{source or 'the corpus'} has over {2**BITS - 3:,} different words; are these stories?"
                )
        if not n_stories:
            raise InputError(f"there are no stories in {source or 'the corpus'} to index; give at least one.")
        _append(out[STARTS], [place], np.int64)
        _append(out[TEXT_STARTS], [text_place], np.int64)
        _append(out[WORDS], [0] * PADDING, np.uint32)
    vocabulary = {"words": list(numbers), "counts": counts.tolist()[1:]}
    (folder / VOCABULARY).write_text(json.dumps(vocabulary), encoding="utf-8")
    return n_stories, place, digest.hexdigest()


_STREAMED = (TEXTS, TEXT_STARTS, WORDS, STARTS, SENTENCES)


def _append(file: IO[bytes], values: list[int], dtype: Any) -> None:
    file.write(np.asarray(values, dtype=dtype).tobytes())


def _added(counts: np.ndarray, more: np.ndarray) -> np.ndarray:
    more[: len(counts)] += counts
    return more


# Sorting


def _sort(folder: Path, n_words: int, dtype: str) -> None:
    """Write the places of all words, sorted by the DEPTH words from each on; ties stay in the corpus's order."""
    tokens = np.memmap(folder / WORDS, dtype=np.uint32, mode="r")
    borders = _borders(tokens, n_words)
    with files.scratch_folder(folder, "parts") as scratch, (folder / PLACES).open("wb") as out:
        parts = [scratch / f"{number}" for number in range(len(borders) + 1)]
        with ExitStack() as stack, progress.bar("dividing places", n_words) as bar:
            opened = [stack.enter_context(path.open("wb")) for path in parts]
            for places in _chunks(tokens, n_words):
                which = np.searchsorted(borders, _keys(tokens, places), side="right")
                order = np.argsort(which, kind="stable")
                ends = np.searchsorted(which[order], np.arange(len(parts) + 1))
                for file, a, b in zip(opened, ends, ends[1:], strict=False):
                    file.write(places[order[a:b]].astype(dtype).tobytes())
                bar.advance(len(places))
        for path in progress.track(parts, "sorting places"):
            _sorted(tokens, np.fromfile(path, dtype=dtype).astype(np.int64)).astype(dtype).tofile(out)
            path.unlink()


def _chunks(tokens: np.ndarray, n_words: int) -> Iterator[np.ndarray]:
    """The places of words (not of separators), PART at a time."""
    for start in range(0, n_words, PART):
        yield start + np.flatnonzero(tokens[start : min(start + PART, n_words)])


def _borders(tokens: np.ndarray, n_words: int) -> np.ndarray:
    """Keys that divide the places into parts of about PART, by a sample of them."""
    n_parts = -(-n_words // PART)
    places = np.unique(np.random.default_rng(0).integers(0, n_words, SAMPLE * n_parts))
    keys = np.sort(_keys(tokens, places[tokens[places] > 0]))
    return np.unique(keys[np.arange(1, n_parts) * len(keys) // n_parts]) if len(keys) else keys


def _keys(tokens: np.ndarray, places: np.ndarray, first: int = 0) -> np.ndarray:
    """The three words from the `first` on at each place, as one number whose order is theirs."""
    key = np.zeros(len(places), dtype=np.uint64)
    for ahead in range(first, first + AT_ONCE):
        key = (key << np.uint64(BITS)) | tokens[places + ahead].astype(np.uint64)
    return key


def _sorted(tokens: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Ascending places sorted by the DEPTH words from each on: by three, then those that tie by the next three."""
    key = _keys(tokens, places)
    order = np.argsort(key, kind="stable")
    places, key = places[order], key[order]
    begins = np.ones(len(places) + 1, dtype=bool)  # whether a place is the first of those that tie so far
    begins[1:-1] = key[1:] != key[:-1]
    for first in range(AT_ONCE, DEPTH, AT_ONCE):
        tied = np.flatnonzero(~(begins[:-1] & begins[1:]))
        if not len(tied):
            break
        group = np.cumsum(begins[:-1])[tied]
        key = _keys(tokens, places[tied], first)
        order = np.lexsort((key, group))
        places[tied], key = places[tied][order], key[order]
        begins[tied[1:]] |= key[1:] != key[:-1]
    return places
