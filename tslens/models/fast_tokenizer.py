"""Tokenizers as transformers has them, from and to tslens's own."""

from typing import TYPE_CHECKING

import tokenizers

from tslens.backends import bos_of
from tslens.errors import InputError
from tslens.tokenizer import Tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast


def from_transformers(given: "PreTrainedTokenizerBase") -> Tokenizer:
    """A fast tokenizer of transformers, as it encodes without its special tokens.

    BOS is its own `bos_token`, else the token that its template puts first, else one of the known names, else its
    `cls_token` or `eos_token`. A story ends with its `eos_token`, where it has one.

    Raises:
        InputError: it is not a fast one, or has no token to put before a story.
    """
    backend, kind = getattr(given, "backend_tokenizer", None), type(given).__name__
    if not isinstance(backend, tokenizers.Tokenizer):
        raise InputError(f"{kind} is no fast tokenizer of transformers; give a PreTrainedTokenizerFast.")
    named = [given.bos_token] if given.bos_token is not None else []
    others = [name for name in (given.cls_token, given.eos_token) if name is not None]
    return Tokenizer(backend, bos_of(backend, f"this {kind}", named, others), given.eos_token)


def to_transformers(tokenizer: Tokenizer) -> "PreTrainedTokenizerFast":
    """The same tokenizer for `HookedTransformer.tokenizer`: it puts BOS first, which is also padding."""
    from transformers import PreTrainedTokenizerFast

    made = PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer.from_str(tokenizer.backend.to_str()),
        bos_token=tokenizer.bos_text,
        eos_token=tokenizer.eos_text,
        pad_token=tokenizer.bos_text,
        # TransformerLens looks a tokenizer up on the hub, by its name, unless it says that it adds BOS itself.
        name_or_path="tslens",
        add_bos_token=True,
        split_special_tokens=True,
        clean_up_tokenization_spaces=False,
    )
    made.init_kwargs.setdefault("name_or_path", "")  # TransformerLens reads it, transformers 5 no longer sets it
    return made
