"""The compressor: encoder, trunk and decoder, with the hooked forward on which TransformerLens's hooks act.

Imported only where one is built, because TransformerLens is imported with it. The trunk's hook points have the names
that they have in a HookedTransformer (`blocks.0.mlp.hook_post`); encoder and decoder have theirs behind `encoder.` and
`decoder.`.
"""

import math
import re
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from tslens.errors import InputError
from tslens.models.compressor_spec import CompressorSpec, as_pairs, next_first
from tslens.models.hooked import HookedRootModule, HookPoint, build_hooked
from tslens.models.record import record_of
from tslens.models.spec import Spec
from tslens.tokenizer import Tokenizer


class Encoder(nn.Module):
    """One vector of each pair of tokens: blocks with bidirectional attention within the pair, and a matrix that maps
    the outputs of the two positions, side by side, to the trunk's width."""

    def __init__(self, spec: Spec, d_model: int, shared: bool) -> None:
        super().__init__()
        stack = build_hooked(spec, seed=None)
        stack.cfg.attention_dir = "bidirectional"
        if not shared:
            self.embed = stack.embed
        self.hook_embed, self.hook_pos_embed = stack.hook_embed, stack.hook_pos_embed
        self.pos_embed, self.blocks, self.ln_final = stack.pos_embed, stack.blocks, stack.ln_final
        self.W_pair = nn.Parameter(torch.zeros(2 * spec.d_model, d_model))
        self.b_pair = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Float[Tensor, "pair 2 d_encoder"], real: Bool[Tensor, "pair 2"]) -> Tensor:
        """The pairs' vectors, `[pair d_model]`, from their embedded tokens; only `real` positions have an influence."""
        x = self.hook_embed(x) + self.hook_pos_embed(self.pos_embed.W_pos.expand_as(x))
        hidden = torch.zeros(real.shape, device=x.device).masked_fill(~real, -torch.inf)[:, None, None]
        for block in self.blocks:
            x = block.hook_resid_pre(x)
            normed = block.ln1(x)
            attended = block.attn(normed, normed, normed, additive_attention_mask=hidden)
            x = block.hook_resid_mid(x + block.hook_attn_out(attended))
            x = block.hook_resid_post(x + block.hook_mlp_out(block.mlp(block.ln2(x))))
        out = torch.where(real[..., None], self.ln_final(x), 0.0)
        return out.flatten(1) @ self.W_pair + self.b_pair


class Decoder(nn.Module):
    """The next two tokens, one after the other: causal blocks over two places, the trunk's vector and the first
    token."""

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        stack = build_hooked(spec, seed=None)
        self.hook_embed, self.hook_pos_embed = stack.hook_embed, stack.hook_pos_embed
        self.pos_embed, self.blocks = stack.pos_embed, stack.blocks

    def forward(self, x: Float[Tensor, "pair 2 d_model"]) -> Float[Tensor, "pair 2 d_model"]:
        """The residual stream after the last block."""
        x = self.hook_embed(x) + self.hook_pos_embed(self.pos_embed.W_pos.expand_as(x))
        for block in self.blocks:
            x = block(x)
        return x


class Compressor(HookedRootModule):  # type: ignore[misc]
    """Encoder, trunk and decoder; `model(tokens)` gives logits at every position, as a HookedTransformer does.

    The trunk's residual stream continues as the decoder's first position, with no norm between, and `ln_final` and
    `unembed` read the decoder's: what a block of the trunk writes has a direct path to the logits.
    """

    def __init__(self, spec: CompressorSpec, *, seed: int | None, tokenizer: Tokenizer | None) -> None:
        super().__init__()
        self.spec = spec
        trunk = build_hooked(spec.trunk, seed=None)
        self.embed, self.pos_embed, self.blocks = trunk.embed, trunk.pos_embed, trunk.blocks
        self.hook_embed, self.hook_pos_embed = HookPoint(), HookPoint()
        self.ln_final, self.unembed = trunk.ln_final, trunk.unembed
        self.encoder = Encoder(spec.encoder, spec.d_model, spec.shared)
        self.decoder = Decoder(spec.decoder)
        self.setup()
        _draw(self, spec, seed)
        if tokenizer is not None:
            if tokenizer.size > spec.d_vocab:
                raise InputError(
                    f"This tokenizer has {tokenizer.size} tokens and the model a vocabulary of {spec.d_vocab}: "
                    "it is not this model's tokenizer. Load the one that it was trained with."
                )
            record_of(self).tokenizer = tokenizer

    @property
    def cfg(self) -> Any:
        """A compressor has no single shape, so this raises InputError, which names what works instead."""
        raise InputError(
            "A compressor is no single HookedTransformer, which this needs. Its trunk is one: scan(compressor, ...) or "
            "tslens.forward.trunk(compressor, stories). Loss, generation and run_with_cache work on all of it."
        )

    def to(self, *args: Any, print_details: bool = False, **kwargs: Any) -> "Compressor":
        """Move to a device or dtype, with the signature of `HookedTransformer.to`."""
        super().to(*args, **kwargs)
        return self

    def token_embedding(self) -> Tensor:
        """The embedding that the encoder reads, `[d_vocab d_encoder]`."""
        table: Tensor = self.embed.W_E if self.spec.shared else self.encoder.embed.W_E
        return table

    def forward(self, tokens: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos d_vocab"]:
        """Logits at every position for the next token; any number of positions up to the context, odd or even."""
        batch, n = tokens.shape
        if n > self.spec.n_ctx:
            raise InputError(f"A row of {n} tokens is longer than this model's context of {self.spec.n_ctx}. Cut it.")
        pairs, real = as_pairs(tokens)
        vectors = self.encoder(F.embedding(pairs.flatten(0, 1), self.token_embedding()), real.flatten(0, 1))
        x = self.hook_embed(vectors.view(batch, pairs.shape[1], -1))
        x = x + self.hook_pos_embed(self.pos_embed.W_pos[: x.shape[1]].expand_as(x))
        for block in self.blocks:
            x = block(x)
        first = F.embedding(next_first(tokens), self.embed.W_E)
        out = self.decoder(torch.stack([x, first], 2).flatten(0, 1)).view(batch, -1, self.spec.d_model)
        logits: Tensor = self.unembed(self.ln_final(out[:, :n]))
        return logits


def _draw(model: Compressor, spec: CompressorSpec, seed: int | None) -> None:
    """Draw weights as GPT-2's; biases are already 0 and gains 1."""
    shapes = spec.parameter_shapes()
    generator = None if seed is None else torch.Generator().manual_seed(seed)
    stream = {"encoder.": spec.encoder_layers}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(name in shapes)
            if generator is not None and name in shapes and "W_" in name:
                layers = next((n for part, n in stream.items() if name.startswith(part)), None)
                layers = layers or spec.trunk_layers + spec.decoder_layers
                writes = re.search(r"\.W_(O|out)$", name) is not None
                std = 0.02 / math.sqrt(2 * layers) if writes else 0.02
                parameter.copy_(torch.empty(parameter.shape).normal_(0.0, std, generator=generator))
