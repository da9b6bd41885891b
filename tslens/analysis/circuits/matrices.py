"""The matrices of heads as they act on the residual stream: norms folded in, means removed where the norm does."""

from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from tslens import forward
from tslens.errors import InputError
from tslens.forward.blocks import final_gain
from tslens.models import Spec, spec_of
from tslens.models.spec import Norm

if TYPE_CHECKING:
    from tslens.models import LanguageModel


def centred(matrix: Float[Tensor, "... d_model width"], kind: Norm) -> Float[Tensor, "... d_model width"]:
    """A matrix that reads the stream, without what a layer norm takes from the stream anyway (its mean)."""
    return forward.centred(kind, matrix.mT).mT


def head_matrices(model: "LanguageModel", layer: int) -> dict[str, Float[Tensor, "head ..."]]:
    """Q, K, V `[head d_model d_head]` with the gain of the norm before them folded in, O `[head d_head d_model]`; heads
    that share keys and values each have a copy. They are TransformerLens's with folded norms and centred weights."""
    kind, (gain, _) = forward.norm_before(model, layer)
    attention, gain = model.blocks[layer].attn, gain.detach()[:, None]
    found = {name: centred(gain * getattr(attention, f"W_{name}").detach(), kind) for name in "QKV"}
    return found | {"O": forward.centred(spec_of(model).norm, forward.written(model, layer, "attn").weight)}


def logit_matrix(model: "LanguageModel") -> Float[Tensor, "d_model d_vocab"]:
    """The unembedding with the gain of the final norm folded in, up to what is the same for all tokens."""
    spec = spec_of(model)
    w: Tensor = final_gain(model)[0].detach()[:, None] * model.unembed.W_U.detach()
    return centred(w - w.mean(1, keepdim=True), spec.final_norm)


def rotation(d: int, generator: torch.Generator, spec: Spec) -> Float[Tensor, "d d"]:
    """A random rotation of the residual stream; where the norm removes the mean, one that leaves the mean alone."""
    free = d - 1 if spec.norm == "layer" else d
    drawn, upper = torch.linalg.qr(torch.randn(free, free, generator=generator))
    turn: Tensor = drawn * upper.diagonal().sign()  # uniform over rotations (Mezzadri 2007, math-ph/0609050)
    if free == d:
        return turn
    basis: Tensor = torch.linalg.qr(torch.cat([torch.ones(d, 1), torch.eye(d)[:, :-1]], dim=1))[0][:, 1:]
    return basis @ turn @ basis.T + torch.full((d, d), 1 / d)


def check_head(spec: Spec, layer: int, head: int) -> None:
    """InputError for a head that this model does not have."""
    if not (0 <= layer < spec.n_layers and 0 <= head < spec.n_heads):
        last = f"{spec.n_layers - 1}.{spec.n_heads - 1}"
        raise InputError(f"There is no head {layer}.{head}; heads are written LAYER.HEAD, from 0.0 to {last}.")
