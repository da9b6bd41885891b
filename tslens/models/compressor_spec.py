"""The shape of a compressor, its parameters, and how it pairs tokens.

A compressor reads tokens in pairs: an encoder makes one vector of each pair, a causal trunk runs over the pairs, and a
decoder predicts the next two tokens (similar to MegaByte, Yu et al. 2023, arXiv 2305.07185, with patches of two). The
row `t0 t1 t2 t3 t4 ...` is read as `(- t0) (t1 t2) (t3 t4) ...`: the first pair is half empty, so that every token
after the first is predicted, as by any other model.
"""

import dataclasses
import math
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Int
from torch import Tensor

from tslens.errors import InputError
from tslens.models.model_spec import ModelSpec
from tslens.models.spec import DEFAULT_HEADS, Spec


@dataclasses.dataclass(frozen=True)
class CompressorSpec(ModelSpec):
    """The shape of a compressor: GPT-2 style blocks in all three parts.

    `d_encoder` is the encoder's width. If it equals the trunk's, encoder, decoder and output share one token embedding;
    otherwise the encoder has its own.
    """

    KIND: ClassVar[str | None] = "compressor"

    d_model: int
    encoder_layers: int
    trunk_layers: int
    decoder_layers: int
    n_heads: int = DEFAULT_HEADS
    d_vocab: int = 4096
    n_ctx: int = 256
    """Context in tokens; two for each position of the trunk."""
    d_encoder: int | None = None

    def __post_init__(self) -> None:
        for field in ("encoder_layers", "trunk_layers", "decoder_layers"):
            if (value := getattr(self, field)) < 1:
                raise InputError(f"{field} is {value}; it must be at least 1.")
        if self.n_ctx % 2 or self.n_ctx < 2:
            raise InputError(f"n_ctx is {self.n_ctx}; a compressor reads tokens in pairs: it must be even.")
        _ = self.encoder, self.trunk, self.decoder  # whose own checks name a wrong width or number of heads

    @classmethod
    def matched(cls, baseline: Spec) -> "CompressorSpec":
        """As many parameters as the baseline, within 2%: one quarter of its layers in the encoder, one quarter in the
        decoder, and the rest, twice the encoder's, in the trunk."""
        _refuse_style(baseline)
        if baseline.n_layers < 3:
            raise InputError(
                f"A compressor has three parts, and {baseline.name} too few layers for them: give at least 3."
            )
        quarter = max(1, baseline.n_layers // 4)
        return cls(
            **_same(baseline),
            encoder_layers=quarter,
            trunk_layers=baseline.n_layers - 2 * quarter,
            decoder_layers=quarter,
        )

    @classmethod
    def published(cls, baseline: Spec) -> "CompressorSpec":
        """The published sizes, reconstructed: a trunk of all the baseline's layers, an encoder of half as many at twice
        the width ("scaled down from 2d to d") with an embedding of its own. The decoder's depth was not published: with
        one layer more than the encoder, 128x8 over 50,257 tokens has the published 25.1 million parameters. Its
        cross-attention is not rebuilt: attention over a single vector has nothing to choose, so here the vector is the
        decoder's first position."""
        _refuse_style(baseline)
        half = max(1, baseline.n_layers // 2)
        layers = {"encoder_layers": half, "trunk_layers": baseline.n_layers, "decoder_layers": half + 1}
        return cls(**_same(baseline), **layers, d_encoder=2 * baseline.d_model)

    @property
    def encoder(self) -> Spec:
        """The encoder's shape; its context is one pair."""
        own = 1 if self.shared else self.d_vocab
        return Spec(self.d_encoder or self.d_model, self.encoder_layers, self.n_heads, d_vocab=own, n_ctx=2)

    @property
    def trunk(self) -> Spec:
        """The trunk's shape; its context is counted in pairs."""
        return Spec(self.d_model, self.trunk_layers, self.n_heads, d_vocab=self.d_vocab, n_ctx=self.n_ctx // 2)

    @property
    def decoder(self) -> Spec:
        """The decoder's shape: it reads the trunk's vector, then the first token of the next pair."""
        return Spec(self.d_model, self.decoder_layers, self.n_heads, d_vocab=1, n_ctx=2)

    @property
    def shared(self) -> bool:
        """Whether encoder and decoder read the same token embedding."""
        return self.d_encoder in (None, self.d_model)

    @property
    def style(self) -> str:
        return "compressor"

    @property
    def name(self) -> str:
        """`compressor-128x2+4+2`: width, and layers of encoder, trunk and decoder."""
        layers = f"{self.encoder_layers}+{self.trunk_layers}+{self.decoder_layers}"
        return f"compressor-{self.d_model}x{layers}"

    def parameter_shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every trained parameter by name. Trunk, embedding and unembedding have TransformerLens's names;
        encoder and decoder have theirs behind `encoder.` and `decoder.`."""

        def part(spec: Spec, *names: str) -> dict[str, tuple[int, ...]]:
            return {name: shape for name, shape in spec.parameter_shapes().items() if name.startswith(names)}

        encoder = part(self.encoder, "pos_embed.", "blocks.", "ln_final.", *(() if self.shared else ("embed.",)))
        width, d = self.encoder.d_model, self.d_model
        encoder |= {"W_pair": (2 * width, d), "b_pair": (d,)}
        decoder = part(self.decoder, "pos_embed.", "blocks.")
        own = {f"encoder.{name}": shape for name, shape in encoder.items()}
        own |= {f"decoder.{name}": shape for name, shape in decoder.items()}
        return self.trunk.parameter_shapes() | own

    def flops_per_token(self, context: int | None = None, *, training: bool = False) -> int:
        """As `ModelSpec.flops_per_token` says; the trunk runs once for two tokens."""
        pairs = (context or self.n_ctx) // 2
        shapes = self.parameter_shapes()

        def matrices(prefix: str) -> int:
            return sum(math.prod(s) for n, s in shapes.items() if n.startswith(prefix) and ".W_" in n)

        def attention(spec: Spec, places: int) -> int:
            return 2 * places * spec.d_model * spec.n_layers

        ends = matrices("encoder.blocks.") + attention(self.encoder, 2) + math.prod(shapes["encoder.W_pair"]) // 2
        ends += matrices("decoder.blocks.") + attention(self.decoder, 2)
        trunk = (matrices("blocks.") + attention(self.trunk, pairs)) // 2
        forward = 2 * (ends + trunk + self.d_model * self.d_vocab)
        return 3 * forward if training else forward


def _same(baseline: Spec) -> dict[str, Any]:
    return {field: getattr(baseline, field) for field in ("d_model", "n_heads", "d_vocab", "n_ctx")}


def _refuse_style(baseline: Spec) -> None:
    plain = Spec(**_same(baseline), n_layers=baseline.n_layers)
    for field in dataclasses.fields(Spec):
        if (given := getattr(baseline, field.name)) != getattr(plain, field.name):
            raise InputError(f"A compressor is built of plain GPT-2 blocks: leave out {field.name} = {given!r}.")


def as_pairs(tokens: Int[Tensor, "batch pos"]) -> tuple[Int[Tensor, "batch pair 2"], Bool[Tensor, "batch pair 2"]]:
    """The whole pairs of these tokens, and which of their places hold a token (all but the very first)."""
    n = (tokens.shape[1] + 1) // 2
    pairs = F.pad(tokens, (1, 0))[:, : 2 * n].unflatten(1, (n, 2))
    real = torch.ones_like(pairs, dtype=torch.bool)
    real[:, 0, 0] = False
    return pairs, real


def next_first(tokens: Int[Tensor, "batch pos"]) -> Int[Tensor, "batch pair"]:
    """The token after each whole pair, which the decoder reads before it predicts the one after; 0 where there is
    none yet (its predictions do not count)."""
    return F.pad(tokens[:, 1:], (0, tokens.shape[1] % 2))[:, ::2]
