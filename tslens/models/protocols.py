"""Protocols of the models and tokenizers that tslens reads."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, TypeVar, runtime_checkable

from torch import Tensor, nn

if TYPE_CHECKING:
    from tslens.models.compressor import Decoder, Encoder
    from tslens.models.compressor_spec import CompressorSpec

Own = TypeVar("Own")


class ModelPart(Protocol):
    """A module of a model, or a hook point: what it gives for what it reads."""

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor: ...


class NormPart(ModelPart, Protocol):
    """A norm with a weight; whether it has a bias `b` depends on its kind."""

    w: Tensor
    """`[d_model]`"""


class EmbedPart(ModelPart, Protocol):
    """The token embedding."""

    W_E: Tensor
    """`[d_vocab d_model]`"""


class PosEmbedPart(ModelPart, Protocol):
    """The learned positions, where a model has them."""

    W_pos: Tensor
    """`[n_ctx d_model]`"""


class UnembedPart(ModelPart, Protocol):
    """The map from the residual stream to the logits."""

    b_U: Tensor
    """`[d_vocab]`"""
    hook_in: ModelPart
    hook_out: ModelPart

    @property
    def W_U(self) -> Tensor:  # noqa: N802
        """`[d_model d_vocab]`"""


class AttentionPart(ModelPart, Protocol):
    """The attention heads of a block. Where several heads share keys and values, `_W_K` and the like have a row for
    each that is trained, `W_K` one for each head."""

    W_Q: Tensor
    W_K: Tensor
    W_V: Tensor
    _W_K: Tensor
    _W_V: Tensor
    """Each `[head d_model d_head]`"""
    W_O: Tensor
    """`[head d_head d_model]`"""
    b_Q: Tensor
    b_K: Tensor
    b_V: Tensor
    _b_K: Tensor
    _b_V: Tensor
    """Each `[head d_head]`"""
    b_O: Tensor
    """`[d_model]`"""
    attn_scale: float
    alibi: Tensor | None
    """What positions add to scores, kept for the longest row so far; only where they do."""

    def apply_rotary(self, x: Tensor, past_kv_pos_offset: int = 0) -> Tensor:
        """`x` `[batch pos head d_head]` turned by its positions, which begin at the offset."""


class MlpPart(ModelPart, Protocol):
    """The neurons of a block."""

    W_in: Tensor
    W_gate: Tensor
    """Each `[d_model neuron]`; `W_gate` only where neurons are gated"""
    W_out: Tensor
    """`[neuron d_model]`"""
    b_in: Tensor
    b_out: Tensor


class BlockPart(ModelPart, Protocol):
    """A transformer block."""

    attn: AttentionPart
    mlp: MlpPart
    ln1: NormPart
    ln2: NormPart
    hook_resid_pre: ModelPart
    hook_attn_out: ModelPart
    hook_resid_mid: ModelPart
    hook_mlp_out: ModelPart
    hook_resid_post: ModelPart


@runtime_checkable
class Stack(Protocol):
    """Blocks: those of a model, or of a compressor's encoder or decoder."""

    blocks: Sequence[BlockPart]

    def parameters(self, recurse: bool = True) -> Iterator[nn.Parameter]:
        """Every parameter."""


@runtime_checkable
class LanguageModel(Protocol):
    """A model that tslens can read: a HookedTransformer, or a compressor. Its parts have TransformerLens's names."""

    embed: EmbedPart
    blocks: Sequence[BlockPart]
    unembed: UnembedPart
    training: bool

    if TYPE_CHECKING:  # parts that need not be there when a model is looked at
        cfg: Any  # TransformerLens's own configuration, whose fields depend on its version
        pos_embed: PosEmbedPart
        ln_final: NormPart
        hook_embed: ModelPart
        hook_pos_embed: ModelPart
        hook_dict: Mapping[str, nn.Module]
        hooks: Callable[..., AbstractContextManager[object]]
        run_with_cache: Callable[..., tuple[Tensor, Mapping[str, Tensor]]]
        generate: Callable[..., Tensor]
        process_weights_: Callable[..., None]
        set_tokenizer: Callable[..., None]
        setup: Callable[[], None]
        spec: CompressorSpec  # this and the rest of a compressor only
        encoder: Encoder
        decoder: Decoder
        token_embedding: Callable[[], Tensor]

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

    def modules(self) -> Iterator[nn.Module]:
        """Every module, the model itself first."""

    def named_modules(self) -> Iterator[tuple[str, nn.Module]]:
        """Every module with its name."""

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
    eos: int
    """The token after every story: mostly that which begins the next one."""
    ends: tuple[int, ...]
    """The tokens at which a story that a model writes has ended."""

    @property
    def size(self) -> int:
        """Number of tokens."""

    def encode(self, texts: Sequence[str], *, bos: bool = True) -> list[list[int]]:
        """The tokens of each text, BOS first unless `bos` is false."""

    def decode(self, ids: Iterable[SupportsIndex]) -> str:
        """The text of tokens."""

    def pieces(self, ids: Iterable[SupportsIndex]) -> list[str]:
        """Each token as displayed text."""
