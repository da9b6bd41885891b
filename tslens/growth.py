"""How many times longer the steps of a ``tokenizer.json`` can make a text: from the file alone, before it is used."""

import base64
import contextlib
import re
from collections.abc import Iterator
from typing import Any

from tslens.errors import InputError

MOST_TIMES = 10_000
"""Times that a text may become longer, and bytes of text that a token may stand for. SentencePiece's longest chain,
ALBERT's, may reach 3,300 by the count of `times`; Llama's 12."""
MOST_STEPS = 1_000
"""Steps of a normalizer, a pre-tokenizer or a decoder; real ones have a few dozen at most."""
_SIGN = r"(?:\[[^\]\\]*(?:\\.[^\]\\]*)*\]|\\[sSdDwW.!?-]|[^\\()\[\]{}*?+|^$])"
_SIGNS = rf"\^?(?:{_SIGN}(?:\+|\{{[1-9]\d*(?:,\d*)?\}})?)+\$?"
CONSUMES = re.compile(rf"{_SIGNS}(?:\|{_SIGNS})*", re.DOTALL)
"""Regular expressions that match no empty text: characters and classes of them, repeated at least once, and choices of
such."""
OF_TYPE = {
    "NFC": 3,  # bytes of UTF-8 (Unicode Standard Annex 15), as the next three
    "NFD": 3,
    "NFKC": 11,
    "NFKD": 11,
    "Lowercase": 1.5,
    "BertNormalizer": 8,  # NFD, lowercase, and spaces around a Chinese character
    "ByteLevel": 4,  # a letter of two bytes for each byte, and a space before each piece
    "WordPiece": 2,  # a space between any two letters, at most, as the next two
    "BPEDecoder": 2,
    "CTC": 2,
}
"""What a step without a text of its own multiplies the bytes of a text by, at most."""


def refuse_growth(fields: dict[str, Any], where: str) -> None:
    """InputError for the fields of a ``tokenizer.json`` by which a text, or a token, may become over `MOST_TIMES` times
    as long, or with over `MOST_STEPS` steps."""
    chains = {"normalizer": 1.0, "pre_tokenizer": 1.0, "decoder": 1.0}
    for name in chains:
        steps = list(_steps(fields.get(name)))
        chains[name] = _times_of_all(steps)
        if len(steps) > MOST_STEPS:
            raise InputError(
                f"{where} has a {name} of {len(steps):,} steps; give one of at most {MOST_STEPS:,}. It was altered."
            )
    model: Any = fields.get("model")
    model = model if isinstance(model, dict) else {}
    affixes = 1 + _size(model.get("continuing_subword_prefix")) + _size(model.get("end_of_word_suffix"))
    if (longer := chains["normalizer"] * chains["pre_tokenizer"] * affixes) > MOST_TIMES:
        raise InputError(
            f"{where} can make a text {longer:,.4g} times as long before it is split into tokens; give a tokenizer "
            f"whose normalizer and pre_tokenizer make it at most {MOST_TIMES:,} times as long."
        )
    if (longest := _longest_token(fields, model) * chains["decoder"]) > MOST_TIMES:
        raise InputError(
            f"{where} can make {longest:,.4g} bytes of text of one token; give a tokenizer whose tokens, decoded, have "
            f"at most {MOST_TIMES:,}."
        )


def times(step: dict[str, Any]) -> float:
    """What one step multiplies the bytes of a text by, at most: `Replace` by its content, wherever it may match. Its
    fields say what a step is, because `tokenizers` takes one without a type."""
    found = float(OF_TYPE.get(str(step.get("type")), 1))
    if "pattern" in step and "content" in step:
        pattern, content = step["pattern"] if isinstance(step["pattern"], dict) else {}, _size(step["content"])
        least = _size(pattern.get("String")) or int(bool(CONSUMES.fullmatch(str(pattern.get("Regex", "")))))
        found *= max(1.0, content / least) if least else 1 + content  # what may match nothing does so anywhere
    if "prepend" in step:
        found *= 1 + _size(step["prepend"])
    if "replacement" in step:
        found *= 2 * max(1, _size(step["replacement"]))  # for a space, and before a piece
    if "suffix" in step:
        found = max(found, 2)
    if "precompiled_charsmap" in step:
        found *= max(1, _longest_of_map(step["precompiled_charsmap"]))
    return found


def _times_of_all(steps: list[dict[str, Any]]) -> float:
    """What steps multiply the bytes of a text by, one after the other: their product, but of replacements of single
    characters in a row, of which none replaces what another wrote, the largest."""
    product, largest, written = 1.0, 1.0, ""
    for step in steps:
        pattern = step["pattern"].get("String") if isinstance(step.get("pattern"), dict) else None
        replaces = isinstance(pattern, str) and len(pattern) == 1 and {*step} <= {"type", "pattern", "content"}
        if not replaces or str(pattern) in written:
            product, largest, written = product * largest, 1.0, ""
        if replaces:
            largest, written = max(largest, times(step)), written + str(step.get("content"))
        else:
            product *= times(step)
    return product * largest


def _steps(found: Any) -> Iterator[dict[str, Any]]:
    """Every step within a step, itself included, whatever the name of the list."""
    if isinstance(found, dict):
        if "type" in found or not found.keys() <= {"String", "Regex"}:
            yield found
        for value in found.values():
            yield from _steps(value)
    elif isinstance(found, list):
        for value in found:
            yield from _steps(value)


def _size(text: Any) -> int:
    return len(text.encode(errors="surrogatepass")) if isinstance(text, str) else 0


def _longest_of_map(encoded: Any) -> int:
    """The bytes of the longest text in SentencePiece's map of characters: a size, a trie, and texts that end in 0."""
    data = b""
    with contextlib.suppress(TypeError, ValueError):  # the library says what it is
        data = base64.b64decode(encoded)
    texts = data[4 + int.from_bytes(data[:4], "little") :]
    return max(map(len, texts.split(b"\0")), default=0)


def _longest_token(fields: dict[str, Any], model: dict[str, Any]) -> int:
    """The bytes of the longest token of a vocabulary: a table by token, or Unigram's list of tokens with scores."""
    vocabulary, added = model.get("vocab"), fields.get("added_tokens")
    tokens: list[Any] = list(vocabulary) if isinstance(vocabulary, dict) else []
    if isinstance(vocabulary, list):
        tokens += [row[0] for row in vocabulary if isinstance(row, list) and row]
    if isinstance(added, list):
        tokens += [token.get("content") for token in added if isinstance(token, dict)]
    return max(map(_size, tokens), default=0)
