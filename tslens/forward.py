"""The fast forward: a HookedTransformer's own parameters through fused kernels.

The hooked forward is for looking inside; this one is for training, generation and scanning. Both read the same
parameters, and a test holds them together in value and in gradient for every configuration that `models.Spec` can say.
Any activation that TransformerLens names can be asked for; only those asked for are kept.
"""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from tslens.attention import causal_attention
from tslens.models import Spec, did_you_mean, spec_of

if TYPE_CHECKING:
    from tslens.models import HookedTransformer

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
CHUNK = 1024  # rows of logits that exist at a time in the loss

Keep = Callable[[str, Tensor], None]
Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]


def precision(name: str = "auto", device: torch.device | str = "cpu") -> torch.dtype:
    """The dtype of matrix products: `float32`, `bfloat16`, or `auto` (bfloat16 where the machine has it)."""
    if name == "auto":
        cuda = torch.device(device).type == "cuda"
        fast = torch.cuda.is_bf16_supported() if cuda else torch.backends.mkldnn.is_available() and _cpu_has_bf16()
        return torch.bfloat16 if fast else torch.float32
    if name not in PRECISIONS:
        raise ValueError(f"precision is {name!r}; it must be auto, float32 or bfloat16.")
    return PRECISIONS[name]


def _cpu_has_bf16() -> bool:
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


@dataclasses.dataclass(frozen=True)
class Layer:
    """One block's weights as the fused kernels want them, in the dtype of the products; views where possible."""

    norm1: tuple[Tensor, Tensor | None]
    q: Float[Tensor, "d_model heads_x_d_head"]
    k: Float[Tensor, "d_model kv_heads_x_d_head"]
    v: Float[Tensor, "d_model kv_heads_x_d_head"]
    o: Float[Tensor, "heads_x_d_head d_model"]
    b_q: Float[Tensor, " heads_x_d_head"] | None
    b_k: Float[Tensor, " kv_heads_x_d_head"] | None
    b_v: Float[Tensor, " kv_heads_x_d_head"] | None
    b_o: Float[Tensor, " d_model"] | None
    norm2: tuple[Tensor, Tensor | None]
    w_in: Float[Tensor, "d_model d_mlp"]
    b_in: Float[Tensor, " d_mlp"] | None
    w_gate: Float[Tensor, "d_model d_mlp"] | None
    w_out: Float[Tensor, "d_mlp d_model"]
    b_out: Float[Tensor, " d_model"] | None


def layers(model: "HookedTransformer", spec: Spec, dtype: torch.dtype = torch.float32) -> list[Layer]:
    """The blocks' weights, ready to multiply: heads side by side, biases only where the architecture has them."""

    def columns(w: Tensor) -> Tensor:  # [head d_model d_head] -> [d_model head*d_head], a view in models of `build`
        return w.permute(1, 0, 2).reshape(w.shape[1], -1).to(dtype)

    def bias(b: Tensor) -> Tensor | None:
        return b.reshape(-1).to(dtype) if spec.style == "gpt2" else None

    result = []
    for block in model.blocks:
        a, m = block.attn, block.mlp
        w_k, w_v = (a.W_K, a.W_V) if spec.n_key_value_heads is None else (a._W_K, a._W_V)
        b_k, b_v = (a.b_K, a.b_V) if spec.n_key_value_heads is None else (a._b_K, a._b_V)
        result.append(
            Layer(
                norm1=(block.ln1.w, getattr(block.ln1, "b", None)),
                q=columns(a.W_Q),
                k=columns(w_k),
                v=columns(w_v),
                o=a.W_O.reshape(-1, spec.d_model).to(dtype),
                b_q=bias(a.b_Q),
                b_k=bias(b_k),
                b_v=bias(b_v),
                b_o=bias(a.b_O),
                norm2=(block.ln2.w, getattr(block.ln2, "b", None)),
                w_in=m.W_in.to(dtype),
                b_in=bias(m.b_in),
                w_gate=None if spec.style == "gpt2" else m.W_gate.to(dtype),
                w_out=m.W_out.to(dtype),
                b_out=bias(m.b_out),
            )
        )
    return result


def hook_names(spec: Spec) -> list[str]:
    """Every activation that the fast forward can hand out, by TransformerLens's names."""
    block = ["hook_resid_pre", "ln1.hook_scale", "ln1.hook_normalized", "attn.hook_q", "attn.hook_k", "attn.hook_v"]
    if spec.style == "llama":
        block += ["attn.hook_rot_q", "attn.hook_rot_k"]
    block += ["attn.hook_attn_scores", "attn.hook_pattern", "attn.hook_z", "attn.hook_result", "hook_attn_out"]
    block += ["hook_resid_mid", "ln2.hook_scale", "ln2.hook_normalized", "mlp.hook_pre"]
    block += ["mlp.hook_pre_linear"] if spec.style == "llama" else []
    block += ["mlp.hook_post", "hook_mlp_out", "hook_resid_post"]
    ends = ["ln_final.hook_scale", "ln_final.hook_normalized"]
    start = ["hook_embed"] + (["hook_pos_embed"] if spec.style == "gpt2" else [])
    return start + [f"blocks.{i}.{name}" for i in range(spec.n_layers) for name in block] + ends


def check_hooks(spec: Spec, names: Iterable[str]) -> None:
    """ValueError with the nearest name for a hook that this model does not have."""
    known = hook_names(spec)
    for name in names:
        if name not in known:
            raise ValueError(
                f"{name!r} is no activation of a {spec.name} model.{did_you_mean(name, known)} "
                "They are named as in TransformerLens, such as 'blocks.0.mlp.hook_post'."
            )


def norm(x: Tensor, weight: Tensor, bias: Tensor | None, eps: float, style: str) -> Tensor:
    """Layer norm (`gpt2`) or RMS norm (`llama`) over the last axis, computed in the residual stream's precision."""
    if style == "gpt2":
        return F.layer_norm(x, x.shape[-1:], weight, bias, eps)
    return F.rms_norm(x, x.shape[-1:], weight, eps)


def rotary(spec: Spec, positions: Int[Tensor, "*rows pos"]) -> tuple[Tensor, Tensor]:
    """Cosines and sines of the rotary embedding (Su et al. 2021, arXiv 2104.09864), `[*rows pos d_head/2]`."""
    half = spec.d_head // 2
    exponents = torch.arange(half, device=positions.device, dtype=torch.float32) / half
    angles = positions.float()[..., None] / spec.rotary_base**exponents
    return angles.cos(), angles.sin()


def rotate(x: Float[Tensor, "batch pos head d_head"], turn: tuple[Tensor, Tensor], adjacent: bool) -> Tensor:
    """Rotate each pair of coordinates: neighbours (`adjacent`, as GPT-J and llama2.c) or halves (as GPT-NeoX)."""
    cos, sin = (t[..., None, :].to(x.dtype) for t in turn)
    if adjacent:
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, b * cos + a * sin], dim=-1).flatten(-2)
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


def causal_mask(n: int, window: int | None, device: torch.device) -> Bool[Tensor, "pos pos"]:
    """True where a query may look: itself and before, and within the window where there is one."""
    mask = torch.ones(n, n, dtype=torch.bool, device=device).tril()
    return mask if window is None else mask.triu(1 - window)


def window_of(spec: Spec, layer: int) -> int | None:
    """How many tokens a layer's attention sees (itself included), or None for all before it."""
    return spec.window if layer in spec.local_layers else None


def fused_attend(spec: Spec) -> Attend:
    """Attention of which no pattern is ever held, through `scaled_dot_product_attention` or, where that is slower (in
    training in bf16 on a CPU), `attention.causal_attention`."""

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        window, n = window_of(spec, layer), q.shape[1]
        mask = causal_mask(n, window, q.device) if window is not None and window < n else None
        if mask is None and q.requires_grad and q.dtype is torch.bfloat16 and q.device.type == "cpu":
            groups = q.shape[2] // k.shape[2]
            k, v = (t.repeat_interleave(groups, dim=2) if groups > 1 else t for t in (k, v))
            return causal_attention(q, k, v, spec.d_head**-0.5 if spec.scaled else 1.0)
        z = F.scaled_dot_product_attention(
            q.transpose(1, 2),
            k.transpose(1, 2),
            v.transpose(1, 2),
            attn_mask=mask,
            is_causal=mask is None,
            scale=None if spec.scaled else 1.0,
            enable_gqa=k.shape[2] != q.shape[2],
        )
        return z.transpose(1, 2)

    return attend


def query_key_hooks(spec: Spec, layer: int) -> tuple[str, str]:
    """The activations that `attention_scores` takes: queries and keys as they meet, rotated where the style does."""
    prefix = f"blocks.{layer}.attn.hook_" + ("rot_" if spec.style == "llama" else "")
    return prefix + "q", prefix + "k"


def attention_scores(
    spec: Spec,
    layer: int,
    q: Float[Tensor, "batch pos head d_head"],
    k: Float[Tensor, "batch pos kv_head d_head"],
    hidden: float = float("-inf"),
) -> Float[Tensor, "batch head query key"]:
    """Scores before the softmax, with `hidden` added where a query may not look.

    Whoever wants the patterns of a whole model one layer at a time asks a scan for queries and keys, which are small.
    """
    groups = q.shape[2] // k.shape[2]
    k = k.repeat_interleave(groups, dim=2) if groups > 1 else k
    scale = spec.d_head**-0.5 if spec.scaled else 1.0
    scores = torch.matmul(q.transpose(1, 2) * scale, k.permute(0, 2, 3, 1))
    seen = causal_mask(q.shape[1], window_of(spec, layer), q.device)
    scores += torch.zeros(seen.shape, dtype=scores.dtype, device=q.device).masked_fill_(~seen, hidden)
    return scores


def _open_attend(spec: Spec, keep: Keep) -> Attend:
    """Attention with its scores and pattern laid open, for those who ask for them."""

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        groups = q.shape[2] // k.shape[2]
        v = v.repeat_interleave(groups, dim=2) if groups > 1 else v
        scores = attention_scores(spec, layer, q, k)
        keep(f"blocks.{layer}.attn.hook_attn_scores", scores)
        pattern = scores.float().softmax(dim=-1)
        keep(f"blocks.{layer}.attn.hook_pattern", pattern)
        return torch.matmul(pattern.to(v.dtype), v.transpose(1, 2)).transpose(1, 2)

    return attend


def _products(h: Tensor, maps: Sequence[tuple[Tensor, Tensor | None]]) -> Sequence[Tensor]:
    """`h` times each matrix, plus its bias; in training as one product, which is faster both ways."""
    if len(maps) == 1 or not torch.is_grad_enabled():
        return [F.linear(h, weight.T, bias) for weight, bias in maps]
    weights, biases = zip(*maps, strict=True)
    whole = F.linear(h, torch.cat(weights, 1).T, None if biases[0] is None else torch.cat(biases))
    return whole.split([weight.shape[1] for weight in weights], -1)


def block(
    spec: Spec,
    i: int,
    w: Layer,
    x: Tensor,
    turn: tuple[Tensor, Tensor] | None,
    attend: Attend,
    keep: Keep | None,
    dropout: float = 0.0,
) -> Float[Tensor, "batch pos d_model"]:
    """One transformer block on the residual stream `x`; `attend` mixes positions, `keep` sees every activation.

    `dropout` acts on what attention and MLP add to the stream, as in GPT-2.
    """
    batch, n, _ = x.shape
    dtype = w.q.dtype

    def see(name: str, value: Tensor) -> None:
        if keep is not None:
            keep(f"blocks.{i}.{name}", value)

    def normed(which: str, gain: tuple[Tensor, Tensor | None], x: Tensor, *maps: tuple[Tensor, Tensor | None]) -> Any:
        if keep is not None:
            _see_norm(spec, f"blocks.{i}.{which}", x, gain, keep)

        def products(x: Tensor) -> Sequence[Tensor]:
            return _products(norm(x, *gain, spec.eps, spec.style).to(dtype), maps)

        # The norm is recomputed in the backward pass (the products are not): two fewer tensors to save per layer.
        return (
            checkpoint(products, x, use_reentrant=False, preserve_rng_state=False) if x.requires_grad else products(x)
        )

    see("hook_resid_pre", x)
    q, k, v = (
        t.view(batch, n, -1, spec.d_head) for t in normed("ln1", w.norm1, x, (w.q, w.b_q), (w.k, w.b_k), (w.v, w.b_v))
    )
    see("attn.hook_q", q)
    see("attn.hook_k", k)
    see("attn.hook_v", v)
    if turn is not None:
        q, k = rotate(q, turn, spec.rotary_adjacent), rotate(k, turn, spec.rotary_adjacent)
        see("attn.hook_rot_q", q)
        see("attn.hook_rot_k", k)
    z = attend(i, q, k, v)
    see("attn.hook_z", z)
    if keep is not None and getattr(keep, "wants", lambda _: False)(f"blocks.{i}.attn.hook_result"):
        see("attn.hook_result", torch.einsum("bphd,hdm->bphm", z, w.o.view(-1, spec.d_head, spec.d_model)))
    out = F.linear(z.reshape(batch, n, -1), w.o.T, w.b_o)
    out = F.dropout(out, dropout) if dropout else out
    see("hook_attn_out", out)
    x = x + out
    see("hook_resid_mid", x)
    if w.w_gate is None:
        (pre,) = normed("ln2", w.norm2, x, (w.w_in, w.b_in))
        post = F.gelu(pre, approximate="tanh")
    else:
        pre, up = normed("ln2", w.norm2, x, (w.w_gate, None), (w.w_in, None))
        see("mlp.hook_pre_linear", up)
        post = F.silu(pre) * up
    see("mlp.hook_pre", pre)
    see("mlp.hook_post", post)
    out = F.linear(post, w.w_out.T, w.b_out)
    out = F.dropout(out, dropout) if dropout else out
    see("hook_mlp_out", out)
    x = x + out
    see("hook_resid_post", x)
    return x


def _see_norm(spec: Spec, name: str, x: Tensor, weights: tuple[Tensor, Tensor | None], keep: Keep) -> None:
    """A norm's scale, and its output before gain and bias, as TransformerLens's two hook points show them."""
    if not any(getattr(keep, "wants", lambda _: False)(f"{name}.hook_{part}") for part in ("scale", "normalized")):
        return
    centred = x - x.mean(-1, keepdim=True) if spec.style == "gpt2" else x
    scale = (centred.pow(2).mean(-1, keepdim=True) + spec.eps).sqrt()
    keep(f"{name}.hook_scale", scale)
    keep(f"{name}.hook_normalized", centred / scale)


class _Keeper:
    """Keeps the activations that were asked for."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = frozenset(names)
        self.kept: dict[str, Tensor] = {}

    def wants(self, name: str) -> bool:
        return name in self.names

    def __call__(self, name: str, value: Tensor) -> None:
        if name in self.names:
            self.kept[name] = value


def embed(model: "HookedTransformer", spec: Spec, tokens: Tensor, positions: Tensor) -> Tensor:
    """Token embedding, plus the learned position where the style has one; in fp32."""
    x = F.embedding(tokens, model.embed.W_E)
    return x + F.embedding(positions, model.pos_embed.W_pos) if spec.style == "gpt2" else x


def residual(
    model: "HookedTransformer",
    tokens: Int[Tensor, "batch pos"],
    *,
    hooks: Sequence[str] = (),
    dtype: torch.dtype = torch.float32,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, "batch pos d_model"], dict[str, Tensor]]:
    """The residual stream after the last block and its final norm, and the activations in `hooks` by name.

    `dropout` (Srivastava et al. 2014), for training only, acts where GPT-2's does on the residual stream: on the
    embeddings and on what attention and MLP add. GPT-2 drops attention probabilities too; fused attention holds none.
    Shapes are TransformerLens's. ValueError for a hook that does not exist (with the nearest name), for a row longer
    than the context, and for a model that the fast forward does not cover.
    """
    spec = spec_of(model)
    check_hooks(spec, hooks)
    n = tokens.shape[1]
    if n > spec.n_ctx:
        raise ValueError(f"A row of {n} tokens is longer than this model's context of {spec.n_ctx}. Cut it.")
    keep = _Keeper(hooks) if hooks else None
    positions = torch.arange(n, device=tokens.device)
    x = embed(model, spec, tokens, positions)
    if keep is not None and hooks:
        _see_embeddings(model, spec, tokens, positions, keep)
    x = F.dropout(x, dropout) if dropout else x
    turn = rotary(spec, positions) if spec.style == "llama" else None
    opened = keep is not None and any(h.endswith(("hook_pattern", "hook_attn_scores")) for h in hooks)
    attend = _open_attend(spec, keep) if opened and keep is not None else fused_attend(spec)
    for i, w in enumerate(layers(model, spec, dtype)):
        x = block(spec, i, w, x, turn, attend, keep, dropout)
    final = (model.ln_final.w, getattr(model.ln_final, "b", None))
    if keep is not None:
        _see_norm(spec, "ln_final", x, final, keep)
    return norm(x, *final, spec.eps, spec.style), keep.kept if keep is not None else {}


def _see_embeddings(model: Any, spec: Spec, tokens: Tensor, positions: Tensor, keep: _Keeper) -> None:
    if keep.wants("hook_embed"):
        keep("hook_embed", F.embedding(tokens, model.embed.W_E))
    if keep.wants("hook_pos_embed"):
        keep("hook_pos_embed", F.embedding(positions, model.pos_embed.W_pos).expand(*tokens.shape, -1))


def activations(
    model: "HookedTransformer",
    tokens: Int[Tensor, "batch pos"],
    hooks: Sequence[str],
    *,
    dtype: torch.dtype = torch.float32,
) -> dict[str, Tensor]:
    """The activations in `hooks` by name, without the unembedding."""
    return residual(model, tokens, hooks=hooks, dtype=dtype)[1]


def unembed(
    model: "HookedTransformer", final: Float[Tensor, "*rows d_model"], dtype: torch.dtype = torch.float32
) -> Float[Tensor, "*rows d_vocab"]:
    """Logits of normalised residuals, in fp32."""
    return (final.to(dtype) @ model.unembed.W_U.to(dtype)).float()


def logits(
    model: "HookedTransformer", tokens: Int[Tensor, "batch pos"], *, dtype: torch.dtype = torch.float32
) -> Float[Tensor, "batch pos d_vocab"]:
    """Logits at every position, in fp32."""
    return unembed(model, residual(model, tokens, dtype=dtype)[0], dtype)


class _ChunkedCrossEntropy(torch.autograd.Function):
    """Summed cross-entropy of a linear head without ever holding all logits.

    The gradient is formed while each chunk's logits exist, so nothing is recomputed and neither logits nor
    log-softmax are saved for backward (as in Liger Kernel, Hsu et al. 2024, arXiv 2410.10989).
    """

    @staticmethod
    def forward(ctx: Any, final: Tensor, weight: Tensor, targets: Tensor, masked: bool, dtype: torch.dtype) -> Tensor:
        w = weight.to(dtype)
        needs = any(ctx.needs_input_grad[:2])
        total = final.new_zeros((), dtype=torch.float32)
        d_final = torch.empty_like(final) if needs else None
        d_weight = torch.zeros(weight.shape, dtype=torch.float32, device=weight.device) if needs else None
        for start in range(0, final.shape[0], CHUNK):
            rows, wanted = final[start : start + CHUNK].to(dtype), targets[start : start + CHUNK]
            scores = (rows @ w).float()
            probability = scores.softmax(dim=-1)
            picked = wanted.clamp(min=0)[:, None]
            # log-sum-exp without a second exponential: the largest probability is exp(largest score - log-sum-exp)
            lse = scores.amax(-1, keepdim=True) - probability.amax(-1, keepdim=True).log()
            surprise = lse - scores.gather(1, picked)
            total += (surprise * (wanted >= 0)[:, None] if masked else surprise).sum()
            if d_final is not None and d_weight is not None:
                grad = probability.scatter_add_(1, picked, probability.new_full(picked.shape, -1.0))
                if masked:
                    grad.mul_((wanted >= 0)[:, None])
                low = grad.to(dtype)
                d_final[start : start + CHUNK] = low @ w.T
                d_weight += rows.T @ low
        ctx.save_for_backward(d_final, d_weight)
        return total

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        d_final, d_weight = ctx.saved_tensors
        return d_final * grads[0], d_weight * grads[0], None, None, None


def loss(
    model: "HookedTransformer",
    tokens: Int[Tensor, "batch pos"],
    mask: Bool[Tensor, "batch pos"] | None = None,
    *,
    dtype: torch.dtype = torch.float32,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
    """Summed cross-entropy in nats of predicting each token from those before it, and how many were predicted.

    `mask` is False on padding; a padded token is neither predicted nor counted. Divide for the mean. `dropout` as in
    `residual`.
    """
    final, _ = residual(model, tokens[:, :-1], dtype=dtype, dropout=dropout)
    targets = _targets(tokens, mask)
    total = _ChunkedCrossEntropy.apply(
        final.flatten(0, 1), model.unembed.W_U, targets.flatten(), mask is not None, dtype
    )
    return total, (targets >= 0).sum()


def row_losses(
    model: "HookedTransformer",
    tokens: Int[Tensor, "batch pos"],
    mask: Bool[Tensor, "batch pos"] | None = None,
    *,
    dtype: torch.dtype = torch.float32,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, " batch"], Int[Tensor, " batch"]]:
    """As `loss`, for each row: for an objective that is no plain sum. Holds a gradient of the unembedding for each."""
    final, _ = residual(model, tokens[:, :-1], dtype=dtype, dropout=dropout)
    targets = _targets(tokens, mask)
    sums = [
        _ChunkedCrossEntropy.apply(row, model.unembed.W_U, wanted, mask is not None, dtype)
        for row, wanted in zip(final, targets, strict=True)
    ]
    return torch.stack(sums), (targets >= 0).sum(1)


def _targets(tokens: Tensor, mask: Tensor | None) -> Int[Tensor, "batch pos_minus_1"]:
    """What is to be predicted; -1 where nothing is."""
    return tokens[:, 1:] if mask is None else tokens[:, 1:].masked_fill(~mask[:, 1:], -1)


def token_losses(
    model: "HookedTransformer", tokens: Int[Tensor, "batch pos"], *, dtype: torch.dtype = torch.float32
) -> Float[Tensor, "batch pos_minus_1"]:
    """Cross-entropy in nats of each token but the first, without gradients."""
    with torch.no_grad():
        final, _ = residual(model, tokens[:, :-1], dtype=dtype)
        rows, targets = final.flatten(0, 1), tokens[:, 1:].flatten()
        parts = [
            F.cross_entropy(unembed(model, rows[s : s + CHUNK], dtype), targets[s : s + CHUNK], reduction="none")
            for s in range(0, rows.shape[0], CHUNK)
        ]
    return torch.cat(parts).view(tokens.shape[0], -1)
