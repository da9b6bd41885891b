"""Tokenizers of the library `tokenizers`: read from a file and asked, each of their faults as one line."""

import contextlib
import json
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import processors

from tslens.byte_bpe import END_OF_STORY, MOST
from tslens.errors import InputError, MissingInputError
from tslens.growth import refuse_growth
from tslens.parsing import parse_json
from tslens.paths import absent, contents

BOS_NAMES = (END_OF_STORY, "<s>", "<bos>", "[BOS]", "<|begin_of_text|>", "[EOS]", "</s>", "<eos>")
SPACES = "ĊĠĉč▁"
"""White space as tokenizers write it."""
SPECIAL = ("<", "[", "|")
"""How the names of special tokens begin."""
PROBE = "Tom said, “Hello!” 12 𒀀 \ue000\n"
"""Text with signs that hardly a vocabulary has, which stand for any text."""
PATTERN = "its regular expression fails on it: leave that text out, or give a tokenizer of another one"
PANIC = b"\nthread '"
"""How the trace of a panic begins."""


@contextlib.contextmanager
def one_line(fault: str, remedy: str) -> Iterator[None]:
    """Whatever the library raises is an InputError. For a fault of a tokenizer it raises a bare Exception or
    ValueError, and a panic of its Rust code is no Exception at all."""
    try:
        yield
    except BaseException as error:
        if type(error) not in (Exception, ValueError) and not _is_panic(error):
            raise
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        remedy = PATTERN if "regex" in reason.lower() else remedy
        raise InputError(f"{fault} ({reason}); {remedy}") from None


def as_tokenizer(source: Path) -> contextlib.AbstractContextManager[None]:
    """What the library raises about a file that it shall use as a tokenizer is an InputError."""
    return one_line(f"{source} is not a Hugging Face tokenizer.json", "give one that is")


class _Aside:
    """A context in which the process writes its stderr aside, and shows it at the end but for the trace of a panic,
    which Rust code prints before it raises. Any number of threads may be in it at once."""

    def __init__(self) -> None:
        self._lock, self._users, self._panicked = threading.Lock(), 0, False
        self._usual = self._kept = -1

    def __enter__(self) -> None:
        with self._lock:
            self._users += 1
            if self._users > 1:
                return
            with contextlib.suppress(OSError):  # a process without stderr
                self._usual = os.dup(2)
                self._kept = os.memfd_create("stderr") if sys.platform == "linux" else os.open(os.devnull, os.O_RDWR)
                os.dup2(self._kept, 2)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with self._lock:
            self._users -= 1
            self._panicked |= _is_panic(error)
            if self._users or self._usual < 0:
                return
            os.dup2(self._usual, 2)
            os.lseek(self._kept, 0, os.SEEK_SET)
            with os.fdopen(self._kept, "rb") as kept, os.fdopen(self._usual, "wb", buffering=0) as usual:
                said = kept.read()
                usual.write(said.split(PANIC)[0] if self._panicked else said)
            self._usual, self._panicked = -1, False


ASIDE = _Aside()


def _is_panic(error: BaseException | None) -> bool:
    return type(error).__name__ == "PanicException"


def read_backend(source: Path) -> tokenizers.Tokenizer:
    """The tokenizer in a Hugging Face ``tokenizer.json``, which encodes and decodes the signs of `PROBE`.

    Raises:
        InputError: the file is no tokenizer, one that fails on some texts, or one that makes them too long
            (`tslens.growth`), which is known before it is used.
        FileNotFoundError: there is no such file.
    """
    if not source.is_file():
        raise MissingInputError(f"{absent(source, 'tokenizer')}; give the path of a tokenizer.json")
    data = contents(source)
    fields = _fields(data, source)
    refuse_growth(fields, str(source))
    if (largest := _largest_id(fields)) >= MOST:
        raise InputError(f"{source} has a token with the id {largest:,}; give one of less than {MOST:,}")
    able = "give one that can: a model needs its unknown token in its vocabulary (a Unigram an unk_id)"
    with as_tokenizer(source), ASIDE:
        backend = tokenizers.Tokenizer.from_buffer(data)
        backend.no_padding()  # of as many tokens as the file says
        backend.no_truncation()
    with one_line(f"{source} cannot encode every text", able), ASIDE:
        ids = backend.encode(PROBE, add_special_tokens=False).ids
    with one_line(f"{source} cannot decode what it encodes", "give one with another decoder"), ASIDE:
        backend.decode(ids, skip_special_tokens=False)
    return backend


def bos_of(backend: tokenizers.Tokenizer, what: str, named: Sequence[str] = (), others: Sequence[str] = ()) -> str:
    """The token to put before a story: one of those named, the one that the template puts first, a known name, or one
    of the others."""
    asked = (*named, *_put_first(json.loads(backend.to_str())["post_processor"] or {}), *BOS_NAMES, *others)
    known = [name for name in asked if backend.token_to_id(name) is not None]
    if not known:
        looked = ", ".join(BOS_NAMES)
        raise InputError(f"{what} has no token to put before a story (looked for {looked}). Add one as its bos_token.")
    return known[0]


def unknown_id(backend: tokenizers.Tokenizer) -> int | None:
    """The token that stands for what the vocabulary lacks; None where there is none."""
    model = json.loads(backend.to_str())["model"]
    named = model.get("unk_token")
    return model.get("unk_id") if named is None else backend.token_to_id(named)


def is_space(token: str) -> bool:
    """Whether a token stands for white space."""
    return token != "" and all(letter.isspace() or letter in SPACES for letter in token)


def is_text(backend: tokenizers.Tokenizer, token: str) -> bool:
    """Whether a token may be within a story: white space, the unknown token, or a word that is not special."""
    found = backend.token_to_id(token)
    added = None if found is None else backend.get_added_tokens_decoder().get(found)
    special = (added is not None and added.special) or token.startswith(SPECIAL)
    return is_space(token) or not special or (token not in BOS_NAMES and found == unknown_id(backend))


def is_template_sign(token: str) -> bool:
    """Whether a template cannot name this token: it would read the name as signs of its own."""
    return ":" in token or token.startswith("$")


def put_first(backend: tokenizers.Tokenizer, bos: str) -> None:
    """Give a tokenizer a template that puts BOS before a text, for other programs that open the saved file."""
    name = "bos" if is_template_sign(bos) else bos
    first = {"id": name, "ids": [backend.token_to_id(bos)], "tokens": [bos]}
    backend.post_processor = processors.TemplateProcessing(single=[name, "$A"], special_tokens=[first])


def _put_first(processor: dict[str, Any]) -> list[str]:
    """The special tokens that a tokenizer's own template, or each of several, puts before a text, if any."""
    if "processors" in processor:
        return [name for part in processor["processors"] for name in _put_first(part)]
    if "cls" in processor:  # of BERT and RoBERTa
        return [processor["cls"][0]]
    first = (processor.get("single") or [{}])[0].get("SpecialToken")
    if first is None:
        return []
    names: list[str] = processor["special_tokens"].get(first["id"], {"tokens": [first["id"]]})["tokens"]
    return names[:1]


def _fields(tokenizer_json: bytes, source: Path) -> dict[str, Any]:
    """The fields of a ``tokenizer.json``. One that Python does not parse is refused, whatever the library reads in it:
    no bound of it would be known."""
    try:
        found = parse_json(tokenizer_json, "it", "")
    except InputError as error:
        reason = str(error).strip().removesuffix(".")
        raise InputError(f"{source} is not a Hugging Face tokenizer.json ({reason}); give one that is") from None
    return found if isinstance(found, dict) else {}


def _largest_id(fields: dict[str, Any]) -> int:
    """The largest id in a ``tokenizer.json``, for which the library would make room; 0 where there is none."""
    model, added = fields.get("model"), fields.get("added_tokens")
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    ids = list(vocabulary.values()) if isinstance(vocabulary, dict) else []
    ids += [token.get("id") for token in added if isinstance(token, dict)] if isinstance(added, list) else []
    return max((i for i in ids if isinstance(i, int)), default=0)
