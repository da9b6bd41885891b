"""The key/value cache, so that no token is read twice."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens import forward
from tslens.models import LanguageModel, Spec
from tslens.models.protocols import Stack

BLOCK = 16  # places by which a cache grows at least


class Cache:
    """Keys and values of a stack of causal blocks for the positions so far. Rows are padded on the left.

    In bfloat16 the capacity is little more than what is filled, and products run over all of it: a bfloat16 product
    over part of a larger tensor would copy that part each time. `like` is another cache of this stack, whose packed
    weights are used again.
    """

    def __init__(
        self,
        stack: "Stack",
        spec: Spec,
        pad: Sequence[int],
        places: int,
        dtype: torch.dtype,
        like: "Cache | None" = None,
    ) -> None:
        self.spec, self.dtype = spec, dtype
        self.device = next(stack.parameters()).device
        self.layers: list[forward.Layer] = (
            forward.layers(stack, spec, dtype, pack=True) if like is None else like.layers
        )
        self.places, self.capacity = places, 0
        empty = torch.zeros(len(pad), spec.key_value_heads, 0, spec.d_head, dtype=dtype, device=self.device)
        self.keys, self.values = [empty for _ in self.layers], [empty for _ in self.layers]
        self.pad = torch.tensor(pad, device=self.device)
        self.ragged = any(pad)
        self.filled = 0

    def reorder(self, rows: Int[Tensor, " row"]) -> None:
        """Let row i continue the former row `rows[i]`."""
        self.keys = [k[rows] for k in self.keys]
        self.values = [v[rows] for v in self.values]
        self.pad = self.pad[rows]

    def keep(self, rows: Int[Tensor, " row"]) -> None:
        """Keep these rows alone, in this order. Each is where it was, or comes from behind the rows kept, so no other
        is copied; but all are once half of the memory would be held for nothing."""
        at = (rows != torch.arange(len(rows), device=self.device)).nonzero().squeeze(1)
        for kept in (self.keys, self.values):
            for layer, t in enumerate(kept):
                t[at, :, : self.filled] = t[rows[at], :, : self.filled]
                left = t[: len(rows)]
                kept[layer] = left.clone() if t.untyped_storage().nbytes() > 2 * left.nbytes else left
        self.pad = self.pad[rows]

    def _reserve(self, n: int) -> None:
        """Make room for `n` more positions, filled with zeros."""
        if (need := self.filled + n) <= self.capacity:
            return
        more = self.capacity // (8 if self.dtype is torch.bfloat16 else 2)
        self.capacity = min(max(need, self.capacity + max(BLOCK, more)), max(need, self.places))
        self.keys, self.values = ([self._larger(t) for t in kept] for kept in (self.keys, self.values))

    def _larger(self, kept: Float[Tensor, "row kv_head key d_head"]) -> Float[Tensor, "row kv_head capacity d_head"]:
        rows, heads, _, size = kept.shape
        larger = kept.new_empty(rows, heads, self.capacity, size)
        larger[:, :, : self.filled] = kept[:, :, : self.filled]
        larger[:, :, self.filled :] = 0
        return larger

    def positions(self, n: int) -> Int[Tensor, "*row pos"]:
        """Position ids of the next `n` tokens."""
        places = torch.arange(self.filled, self.filled + n, device=self.device)
        # A finished row stays in the batch; its output is dropped, and past its context the position stays the last.
        return (places - self.pad[:, None]).clamp(0, self.spec.n_ctx - 1) if self.ragged else places

    def run(self, x: Float[Tensor, "row pos d_model"]) -> Float[Tensor, "row pos d_model"]:
        """The residual stream after the last block, from that before the first, for the next tokens."""
        return run_together([self], x)

    def attention(self, n: int) -> forward.Attention:
        """Attention of the next `n` tokens, whose keys and values it adds to the cache."""
        self._reserve(n)
        end = self.filled + n
        one = n == 1 and self.device.type == "cpu"
        seen = self.capacity if one and self.dtype is torch.bfloat16 else end
        beyond = None
        if seen > end:
            beyond = torch.zeros(seen, dtype=self.dtype)
            beyond[end:] = -torch.inf
        windows = {forward.window_of(self.spec, i) for i in range(self.spec.n_layers)}
        masks = {window: self._mask(n, window, seen) for window in windows}

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            self.keys[layer][:, :, end - n : end] = k.transpose(1, 2)
            self.values[layer][:, :, end - n : end] = v.transpose(1, 2)
            keys, values = self.keys[layer][:, :, :seen], self.values[layer][:, :, :seen]
            mask = masks[forward.window_of(self.spec, layer)]
            if one:
                return _one_query(self.spec, q, keys, values, mask, beyond)
            return F.scaled_dot_product_attention(
                q.transpose(1, 2),
                keys,
                values,
                attn_mask=mask,
                is_causal=mask is None and n > 1,
                scale=None if self.spec.scaled else 1.0,
                enable_gqa=q.shape[2] != k.shape[2],
            ).transpose(1, 2)

        return attend

    def _mask(self, n: int, window: int | None, keys: int) -> Bool[Tensor, "row 1 query key"] | None:
        """Where a query may attend among the first `keys` positions, or None if plain causality suffices. Padding
        attends to itself, to stay finite."""
        end = self.filled + n
        if not self.ragged and (window is None or window >= end) and (n == 1 or self.filled == 0):
            return None
        query = torch.arange(self.filled, end, device=self.device)[:, None]
        key = torch.arange(keys, device=self.device)[None, :]
        seen = key <= query
        if window is not None:
            seen &= key > query - window
        if not self.ragged:
            return seen[None, None]
        return (seen & (key >= self.pad[:, None, None]) | (key == query))[:, None]


def run_together(caches: Sequence[Cache], x: Float[Tensor, "row pos d_model"]) -> Float[Tensor, "row pos d_model"]:
    """The residual stream after the last block for the next tokens of several caches of one stack, row after row: each
    attends to its own keys, and all share the other products."""
    first, n, sizes = caches[0], x.shape[1], [len(cache.pad) for cache in caches]
    cos_sin = forward.rotary_cos_sin(first.spec, positions_of(caches, n)) if first.spec.style == "llama" else None
    attends = [cache.attention(n) for cache in caches]

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        parts = zip(attends, *(t.split(sizes) for t in (q, k, v)), strict=True)
        return torch.cat([own(layer, *part) for own, *part in parts])

    x = forward.run_blocks(first.spec, first.layers, x, cos_sin, attends[0] if len(caches) == 1 else attend)
    for cache in caches:
        cache.filled += n
    return x


def positions_of(caches: Sequence[Cache], n: int) -> Int[Tensor, "*row pos"]:
    """Position ids of the next `n` tokens of several caches."""
    if len(caches) == 1:
        return caches[0].positions(n)
    return torch.cat([cache.positions(n).expand(len(cache.pad), n) for cache in caches])


class Writer(Cache):
    """A model with its cache; reads tokens and returns the logits after the last of them."""

    def __init__(
        self,
        model: LanguageModel,
        spec: Spec,
        rows: list[list[int]],
        pad: Sequence[int],
        places: int,
        dtype: torch.dtype,
        like: "Writer | None" = None,
    ) -> None:
        super().__init__(model, spec, pad, places, dtype, like)
        width, filler = max(map(len, rows)), rows[0][0]
        self.model = model
        self.unembed: forward.FusedLinear = (
            forward.FusedLinear((model.unembed.W_U.to(dtype), None), pack=True) if like is None else like.unembed
        )
        self.prompt = torch.tensor([[filler] * (width - len(row)) + row for row in rows], device=self.device)
        """The rows, padded on the left."""

    def step(self, tokens: Int[Tensor, "row pos"]) -> Float[Tensor, "row d_vocab"]:
        """Feed tokens, return the logits after the last of them."""
        raise NotImplementedError

    def logits(self, x: Float[Tensor, "row pos d_model"]) -> Float[Tensor, "row d_vocab"]:
        """Logits at the last position, from the residual stream after the last block."""
        return self.unembed(forward.final_norm(self.model, self.spec, x[:, -1]).to(self.dtype))[0].float()


class TransformerWriter(Writer):
    """Token-by-token generation with a HookedTransformer."""

    def __init__(
        self,
        model: LanguageModel,
        spec: Spec,
        rows: list[list[int]],
        places: int,
        dtype: torch.dtype,
        like: "Writer | None" = None,
    ) -> None:
        width = max(map(len, rows))
        super().__init__(model, spec, rows, [width - len(row) for row in rows], places, dtype, like)

    def step(self, tokens: Int[Tensor, "row pos"]) -> Float[Tensor, "row d_vocab"]:
        """Feed tokens, return the logits after the last of them."""
        return step_together([self], tokens)


def step_together(writers: Sequence[TransformerWriter], tokens: Int[Tensor, "row pos"]) -> Float[Tensor, "row d_vocab"]:
    """Feed tokens to several writers of one model, row after row; return the logits after the last of each row."""
    first = writers[0]
    x = forward.embed(first.model, first.spec, tokens, positions_of(writers, tokens.shape[1]))
    return first.logits(run_together(writers, x))


def _one_query(
    spec: Spec,
    q: Float[Tensor, "row 1 head d_head"],
    keys: Float[Tensor, "row kv_head key d_head"],
    values: Float[Tensor, "row kv_head key d_head"],
    mask: Bool[Tensor, "_ 1 1 key"] | None,
    beyond: Float[Tensor, " key"] | None,
) -> Float[Tensor, "row 1 head d_head"]:
    """Attention of one new token, limited by the mask or where `beyond` is -inf: two batched products, which are
    faster on a CPU than the fused kernel."""
    grouped = q.reshape(-1, q.shape[2] // keys.shape[1], spec.d_head)
    scores = torch.bmm(grouped * spec.d_head**-0.5 if spec.scaled else grouped, keys.flatten(0, 1).mT)
    if mask is not None:
        scores.view(len(q), -1, scores.shape[-1]).masked_fill_(~mask.flatten(1, 2), -torch.inf)
    elif beyond is not None:
        scores += beyond
    return torch.bmm(scores.softmax(-1), values.flatten(0, 1)).view(q.shape)
