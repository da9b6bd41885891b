"""Tokenizers of stories: text to tokens and back, training and files. BOS precedes every story and parts it from the
one before."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from itertools import chain, groupby, islice
from pathlib import Path
from typing import SupportsIndex

import tokenizers
from tokenizers import models, pre_tokenizers, trainers

from tslens.backends import ASIDE, as_tokenizer, bos_of, is_space, is_text, one_line, put_first, read_backend
from tslens.byte_bpe import (
    END_OF_STORY,
    MOST,
    backend_for,
    backend_of,
    count_ids,
    cut_vocabulary,
    read_files,
    text_of_letters,
)
from tslens.errors import InputError
from tslens.files import atomic

BYTE_FALLBACK = re.compile("<0x[0-9A-Fa-f]{2}>")
"""SentencePiece's tokens of single bytes."""
NOT_ENCODED = "the tokenizer cannot encode a text"
UNKNOWN = "give one that has a token for unknown words in its vocabulary"


def in_batches(texts: Iterable[str], size: int) -> Iterator[list[str]]:
    """Lists of ``size`` texts, the last one shorter (``itertools.batched``, which Python 3.11 lacks)."""
    stream = iter(texts)
    while some := list(islice(stream, size)):
        yield some


class Tokenizer:
    """A ``tokenizers.Tokenizer`` that puts BOS before every text and never finds one inside.

    Args:
        backend: the tokenizer to wrap; it is copied, so later changes to it have no effect here.
        bos: the text of the token that precedes every story (``<s>`` for llama2.c's tokenizers). White space is text
            inside a story, and ends none.
        eos: the text of the token that ends a story, where that is another one (``</s>``); the tokenizer may lack it.

    Raises:
        InputError: the backend has no token of that text.
    """

    def __init__(self, backend: tokenizers.Tokenizer, bos: str = END_OF_STORY, eos: str | None = None) -> None:
        self.backend = tokenizers.Tokenizer.from_str(backend.to_str())
        self.backend.no_truncation()
        self.backend.no_padding()
        self.backend.encode_special_tokens = True  # the literal text of a special token is text like any other
        if (found := self.backend.token_to_id(bos)) is None:
            raise InputError(f"the tokenizer has no token {bos!r} to put before a story; name one that it has")
        self.bos, self.bos_text = found, bos
        end = None if eos is None else self.backend.token_to_id(eos)
        self.eos, self.eos_text = (found, bos) if end is None or eos is None else (end, eos)
        self.bos_is_space = is_space(bos)
        ends = [end] if self.bos_is_space else [self.eos, found]  # of a text that a model writes: the next story begins
        self.ends = tuple(dict.fromkeys(i for i in ends if i is not None))
        self.hidden = [i for i in self.ends if i == end or not is_text(self.backend, bos)]  # in decoded text
        put_first(self.backend, bos)

    def __repr__(self) -> str:
        return f"Tokenizer({self.size:,} tokens, bos={self.bos_text!r}, hash={self.hash[:12]})"

    @cached_property
    def size(self) -> int:
        """Number of ids (``d_vocab``): one more than the largest id."""
        return max(self.backend.get_vocab(with_added_tokens=True).values()) + 1

    @cached_property
    def hash(self) -> str:
        """SHA-256, in hexadecimal, of everything that determines encoding and decoding."""
        whole = json.loads(self.backend.to_str())
        kept = {key: whole[key] for key in ("added_tokens", "normalizer", "pre_tokenizer", "model", "decoder")}
        kept |= {"bos": self.bos_text} | ({} if self.eos == self.bos else {"eos": self.eos_text})
        canonical = json.dumps(kept, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def encode(self, texts: Sequence[str], *, bos: bool = True) -> list[list[int]]:
        """The ids of each text, BOS first unless ``bos`` is false."""
        if isinstance(texts, str):
            raise InputError("encode takes a list of texts, and was given one text; write encode([text])")
        head = [self.bos] if bos else []
        return [head + encoding.ids for encoding in self.encodings(texts)]

    def encodings(self, texts: Sequence[str]) -> list[tokenizers.Encoding]:
        """The encodings of the texts: ids without BOS, and no offsets, which cost time.

        Raises:
            InputError: a text that is not UTF-8, or that the tokenizer fails on.
        """
        texts = list(texts)
        if others := [text for text in texts if not isinstance(text, str)]:
            raise InputError(f"a text is wanted, and a {type(others[0]).__name__} was given: give a str")
        try:
            with one_line(NOT_ENCODED, UNKNOWN), self._guarded():
                return self.backend.encode_batch_fast(texts, add_special_tokens=False)
        except InputError:
            for text in texts:  # the first that fails has its name in the message
                with one_line(f"{NOT_ENCODED}, {text[:60]!r}", UNKNOWN), self._guarded():
                    self.backend.encode_batch_fast([text], add_special_tokens=False)
            raise
        except TypeError:
            for text in texts:
                try:
                    text.encode()
                except UnicodeEncodeError as error:
                    place = error.start
                    raise InputError(f"a text is not UTF-8 at character {place}; save or type it as UTF-8") from None
            raise

    def _guarded(self) -> AbstractContextManager[None]:
        """What hides the trace of a panic, where Rust code may panic: a regular expression may give up on a text."""
        return ASIDE if self._has_pattern else nullcontext()

    @cached_property
    def _has_pattern(self) -> bool:
        return '"Regex"' in self.backend.to_str()

    def decode(self, ids: Iterable[SupportsIndex]) -> str:
        """The text of the ids without BOS and EOS; an id that stands for no text is shown as in `pieces`."""
        kept = [int(i) for i in ids]
        kept = kept[1:] if kept[:1] == [self.bos] else kept
        runs = groupby((i for i in kept if i not in self.hidden), key=self._stands_for_text)
        with one_line("the tokenizer cannot decode", "give one with another decoder"), self._guarded():
            return "".join(
                str(self.backend.decode(list(run), skip_special_tokens=False)) if text else "".join(self.pieces(run))
                for text, run in runs
            )

    def _stands_for_text(self, token: int) -> bool:
        return 0 <= token < self.size and self.backend.id_to_token(token) is not None

    def pieces(self, ids: Iterable[SupportsIndex]) -> list[str]:
        """Each token as displayed text; bytes that are no whole character are written ``\\xNN``; BOS is its name.

        An id without a token is written ``<unused N>``: a model's vocabulary is often rounded up beyond its
        tokenizer's. InputError for a negative id.
        """
        return [self._piece(int(i)) for i in ids]

    def _piece(self, token: int) -> str:
        if token < 0:
            raise InputError(f"{token} is no token's id; ids run from 0 to {self.size - 1}")
        if not self._stands_for_text(token):
            return f"<unused {token}>"
        text = str(self.backend.id_to_token(token))
        if token == self.bos and not self.bos_is_space:
            return self.bos_text
        if self.byte_level:
            return text_of_letters(text)
        if BYTE_FALLBACK.fullmatch(text):
            return bytes([int(text[3:5], 16)]).decode("utf-8", errors="backslashreplace")
        return text.replace("▁", " ")

    @cached_property
    def byte_level(self) -> bool:
        """Whether its tokens are written in GPT-2's letters for bytes."""
        whole = json.loads(self.backend.to_str())
        return '"ByteLevel"' in json.dumps([whole["pre_tokenizer"], whole["decoder"]])

    def offsets(self, text: str, *, bos: bool = True) -> list[tuple[int, int]]:
        """The characters ``(start, end)`` of ``text`` under each token of ``encode([text])[0]``; BOS has (0, 0).

        The tokens of one character that takes several (an emoji in bytes) all carry that character's span.
        """
        with one_line(f"{NOT_ENCODED}, {text[:60]!r}", UNKNOWN), self._guarded():
            spans = self.backend.encode(text, add_special_tokens=False).offsets
        return [(0, 0), *spans] if bos else list(spans)

    def save(self, path: str | Path) -> None:
        """Write ``tokenizer.json``, in the layout of Hugging Face."""
        with atomic(path) as file:
            file.write(self.backend.to_str(pretty=True))

    @classmethod
    def load(cls, path: str | Path, named: Sequence[str] = (), eos: str | None = None) -> "Tokenizer":
        """The tokenizer in a Hugging Face ``tokenizer.json``, from tslens or elsewhere. BOS is the first of the `named`
        tokens that it has, else as its template or a usual name says; a story ends with `eos`, if it has that, or BOS.

        Raises:
            InputError: the file is no tokenizer, fails on some texts, or has none of the known BOS tokens.
            FileNotFoundError: there is no such file.
        """
        source = Path(path)
        backend = read_backend(source)
        with as_tokenizer(source):  # the library writes what it cannot read, such as two tokens of one id
            return cls(backend, bos_of(backend, str(source), named), eos)

    @classmethod
    def train(cls, texts: Iterable[str], size: int = 4096) -> "Tokenizer":
        """A byte-level BPE of ``size`` tokens learnt from the texts (Sennrich et al. 2016, arXiv 1508.07909).

        BOS has the id 0 and the 256 bytes follow, so every text can be encoded and decoded exactly. A corpus too
        small to fill the vocabulary gives a smaller one.

        Raises:
            InputError: fewer than 257 tokens asked for or more than a million, or no text given.
        """
        if size < 257:
            raise InputError(f"a vocabulary of {size} is too small; give 257 (the bytes and BOS) or more")
        if size > MOST:
            raise InputError(f"a vocabulary of {size:,} is too large; give {MOST:,} or less")
        stream = iter(texts)
        first = next(stream, None)
        if first is None:
            raise InputError("there are no stories to train a tokenizer on; give at least one")
        trainer = trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=[END_OF_STORY],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        backend = backend_for(models.BPE())
        backend.train_from_iterator(chain([first], stream), trainer)
        return cls(backend)

    @classmethod
    def from_gpt2(
        cls, vocab: str | Path, merges: str | Path, *, keep: int | None = None, texts: Iterable[str] = ()
    ) -> "Tokenizer":
        """The byte-level BPE of GPT-2 and GPT-Neo from its two files, whole or cut to its ``keep`` commonest tokens.

        The cut (Eldan and Li 2023, arXiv 2305.07759, who kept 10k) counts the tokens of ``texts``. All 256 bytes and
        BOS stay, and so do the tokens that a kept token is merged from: every text is still encoded without loss, and
        one whose tokens were all kept is split as before. Ids are renumbered in the old order.

        Raises:
            InputError: a file of another layout, ``keep`` below 257 or above the vocabulary, or no texts to count.
            FileNotFoundError: there is no such file.
        """
        ids, pairs = read_files(Path(vocab), Path(merges))
        if keep is not None:
            if not 257 <= keep <= len(ids):
                raise InputError(f"keep={keep} is not between 257 (the bytes and BOS) and {len(ids):,}, all of it")
            whole = cls(backend_of(ids, pairs))
            rows = (encoding.ids for some in in_batches(texts, 1000) for encoding in whole.encodings(some))
            ids, pairs = cut_vocabulary(ids, pairs, keep, count_ids(rows, whole.size))
        return cls(backend_of(ids, pairs))
