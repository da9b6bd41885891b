"""The forward with activations edited at named places: patching, ablation and path patching for any spec.

The names are TransformerLens's, those of a head's own inputs (`hook_q_input`, `hook_k_input`, `hook_v_input`) and of an
MLP's (`hook_mlp_in`) included.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens.errors import InputError
from tslens.forward import hooked
from tslens.forward.attention import Attention, attention_scores, fused_attention
from tslens.forward.blocks import Layer, apply_rotary, final_norm, layers, norm, rotary_cos_sin
from tslens.forward.hooks import check_hooks
from tslens.forward.run import embed, unembed
from tslens.models import HookedSpec, Spec, spec_of
from tslens.nearest import did_you_mean

if TYPE_CHECKING:
    from tslens.models import LanguageModel

Edit = Tensor | Callable[[Tensor], Tensor]
"""A value that replaces an activation, or a function of the activation. What served only to compute a replaced
activation is not computed."""
ROWS = 512  # positions whose logits exist at a time
PARTS = (
    *("hook_resid_pre", "hook_q_input", "hook_k_input", "hook_v_input", "attn.hook_q", "attn.hook_k", "attn.hook_v"),
    *("attn.hook_z", "hook_attn_out", "hook_resid_mid", "hook_mlp_in", "mlp.hook_post", "hook_mlp_out"),
    "hook_resid_post",
)
"""The places of a block that can be edited, in the order in which they are computed."""


@dataclass(frozen=True)
class _Places:
    """The edits of one block, and the activations to keep."""

    prefix: str
    edits: Mapping[str, Edit]
    keep: frozenset[str]
    kept: dict[str, Tensor]

    def __call__(self, part: str, value: Tensor) -> Tensor:
        """The activation after its edit."""
        name = self.prefix + part
        edit = self.edits.get(name)
        if edit is not None:
            value = edit if isinstance(edit, Tensor) else edit(value)
        if name in self.keep:
            self.kept[name] = value
        return value

    def replaced(self, *parts: str) -> bool:
        """Whether one of these activations is replaced by a value, and nothing before it is asked for."""
        return any(isinstance(self.edits.get(self.prefix + part), Tensor) for part in parts)

    def touches(self, *parts: str) -> bool:
        """Whether one of these activations is edited or kept."""
        return any(self.prefix + part in self.edits or self.prefix + part in self.keep for part in parts)


@dataclass(frozen=True)
class EditedForward:
    """The forward of one model, with its weights laid out once for many runs; TransformerLens's forward for a model
    that the fast one does not cover."""

    model: "LanguageModel"
    spec: Spec
    layers: list[Layer]
    """None where TransformerLens runs the model."""
    attend: Attention

    @classmethod
    def of(cls, model: "LanguageModel") -> "EditedForward":
        """The forward of this model; with gradients off the weights are packed, so it must not outlive their change."""
        spec = spec_of(model)
        laid_out = [] if isinstance(spec, HookedSpec) else layers(model, spec, pack=True)
        return cls(model, spec, laid_out, fused_attention(spec))

    def embedded(
        self, tokens: Int[Tensor, "batch pos"], positions: Int[Tensor, " pos"] | None = None
    ) -> Float[Tensor, "batch pos d_model"]:
        """The residual stream before the first block; `positions` replace 0, 1, 2, ... where they are added to it."""
        if tokens.shape[1] > self.spec.n_ctx:
            raise InputError(
                f"A row of {tokens.shape[1]} tokens is longer than this model's context of {self.spec.n_ctx}. Cut it."
            )
        positions = torch.arange(tokens.shape[1], device=tokens.device) if positions is None else positions
        of_kind = hooked.shifted_embedding(self.model, tokens, positions) if self.slow else None
        return embed(self.model, self.spec, tokens, positions) if of_kind is None else of_kind

    @property
    def slow(self) -> bool:
        """Whether TransformerLens runs the model."""
        return isinstance(self.spec, HookedSpec)

    def __call__(
        self,
        residual: Float[Tensor, "batch pos d_model"],
        edits: Mapping[str, Edit] | None = None,
        *,
        keep: Sequence[str] = (),
        first: int = 0,
        last: int | None = None,
        positions: Int[Tensor, " pos"] | None = None,
    ) -> tuple[Float[Tensor, "batch pos d_model"], dict[str, Tensor]]:
        """The residual stream after the last block (or after block `last`) from that before block `first`, with these
        edits; and the edited activations in `keep` by name. `positions` replace 0, 1, 2, ... in rotary embeddings.
        InputError for an edit of something that is no activation of this model."""
        edits = edits or {}
        self._check([*edits, *keep])
        kept: dict[str, Tensor] = {}
        stop = self.spec.n_layers if last is None else last + 1
        if self.slow:
            see = _Places("", edits, frozenset(keep), kept)
            names = [*dict.fromkeys([*edits, *keep])]
            return hooked.blocks(self.model, residual, names, see, first=first, stop=stop, positions=positions), kept
        positions = torch.arange(residual.shape[1], device=residual.device) if positions is None else positions
        cos_sin = rotary_cos_sin(self.spec, positions) if self.spec.style == "llama" else None
        for i in range(first, stop):
            places = _Places(f"blocks.{i}.", edits, frozenset(keep), kept)
            residual = self._block(i, residual, cos_sin, places)
        return residual, kept

    def patterns(
        self,
        tokens: Int[Tensor, "row pos"],
        see: Callable[[int, Float[Tensor, "row head query key"]], None],
        positions: Int[Tensor, " pos"] | None = None,
    ) -> None:
        """Gives `see` every layer's attention over rows of one length, layer by layer. `positions` replace 0, 1, 2, ...
        wherever the model adds or turns by them; what a query sees still follows the order of the tokens. Weights are
        those among tokens: without the share of an attention sink."""
        start = self.embedded(tokens, positions)
        if self.slow:
            names = [f"blocks.{i}.attn.hook_pattern" for i in range(self.spec.n_layers)]

            def shown(name: str, pattern: Tensor) -> Tensor:
                see(int(name.split(".")[1]), pattern / pattern.sum(-1, keepdim=True))  # a sink leaves less than 1
                return pattern

            hooked.blocks(self.model, start, names, shown, positions=positions)
            return

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            pattern = attention_scores(self.spec, layer, q, k).softmax(-1)
            see(layer, pattern)
            v = v.repeat_interleave(q.shape[2] // v.shape[2], dim=2)
            return torch.matmul(pattern, v.transpose(1, 2)).transpose(1, 2)

        replace(self, attend=attend)(start, positions=positions)

    def losses(
        self,
        residual: Float[Tensor, "row pos d_model"],
        tokens: Int[Tensor, "row pos"],
        scored: Bool[Tensor, "row pos_minus_1"],
    ) -> Float[Tensor, " scored"]:
        """The cross-entropy in nats of every scored token but the first of its row, row after row, from the residual
        stream after the last block."""
        rows, wanted = self.normed(residual[:, :-1][scored]), tokens[:, 1:][scored]
        parts = zip(rows.split(ROWS), wanted.split(ROWS), strict=True)
        return torch.cat([F.cross_entropy(unembed(self.model, x), y, reduction="none") for x, y in parts]).double()

    def normed(self, residual: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows d_model"]:
        """The final norm, as the unembedding reads it."""
        return final_norm(self.model, self.spec, residual)

    def _check(self, names: Sequence[str]) -> None:
        if self.slow:
            return check_hooks(self.spec, names)
        known = [f"blocks.{i}.{part}" for i in range(self.spec.n_layers) for part in PARTS]
        for name in names:
            if name not in known:
                raise InputError(f"{name!r} cannot be edited.{did_you_mean(name, known)} Names end in one of {PARTS}.")

    def _block(self, i: int, x: Tensor, cos_sin: tuple[Tensor, Tensor] | None, at: _Places) -> Tensor:
        w = self.layers[i]
        x = at("hook_resid_pre", x)
        if at.replaced("hook_attn_out"):
            out = at("hook_attn_out", x)
        else:
            z = x if at.replaced("attn.hook_z") else self._attended(i, w, x, cos_sin, at)
            out = at("hook_attn_out", w.out(at("attn.hook_z", z).flatten(2))[0])
        x = at("hook_resid_mid", x + out)
        if at.replaced("hook_mlp_out"):
            return at("hook_resid_post", x + at("hook_mlp_out", x))
        post = x if at.replaced("mlp.hook_post") else self._neurons(w, at("hook_mlp_in", x))
        return at("hook_resid_post", x + at("hook_mlp_out", w.mlp_out(at("mlp.hook_post", post))[0]))

    def _attended(self, i: int, w: Layer, x: Tensor, cos_sin: tuple[Tensor, Tensor] | None, at: _Places) -> Tensor:
        """The output z of every head."""
        spec = self.spec
        if at.touches("hook_q_input", "hook_k_input", "hook_v_input"):
            q, k, v = self._from_own_inputs(w, x, at)
        else:
            q, k, v = (t.unflatten(-1, (-1, spec.d_head)) for t in w.qkv(norm(x, *w.norm1, spec.eps, spec.norm)))
        q, k, v = at("attn.hook_q", q), at("attn.hook_k", k), at("attn.hook_v", v)
        if cos_sin is not None:
            q, k = (apply_rotary(t, cos_sin, spec.rotary_adjacent) for t in (q, k))
        return self.attend(i, q, k, v)

    def _from_own_inputs(self, w: Layer, x: Tensor, at: _Places) -> list[Tensor]:
        """Queries, keys and values where each head reads a residual stream of its own."""
        made = []
        for part, (weight, bias) in zip(("q", "k", "v"), w.qkv.maps, strict=True):
            heads = weight.shape[1] // self.spec.d_head
            own = at(f"hook_{part}_input", x[:, :, None].expand(-1, -1, heads, -1))
            read = norm(own, *w.norm1, self.spec.eps, self.spec.norm)
            out = torch.einsum("bphm,mhd->bphd", read, weight.unflatten(1, (heads, self.spec.d_head)))
            made.append(out if bias is None else out + bias.unflatten(0, (heads, self.spec.d_head)))
        return made

    def _neurons(self, w: Layer, x: Tensor) -> Tensor:
        """The MLP's neurons after their activation function."""
        read, into = norm(x, *w.norm2, self.spec.eps, self.spec.norm), w.mlp_in
        if self.spec.style == "llama":
            pre, up = into(read)
            return F.silu(pre) * up
        return F.gelu(into(read)[0], approximate="tanh") if read.requires_grad else into.gelu(read)
