"""Tokenizers as transformers has them, from and to tslens's own, and the token that begins a story where they name
none."""

import contextlib
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import tokenizers

from tslens.backends import ASIDE, bos_of, is_space, is_template_sign, one_line, unknown_id
from tslens.errors import InputError
from tslens.progress import note
from tslens.tokenizer import Tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast


OTHER_NAMES = ("[CLS]", "<cls>", "[SEP]", "<sep>", "[PAD]", "<pad>")
"""Usual names of other special tokens, in the order in which they are taken for BOS."""


def from_transformers(given: "PreTrainedTokenizerBase") -> Tokenizer:
    """A fast tokenizer of transformers, as it encodes without its special tokens.

    BOS is its own `bos_token`, else the token that its template puts first, else one of the known names, else its
    `cls_token` or `eos_token`, else what `model_bos` takes. A story ends with its `eos_token`, where it has one.

    Raises:
        InputError: it is not a fast one, or has no token at all.
    """
    backend, kind = getattr(given, "backend_tokenizer", None), type(given).__name__
    if not isinstance(backend, tokenizers.Tokenizer):
        raise InputError(f"{kind} is no fast tokenizer of transformers; give a PreTrainedTokenizerFast.")
    named = [given.bos_token] if given.bos_token is not None else []
    others = [name for name in (given.cls_token, given.eos_token) if name is not None]
    return Tokenizer(backend, model_bos(backend, f"this {kind}", named, others), given.eos_token)


def model_bos(backend: tokenizers.Tokenizer, what: str, named: Sequence[str] = (), others: Sequence[str] = ()) -> str:
    """The token to put before a story, for a tokenizer that a model was trained with: what `bos_of` finds.

    Where that is nothing: the first of `OTHER_NAMES` or of its special tokens; else a line break, with which sampling
    begins in nanoGPT, or a space, as far as it has a token for them; else the unknown token, or the first of all. One
    line says which.

    Raises:
        InputError: it has no token at all.
    """
    try:
        return bos_of(backend, what, named, others)
    except InputError:
        if not backend.get_vocab_size():
            raise
    unknown, added = unknown_id(backend), backend.get_added_tokens_decoder()
    names = [i for name in OTHER_NAMES if (i := backend.token_to_id(name)) is not None]
    special = [i for i in sorted(added) if added[i].special and i != unknown]
    every = [] if unknown is None else [unknown]
    first = next(chain(names, special, _of_space(backend, unknown), every, [min(backend.get_vocab().values())]))
    found = str(backend.id_to_token(first))
    ends = "none ends one" if is_space(found) else "ends one where a model writes it"
    note(
        f"{what} names no token that begins a story: {found!r} is put before each, and {ends}. "
        "Name another as its bos_token (with add_bos_token=True, or in tokenizer_config.json)."
    )
    return found


def _of_space(backend: tokenizers.Tokenizer, unknown: int | None) -> Iterator[int]:
    """The tokens of a line break and of a space, of those that are one token."""
    for sign in ("\n", " "):
        with contextlib.suppress(InputError), one_line("", ""), ASIDE:
            ids = backend.encode(sign, add_special_tokens=False).ids
            if len(ids) == 1 and ids[0] != unknown and is_space(str(backend.id_to_token(ids[0]))):
                yield ids[0]


def to_transformers(tokenizer: Tokenizer, *, padding: bool = True) -> "PreTrainedTokenizerFast":
    """The same tokenizer for `HookedTransformer.tokenizer`: it puts BOS first, which is also padding. Without `padding`
    white space that begins a story is no special token, and stays in the texts that transformers decodes."""
    from transformers import PreTrainedTokenizerFast

    backend = tokenizers.Tokenizer.from_str(tokenizer.backend.to_str())
    first, named = backend.post_processor, not (tokenizer.bos_is_space or is_template_sign(tokenizer.bos_text))
    special = padding or not tokenizer.bos_is_space
    made = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token=tokenizer.bos_text if special else None,
        eos_token=tokenizer.eos_text if tokenizer.ends else None,
        pad_token=tokenizer.bos_text if special else None,
        # TransformerLens looks a tokenizer up on the hub, by its name, unless it says that it adds BOS itself.
        name_or_path="tslens",
        add_bos_token=named,
        split_special_tokens=True,
        clean_up_tokenization_spaces=False,
    )
    if not named:  # transformers writes the name into a template, which takes no such name
        made.backend_tokenizer.post_processor = first
        made.init_kwargs["add_bos_token"] = True
    made.init_kwargs.setdefault("name_or_path", "")  # TransformerLens reads it, transformers 5 no longer sets it
    return made
