"""Linear layers with packed weights.

On a CPU they use the oneDNN operators of PyTorch's own compiler. A weight that is used many times without gradients is
first packed into the layout of their kernels, which helps most with few rows. In bf16 training, the bias is added
inside the product. Without these operators the product is the ordinary one.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

Map = tuple[Tensor, Tensor | None]
"""A matrix `[in out]` and its bias `[out]`, if it has one."""

ROWS = 1024  # rows for which a weight is laid out: the layout is that of large products, and serves small ones too


def cpu_has_bf16() -> bool:
    """Whether oneDNN has kernels for products in bfloat16 here, emulated ones included."""
    available: bool = torch.backends.mkldnn.is_available()
    return available and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


class FusedLinear:
    """`x` times each of several matrices, plus their biases, as one product. Packed weights are a copy,
    so a packed layer must not outlive a change of the weights."""

    def __init__(self, *maps: Map, pack: bool = False) -> None:
        self.maps = maps
        self.widths = [weight.shape[1] for weight, _ in maps]
        self.dtype = maps[0][0].dtype
        self.packed: Tensor | None = None
        if pack and can_pack(maps[0][0]):
            weight, self.bias = _side_by_side(maps)
            self.packed = torch.ops.mkldnn._reorder_linear_weight(weight.T.contiguous(), ROWS)

    def __call__(self, x: Tensor) -> Sequence[Tensor]:
        """One `[*rows out]` for each matrix."""
        if self.packed is not None:
            whole = _packed_product(x, self.packed, self.bias)
        else:
            weight, bias = _side_by_side(self.maps)
            trained = bf16_on_cpu(x.device, self.dtype) and weight.requires_grad and bias is not None
            fused = trained and torch.is_grad_enabled() and _has_operators(self.dtype, "_linear_pointwise")
            whole = _Linear.apply(x, weight, bias) if fused else F.linear(x, weight.T, bias)  # type: ignore[no-untyped-call]
        return whole.split(self.widths, -1) if len(self.maps) > 1 else (whole,)

    def gelu(self, x: Tensor) -> Tensor:
        """GELU (tanh form: Hendrycks & Gimpel 2016, arXiv 1606.08415) of the product with a single matrix."""
        if self.packed is not None:
            return _packed_product(x, self.packed, self.bias, "gelu")
        return F.gelu(self(x)[0], approximate="tanh")


class _Linear(torch.autograd.Function):
    """`F.linear` of `[*rows in]`, `[in out]` and `[out]`, with the bias added inside the product instead of copied
    into the output first."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        product: Tensor = torch.ops.mkldnn._linear_pointwise(x.contiguous(), weight.T, bias, "none", [], "")
        return product

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        rows = grads[0].flatten(0, -2)
        return grads[0] @ weight.T, x.flatten(0, -2).T @ rows, rows.sum(0)


def bf16_on_cpu(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether products are in bf16 on a CPU, and not under a compiler."""
    return device.type == "cpu" and dtype is torch.bfloat16 and not torch.compiler.is_compiling()


def can_pack(weight: Tensor) -> bool:
    """Whether this weight can be packed for oneDNN: on a CPU, without gradients, if the operators exist."""
    return not torch.is_grad_enabled() and weight.device.type == "cpu" and _has_operators(weight.dtype)


def _has_operators(dtype: torch.dtype, *names: str) -> bool:
    if not torch.backends.mkldnn.is_available() or (dtype is torch.bfloat16 and not cpu_has_bf16()):
        return False
    return all(hasattr(torch.ops.mkldnn, name) for name in names or ("_reorder_linear_weight", "_linear_pointwise"))


def _packed_product(x: Tensor, packed: Tensor, bias: Tensor | None, activation: str = "none") -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x.contiguous(), packed, bias, activation, [], "tanh")
    return product


def _side_by_side(maps: Sequence[Map]) -> Map:
    if len(maps) == 1:
        return maps[0]
    weights, biases = zip(*maps, strict=True)
    return torch.cat(weights, 1), None if biases[0] is None else torch.cat(biases)
