"""llama2.c's tokenizers: read from their file, and written from ours.

A file is one int32 and then, for each token, a float32 score, an int32 length and that many bytes. llama2.c puts a
space before the text, splits it into characters (a character that is no token into its UTF-8 bytes) and repeatedly
merges the two neighbours whose joint token has the best score, as SentencePiece's BPE (Kudo and Richardson 2018, arXiv
1808.06226).
"""

import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path

import tokenizers
from tokenizers import AddedToken, decoders, models, normalizers

from tslens.byte_bpe import BYTE_LETTERS, LETTER_BYTES, backend_for
from tslens.errors import InputError, MissingInputError
from tslens.paths import absent, contents
from tslens.tokenizer import Tokenizer

BOS, FIRST_BYTE, FIRST_PIECE = 1, 3, 259  # llama2.c fixes these ids: <unk>, <s>, </s>, 256 bytes, then the pieces
BYTE_NAMES = [f"<0x{byte:02X}>".encode() for byte in range(256)]
BYTES = [BYTE_NAMES[0], *(bytes([byte]) for byte in range(1, 256))]
"""The bytes of a byte-level vocabulary, of which longer tokens are merged; the end of a C string cannot be one."""
WITHOUT_IT = "Write the model with --to hf."
NEVER = -1e10  # the score of a token that is not merged


def read_tokenizer(path: str | Path, vocab_size: int) -> Tokenizer:
    """A llama2.c tokenizer of `vocab_size` tokens, encoding as llama2.c does; its BOS is `<s>`, id 1.

    It is a BPE whose merges are every split of every piece in two, best score first. Where pieces tie in score llama2.c
    takes the leftmost, this one the lower id. One that `written` made of a byte-level tokenizer reads text as that one
    did, without a space before it.

    Raises FileNotFoundError, and InputError for a file that is cut off or holds another number of tokens.
    """
    path = Path(path)
    if not path.is_file():
        raise MissingInputError(f"{absent(path, 'llama2.c tokenizer')}. Write llama2c:FILE,TOKENIZER.")
    pieces, scores = _read_pieces(path, vocab_size)
    if pieces[FIRST_BYTE:FIRST_PIECE] == BYTES:
        return Tokenizer(_byte_level(pieces, scores), bos=pieces[BOS].decode("utf-8", errors="backslashreplace"))
    shown = [piece.decode("utf-8", errors="backslashreplace") for piece in pieces]
    return Tokenizer(_backend(path, shown, scores), bos="<s>")


def written(tokenizer: Tokenizer, size: int) -> tuple[bytes, list[int]]:
    """The file of a tokenizer for a model of `size` tokens, and which id of ours each id in it is.

    llama2.c fixes the ids of BOS and of the bytes, so those of a byte-level tokenizer are put in another order. It
    knows no words: it merges any two neighbours whose joint text is a token, where ours merges certain pairs in a word.

    Raises:
        InputError: the tokenizer is neither a byte-level BPE nor one of llama2.c's, or has fewer than 259 tokens.
    """
    ids = tokenizer.backend.get_vocab(with_added_tokens=True)
    names = {i: name for name, i in ids.items()}
    if tokenizer.bos == BOS and [names.get(i, "").encode() for i in range(FIRST_BYTE, FIRST_PIECE)] == BYTE_NAMES:
        order = list(range(size))
        if " " not in ids:  # SentencePiece's sign for it, in tokenizers of transformers
            names = {i: name.replace("▁", " ") for i, name in names.items()}
        pieces = [names.get(i, f"<unused {i}>").encode() for i in order]
        if b" " not in pieces or len({*pieces}) < size:
            raise InputError(f"llama2.c has no form for this tokenizer: it needs one token for a space. {WITHOUT_IT}")
    else:
        order = _reordered(tokenizer, ids, size)
        pieces = [_raw(names.get(i, f"<unused {i}>")) for i in order]
        pieces[FIRST_BYTE] = BYTES[0]
    ranks: dict[str, int] = {}
    for rank, (left, right) in enumerate(json.loads(tokenizer.backend.to_str())["model"].get("merges", [])):
        ranks.setdefault((left + right).replace("▁", " ") if " " not in ids else left + right, rank)
    scores = [-float(ranks[names[i]]) if names.get(i) in ranks else NEVER for i in order]
    entries = (struct.pack("<fi", score, len(piece)) + piece for piece, score in zip(pieces, scores, strict=True))
    return struct.pack("<i", max(map(len, pieces))) + b"".join(entries), order


def _reordered(tokenizer: Tokenizer, ids: dict[str, int], size: int) -> list[int]:
    """The ids of a byte-level tokenizer in llama2.c's order: BOS second, then from the fourth on the bytes."""
    single = [ids.get(BYTE_LETTERS[byte]) for byte in range(256)]
    known = [i for i in single if i is not None]
    others = [i for i in range(size) if i not in {tokenizer.bos, *known}]
    merges = type(tokenizer.backend.model).__name__ == "BPE"
    if not (tokenizer.byte_level and merges) or len(known) < len(single) or len(others) < FIRST_BYTE - 1:
        raise InputError(
            "llama2.c has no form for this tokenizer: it takes a byte-level BPE of at least "
            f"{FIRST_PIECE} tokens with all 256 bytes, or one of its own. {WITHOUT_IT}"
        )
    return [others[0], tokenizer.bos, others[1], *known, *others[2:]]


def _raw(name: str) -> bytes:
    """The bytes that a token's letters stand for; a token of another kind in UTF-8."""
    return bytes(LETTER_BYTES[x] for x in name) if all(x in LETTER_BYTES for x in name) else name.encode()


def _read_pieces(path: Path, vocab_size: int) -> tuple[list[bytes], list[float]]:
    data = contents(path)
    pieces: list[bytes] = []
    scores: list[float] = []
    at = 4
    while at < len(data):
        score, length = struct.unpack_from("<fi", data, at) if at + 8 <= len(data) else (math.nan, -1)
        piece = data[at + 8 : at + 8 + length] if length >= 0 else b""
        if len(piece) != length or not math.isfinite(score):
            raise InputError(
                f"{path} was cut off or is no llama2.c tokenizer: its token {len(pieces)} (of {vocab_size} expected) "
                f"is not whole at byte {at:,} of {len(data):,}. Fetch it again."
            )
        pieces.append(piece)
        scores.append(score)
        at += 8 + length
    if len(pieces) != vocab_size:
        raise InputError(
            f"{path} has {len(pieces)} tokens and the model a vocabulary of {vocab_size}: it is another model's "
            f"tokenizer, or was cut off. Name the right one: llama2c:FILE,TOKENIZER."
        )
    return pieces, scores


def _byte_level(pieces: list[bytes], scores: list[float]) -> tokenizers.Tokenizer:
    """The byte-level BPE of a file that `written` made."""
    letters = ["".join(BYTE_LETTERS[byte] for byte in piece) for piece in pieces]
    letters[FIRST_BYTE] = BYTE_LETTERS[0]
    letters[BOS] = pieces[BOS].decode("utf-8", errors="backslashreplace")
    ids = {name: i for i, name in enumerate(letters)}
    merged = {name: scores[i] for name, i in ids.items() if i != BOS}
    backend = backend_for(models.BPE(vocab=ids, merges=_merges(merged, ids)))
    backend.add_special_tokens([AddedToken(letters[BOS], special=True, normalized=False)])
    return backend


def _merges(scores: Mapping[str, float], ids: Mapping[str, int]) -> list[tuple[str, str]]:
    """Every split of a piece into two that are pieces, best score first."""
    return [
        (piece[:cut], piece[cut:])
        for piece in sorted(scores, key=lambda piece: (-scores[piece], ids[piece]))
        if scores[piece] > NEVER
        # The longer left part first: in a run of one letter llama2.c, going from the left, meets that one first.
        for cut in range(len(piece) - 1, 0, -1)
        if piece[:cut] in scores and piece[cut:] in scores
    ]


def _backend(path: Path, pieces: list[str], scores: list[float]) -> tokenizers.Tokenizer:
    if pieces[FIRST_BYTE:FIRST_PIECE] != [name.decode() for name in BYTE_NAMES]:
        raise InputError(f"{path} is no llama2.c tokenizer: its ids 3 to 258 are not the bytes <0x00> to <0xFF>.")
    names = ["<unk>", "<s>", "</s>", *pieces[FIRST_BYTE:]]
    ids = {name: i for i, name in enumerate(names)}
    if len(ids) != len(names) or "" in ids or " " not in ids:
        twice = next((n for i, n in enumerate(names) if ids[n] != i), None)
        fault = "no space" if twice is None and " " not in ids else f"{twice!r} twice" if twice else "an empty token"
        raise InputError(f"{path} cannot be used as a llama2.c tokenizer: it has {fault}.")
    merges = _merges({name: scores[i] for name, i in ids.items() if i >= FIRST_PIECE}, ids)
    backend = tokenizers.Tokenizer(models.BPE(vocab=ids, merges=merges, byte_fallback=True))
    backend.normalizer = normalizers.Prepend(" ")
    backend.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    backend.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in names[:FIRST_BYTE]])
    return backend
