"""Byte-level BPE in GPT-2's layout: its letters for bytes, its files, and the cut to the commonest tokens."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import tokenizers
from numpy.typing import NDArray
from tokenizers import AddedToken, decoders, models, pre_tokenizers

from tslens.errors import InputError, MissingInputError
from tslens.parsing import decoded, parse_json
from tslens.paths import absent, contents

END_OF_STORY = "<|endoftext|>"
MOST = 1_000_000
"""Largest vocabulary that is read or trained."""

Ids: TypeAlias = dict[str, int]
"""each token's id"""
Merges: TypeAlias = list[tuple[str, str]]
"""the pairs of tokens that are merged, the earliest first"""


def _byte_letters() -> dict[int, str]:
    """GPT-2's printable letter for each byte (Radford et al. 2019): printable Latin-1 stands for itself."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + n) for n, byte in enumerate(others)}


BYTE_LETTERS = _byte_letters()
LETTER_BYTES = {letter: byte for byte, letter in BYTE_LETTERS.items()}


def text_of_letters(token: str) -> str:
    """The text whose bytes these letters stand for; a byte outside a whole character is written ``\\xNN``.

    An added token, which is stored as plain text, comes back as it is.
    """
    if not all(letter in LETTER_BYTES for letter in token):
        return token
    return bytes(LETTER_BYTES[letter] for letter in token).decode("utf-8", errors="backslashreplace")


def backend_for(model: models.BPE) -> tokenizers.Tokenizer:
    """A tokenizer of this model that splits text, and joins it again, by GPT-2's letters."""
    backend = tokenizers.Tokenizer(model)
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return backend


def backend_of(ids: Ids, pairs: Merges) -> tokenizers.Tokenizer:
    """The tokenizer of a vocabulary and its merges."""
    backend = backend_for(models.BPE(vocab=ids, merges=pairs))
    backend.add_special_tokens([AddedToken(END_OF_STORY, special=True, normalized=False)])
    return backend


def read_files(vocab: Path, merges: Path) -> tuple[Ids, Merges]:
    """The ids and merges in GPT-2's two files, `END_OF_STORY` added where it is missing.

    Raises:
        InputError: a file of another layout, or two files that do not match.
        FileNotFoundError: there is no such file.
    """
    for path in (vocab, merges):
        if not path.is_file():
            raise MissingInputError(f"{absent(path)}; give GPT-2's vocab.json and merges.txt")
    ids = parse_json(contents(vocab), str(vocab), "Give GPT-2's vocab.json.")
    lines = decoded(contents(merges), merges, 0).splitlines()
    rows = [line.split(" ") for line in lines if line and not line.startswith("#version")]
    if not isinstance(ids, dict) or not all(letter in ids for letter in BYTE_LETTERS.values()):
        raise InputError(f"{vocab} is not a byte-level vocabulary (it lacks some of the 256 bytes); give GPT-2's")
    if not all(type(number) is int and 0 <= number < MOST for number in ids.values()):
        raise InputError(f"{vocab} has a token whose id is no whole number below {MOST:,}; give GPT-2's")
    of_id = {number: token for token, number in ids.items()}
    if shared := next(((token, of_id[number]) for token, number in ids.items() if of_id[number] != token), None):
        raise InputError(f"{vocab} has two tokens of one id, {shared[0]!r} and {shared[1]!r}; give GPT-2's")
    bad = next((row for row in rows if len(row) != 2 or not {*row, "".join(row)} <= ids.keys()), None)
    if bad is not None:
        raise InputError(f"{merges} has the merge {' '.join(bad)!r}, unknown to {vocab.name}; give a matching pair")
    ids.setdefault(END_OF_STORY, max(ids.values()) + 1)
    return ids, [(left, right) for left, right in rows]


def count_ids(rows: Iterable[Sequence[int]], size: int) -> NDArray[np.int64]:
    """How often each id occurs in the rows, shape (size,). InputError if there are no rows."""
    counts = np.zeros(size, dtype=np.int64)
    for row in rows:
        np.add.at(counts, np.asarray(row, dtype=np.int64), 1)
    if not counts.any():
        raise InputError("there are no texts to count tokens on; a cut vocabulary needs texts=")
    return counts


def cut_vocabulary(ids: Ids, pairs: Merges, keep: int, counts: NDArray[np.int64]) -> tuple[Ids, Merges]:
    """The ``keep`` commonest tokens with the tokens they are merged from, renumbered, and the merges among them.

    `counts`, shape (ids,), says how often each occurs.
    """
    parts = {left + right: (left, right) for left, right in reversed(pairs)}  # the earliest merge of each product wins
    kept = {*BYTE_LETTERS.values(), END_OF_STORY}
    for token in sorted(ids, key=lambda token: (-counts[ids[token]], ids[token])):
        needed = _needed(token, parts, kept)
        if len(kept) + len(needed) <= keep:
            kept |= needed
        if len(kept) == keep:
            break
    order = sorted(kept, key=lambda token: ids[token])
    merges = [(left, right) for left, right in pairs if {left, right, left + right} <= kept]
    return {token: new for new, token in enumerate(order)}, merges


def _needed(token: str, parts: dict[str, tuple[str, str]], kept: set[str]) -> set[str]:
    """The token and every token that is merged on the way to it, except those kept already."""
    found: set[str] = set()
    ahead = [token]
    while ahead:
        token = ahead.pop()
        if token not in kept and token not in found:
            found.add(token)
            ahead.extend(parts.get(token, ()))
    return found
