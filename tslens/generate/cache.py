"""What does a model remember of what it has read? Keys and values, so that no token is read twice."""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens import forward
from tslens.models import Spec


class Cache:
    """Keys and values of a stack of causal blocks for the places filled so far. Rows are padded on the left."""

    def __init__(self, stack: Any, spec: Spec, pad: Sequence[int], places: int, dtype: torch.dtype) -> None:
        self.spec, self.dtype = spec, dtype
        self.device = next(stack.parameters()).device
        self.layers = forward.layers(stack, spec, dtype, pack=True)
        shape = (len(pad), spec.key_value_heads, places, spec.d_head)
        self.keys = [torch.zeros(shape, dtype=dtype, device=self.device) for _ in self.layers]
        self.values = [torch.zeros(shape, dtype=dtype, device=self.device) for _ in self.layers]
        self.pad = torch.tensor(pad, device=self.device)
        self.ragged = any(pad)
        self.filled = 0

    def reorder(self, rows: Int[Tensor, " row"]) -> None:
        """Row i goes on from what was row `rows[i]`."""
        self.keys = [k[rows] for k in self.keys]
        self.values = [v[rows] for v in self.values]
        self.pad = self.pad[rows]

    def positions(self, n: int) -> Int[Tensor, "*row pos"]:
        """The positions of the next `n` places."""
        places = torch.arange(self.filled, self.filled + n, device=self.device)
        # A row whose context is full goes on for the others' sake, unheard: its position stays the last.
        return (places - self.pad[:, None]).clamp(0, self.spec.n_ctx - 1) if self.ragged else places

    def run(self, x: Float[Tensor, "row pos d_model"]) -> Float[Tensor, "row pos d_model"]:
        """The residual stream after the last block, from that before the first at the next places."""
        n = x.shape[1]
        turn = forward.rotary(self.spec, self.positions(n)) if self.spec.style == "llama" else None
        masks = {w: self._mask(n, w) for w in {forward.window_of(self.spec, i) for i in range(self.spec.n_layers)}}

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            end = self.filled + n
            keys, values = self.keys[layer], self.values[layer]
            keys[:, :, self.filled : end] = k.transpose(1, 2)
            values[:, :, self.filled : end] = v.transpose(1, 2)
            mask = masks[forward.window_of(self.spec, layer)]
            if n == 1 and q.device.type == "cpu":
                return _one_query(self.spec, q, keys[:, :, :end], values[:, :, :end], mask)
            return F.scaled_dot_product_attention(
                q.transpose(1, 2),
                keys[:, :, :end],
                values[:, :, :end],
                attn_mask=mask,
                is_causal=mask is None and n > 1,
                scale=None if self.spec.scaled else 1.0,
                enable_gqa=q.shape[2] != k.shape[2],
            ).transpose(1, 2)

        for i, layer in enumerate(self.layers):
            x = forward.block(self.spec, i, layer, x, turn, attend)
        self.filled += n
        return x

    def _mask(self, n: int, window: int | None) -> Bool[Tensor, "row 1 query key"] | None:
        """Where a query may look, or None where plain causality says it all. Padding sees itself, to stay finite."""
        end = self.filled + n
        if not self.ragged and (window is None or window >= end) and (n == 1 or self.filled == 0):
            return None
        query = torch.arange(self.filled, end, device=self.device)[:, None]
        key = torch.arange(end, device=self.device)[None, :]
        seen = key <= query
        if window is not None:
            seen &= key > query - window
        if not self.ragged:
            return seen[None, None]
        return (seen & (key >= self.pad[:, None, None]) | (key == query))[:, None]


def _one_query(
    spec: Spec,
    q: Float[Tensor, "row 1 head d_head"],
    keys: Float[Tensor, "row kv_head key d_head"],
    values: Float[Tensor, "row kv_head key d_head"],
    mask: Bool[Tensor, "_ 1 1 key"] | None,
) -> Float[Tensor, "row 1 head d_head"]:
    """Attention of one new token: two batched products, which take a CPU less time than its fused kernel."""
    grouped = q.reshape(-1, q.shape[2] // keys.shape[1], spec.d_head)
    scores = torch.bmm(grouped * spec.d_head**-0.5 if spec.scaled else grouped, keys.flatten(0, 1).mT)
    if mask is not None:
        scores.view(len(q), -1, scores.shape[-1]).masked_fill_(~mask.flatten(1, 2), -torch.inf)
    return torch.bmm(scores.softmax(-1), values.flatten(0, 1)).view(q.shape)
