"""Protocols of the models and tokenizers that tslens reads."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, SupportsIndex, TypeVar, runtime_checkable

from torch import nn

Own = TypeVar("Own")


@runtime_checkable
class LanguageModel(Protocol):
    """A model that tslens can read: a HookedTransformer, or a compressor.

    Its parts have TransformerLens's names; TransformerLens does not type them, so they are untyped here.
    """

    embed: Any
    blocks: Any
    unembed: Any
    training: bool

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Logits of tokens, through the hooked forward."""

    def __getattr__(self, name: str) -> Any:
        """Any other attribute of a TransformerLens model."""

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
