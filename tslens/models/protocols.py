"""Protocols of the models and tokenizers that tslens reads."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, TypeVar, runtime_checkable

from torch import nn

Own = TypeVar("Own")


@runtime_checkable
class LanguageModel(Protocol):
    """A model that tslens can read: a HookedTransformer, or a compressor.

    Its parts have TransformerLens's names; TransformerLens does not type them, so they are untyped here. A misspelt
    name is found by the type checker.
    """

    embed: Any
    blocks: Any
    unembed: Any
    training: bool

    if TYPE_CHECKING:  # parts that a kind of model has, and need not be there when a model is looked at
        cfg: Any
        pos_embed: Any
        ln_final: Any
        hook_embed: Any
        hook_pos_embed: Any
        spec: Any
        encoder: Any
        decoder: Any
        token_embedding: Any
        setup: Any
        process_weights_: Any
        set_tokenizer: Any
        run_with_cache: Any
        hooks: Any
        hook_dict: Any
        generate: Any

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Logits of tokens, through the hooked forward."""

    def eval(self: Own) -> Own:
        """The model itself, in evaluation mode."""

    def train(self: Own, mode: bool = True) -> Own:
        """The model itself, in training mode or not."""

    def to(self: Own, *args: Any, **kwargs: Any) -> Own:
        """The model itself, on another device or in another dtype."""

    def parameters(self, recurse: bool = True) -> Iterator[nn.Parameter]:
        """Every parameter."""

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, nn.Parameter]]:
        """Every parameter with its name."""


@runtime_checkable
class TextTokenizer(Protocol):
    """A tokenizer of stories: tslens's own, or that of a compressor's trunk, whose tokens are pairs."""

    bos: int
    """The token before every story."""
    bos_text: str

    @property
    def size(self) -> int:
        """Number of tokens."""

    def encode(self, texts: Sequence[str], *, bos: bool = True) -> list[list[int]]:
        """The tokens of each text, BOS first unless `bos` is false."""

    def decode(self, ids: Iterable[SupportsIndex]) -> str:
        """The text of tokens."""

    def pieces(self, ids: Iterable[SupportsIndex]) -> list[str]:
        """Each token as displayed text."""
