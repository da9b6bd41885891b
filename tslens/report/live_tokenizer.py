"""A tokenizer as the page's script encodes with it (`assets/live-tokenizer.js`): two kinds, each exactly.

The byte-level BPE of GPT-2, which tslens trains, and the BPE over characters with bytes for unknown ones, which
llama2.c and SentencePiece have. A browser may know letters that Unicode got later than the tokenizer's library does:
words that hold one may be split differently.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tslens.byte_bpe import BYTE_LETTERS, LETTER_BYTES
from tslens.errors import InputError
from tslens.report.embed import pack
from tslens.tokenizer import Tokenizer

BYTE_NAMES = [f"<0x{byte:02X}>" for byte in range(256)]


def scripted(tokenizer: Tokenizer, size: int) -> dict[str, Any]:
    """The tokenizer as JSON, for a model of `size` tokens. InputError if the script would not encode as it does."""
    whole = json.loads(tokenizer.backend.to_str())
    model, names = whole["model"], {i: name for name, i in tokenizer.backend.get_vocab(with_added_tokens=True).items()}
    _check(whole, model)
    ids = {name: i for i, name in names.items()}
    byte_level = whole["pre_tokenizer"] is not None
    before, replaced = ("", []) if byte_level else _normalizer(whole["normalizer"])
    singles = [ids.get(BYTE_LETTERS[byte] if byte_level else BYTE_NAMES[byte]) for byte in range(256)]
    if None in singles:
        raise InputError("its tokenizer lacks some of the 256 bytes")
    merges = [ids[part] for left, right in model["merges"] for part in (left, right, left + right)]
    size = max(size, tokenizer.size)
    shown = tokenizer.pieces(range(size))
    back = [] if byte_level else list(_back(whole["decoder"]))
    texts = [_text(names[i], byte_level, back) if i in names else shown[i] for i in range(size)]
    return {
        "kind": "bytes" if byte_level else "characters",
        "bos": tokenizer.bos,
        "ends": list(tokenizer.ends),
        "hidden": tokenizer.hidden,
        "size": size,
        "shown": shown,
        "texts": [_as_bytes(text) for text in texts] if byte_level else texts,
        "bytes": pack(np.array(singles, np.uint32)),
        "characters": [] if byte_level else [[name, i] for name, i in model["vocab"].items() if len(name) == 1],
        "before": before,
        "replaced": replaced,
        "merges": pack(np.array(merges, np.uint32)),
    }


def _check(whole: Mapping[str, Any], model: Mapping[str, Any]) -> None:
    """InputError for a part of a tokenizer that the script does not have."""
    splits = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}
    pre, normalizer = whole["pre_tokenizer"], whole["normalizer"]
    words = pre is not None and {key: pre.get(key) for key in splits} == splits and normalizer is None
    decoder = whole["decoder"] or {}
    if model["type"] != "BPE" or any(model.get(k) for k in ("dropout", "continuing_subword_prefix", "ignore_merges")):
        raise InputError("its tokenizer is no plain BPE")
    if model.get("end_of_word_suffix") or not all(token["special"] for token in whole["added_tokens"]):
        raise InputError("its tokenizer finds tokens in a text before it splits it")
    if words:
        if decoder.get("type") != "ByteLevel":
            raise InputError("its tokenizer joins bytes in a way of its own")
    elif pre is not None or not model.get("byte_fallback"):
        raise InputError("its tokenizer splits text in a way of its own")


def _normalizer(given: Any) -> tuple[str, list[tuple[str, str]]]:
    """What is put before a text, and what is replaced in it. InputError for another normalizer."""
    parts = given["normalizers"] if given and given["type"] == "Sequence" else [given] if given else []
    kinds = [part["type"] for part in parts]
    if kinds not in (["Prepend"], ["Prepend", "Replace"]) or any("Regex" in part.get("pattern", {}) for part in parts):
        raise InputError("its tokenizer changes a text in a way of its own before it splits it")
    return parts[0]["prepend"], [(part["pattern"]["String"], part["content"]) for part in parts[1:]]


def _back(decoder: Any) -> Iterator[tuple[str, str]]:
    """What is replaced in tokens where they are joined. InputError for a decoder that is not SentencePiece's."""
    parts = (decoder or {}).get("decoders", [])
    first = [part for part in parts if part["type"] == "Replace"]
    kinds = [part["type"] for part in parts if part["type"] != "Replace"]
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    plain = kinds == ["ByteFallback", "Fuse", "Strip"] and parts[-1] == strip and parts[: len(first)] == first
    if not plain or any("Regex" in part["pattern"] for part in first):
        raise InputError("its tokenizer joins tokens in a way of its own")
    yield from ((part["pattern"]["String"], part["content"]) for part in first)


def _text(name: str, byte_level: bool, back: Sequence[tuple[str, str]]) -> str | bytes:
    """What a token stands for where tokens are joined."""
    if byte_level:
        plain = all(letter in LETTER_BYTES for letter in name)
        return bytes(LETTER_BYTES[letter] for letter in name) if plain else name.encode()
    for before, after in back:
        name = name.replace(before, after)
    return name


def _as_bytes(text: str | bytes) -> str:
    """One letter for each byte, which JSON holds."""
    return (text if isinstance(text, bytes) else text.encode()).decode("latin-1")
