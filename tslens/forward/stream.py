"""How parts of a model read the residual stream and write to it: through the norms before and after them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from tslens.forward.blocks import Gain, centred, gain_of
from tslens.models import Spec, spec_of
from tslens.models.spec import Norm

if TYPE_CHECKING:
    from tslens.models import LanguageModel


def embeddings(model: "LanguageModel") -> Float[Tensor, "token d_model"]:
    """What every token alone adds to the residual stream: its embedding, through the norm after it if there is one."""
    table: Tensor = model.embed.W_E
    after = getattr(model.embed, "ln", None)
    return table if after is None else after(table)


def norm_before(model: "LanguageModel", layer: int, name: str = "ln1") -> tuple[Norm, Gain]:
    """The norm through which attention (`ln1`) or the MLP (`ln2`) of a layer reads the residual stream: its kind, and
    its gain and bias."""
    spec = spec_of(model)
    none = name in spec.post_norms.values()  # it stands after
    return "none" if none else spec.norm, gain_of(None if none else getattr(model.blocks[layer], name), model)


@dataclass(frozen=True)
class WriteMap:
    """The map from heads (`attn`) or neurons (`mlp`) of a layer to the residual stream, detached.

    A norm after it is linear but for its scale, so what is written is `(x @ weight + bias) / scale + constant`.
    """

    weight: Float[Tensor, "*inside d_model"]
    """`[head d_head d_model]` or `[neuron d_model]`, with the gain and the centring of the norm after it."""
    bias: Float[Tensor, " d_model"]
    constant: Float[Tensor, " d_model"] | None
    """The bias of the norm after it, where it has one."""
    scale: str | None
    """The activation that holds what the norm after it divides by; None where there is no such norm."""


def written(model: "LanguageModel", layer: int, part: str) -> WriteMap:
    """How attention (`part` "attn") or the MLP ("mlp") of a layer writes to the residual stream."""
    spec, block = spec_of(model), model.blocks[layer]
    raw = (block.attn.W_O, block.attn.b_O) if part == "attn" else (block.mlp.W_out, block.mlp.b_out)
    weight, bias = (tensor.detach().float() for tensor in raw)
    name = spec.post_norms.get(part)
    if name is None:
        return WriteMap(weight, bias, None, None)
    gain, constant = gain_of(getattr(block, name), model)
    weight, bias = (centred(spec.norm, tensor) * gain.detach() for tensor in (weight, bias))
    scale = f"blocks.{layer}.{name}.hook_scale"
    return WriteMap(weight, bias, None if constant is None else constant.detach(), scale)


def scale_hooks(spec: Spec, part: str) -> list[str]:
    """The activations that hold what the norms after attention or MLP divide by, by layer; none without such norms."""
    name = spec.post_norms.get(part)
    return [] if name is None else [f"blocks.{i}.{name}.hook_scale" for i in range(spec.n_layers)]


def head_changes(
    model: "LanguageModel",
    layer: int,
    z: Float[Tensor, "batch pos head d_head"],
    other: Float[Tensor, "batch pos head d_head"],
) -> Float[Tensor, "batch pos head d_model"]:
    """What attention writes with these outputs of heads, less what it writes where one head alone has its other output;
    for each head."""
    attention = model.blocks[layer].attn
    change = torch.einsum("bphd,hdm->bphm", z - other, attention.W_O)
    after = _after(model, layer, "attn")
    if after is None:
        return change
    whole = (torch.einsum("bphd,hdm->bpm", z, attention.W_O) + attention.b_O)[:, :, None]
    return after(whole) - after(whole - change)


def neuron_change(
    model: "LanguageModel",
    layer: int,
    post: Float[Tensor, "batch pos neuron"],
    neuron: int,
    value: Float[Tensor, "*batch_pos"],
) -> Float[Tensor, "batch pos d_model"]:
    """What an MLP with these activations writes where one neuron has this value, less what it writes as it is."""
    mlp = model.blocks[layer].mlp
    change = (value - post[..., neuron])[..., None] * mlp.W_out[neuron]
    after = _after(model, layer, "mlp")
    if after is None:
        return change
    whole = post @ mlp.W_out + mlp.b_out
    return after(whole + change) - after(whole)


def _after(model: "LanguageModel", layer: int, part: str) -> Callable[[Tensor], Tensor] | None:
    """The norm after attention or MLP, as the model itself applies it."""
    name = spec_of(model).post_norms.get(part)
    return None if name is None else getattr(model.blocks[layer], name)
