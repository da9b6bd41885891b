"""A family of Hugging Face models: its shapes, and its tensors under TransformerLens's names."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tslens.models.spec import Spec

VECTOR = "d -> 1 d"
UNEMBEDDING = "lm_head.weight"
MATRIX, TRANSPOSED = "i o -> 1 i o", "o i -> 1 i o"


@dataclass(frozen=True)
class Stored:
    """A tensor of a file, and the parameters that it is made of."""

    file: str
    """Its name in the file, without the prefix of its family."""
    pattern: str
    """How it becomes the parameters, stacked, as einops writes it; read from right to left, how they become it. `h` are
    heads, `g` key and value heads, `w` which of the parameters."""
    names: tuple[str, ...]

    def read(self, tensor: Tensor, spec: Spec) -> dict[str, Tensor]:
        """The parameters in a tensor of a file."""
        from einops import rearrange

        sizes = {"h": spec.n_heads, "g": spec.key_value_heads, "w": len(self.names)}
        known = {axis: size for axis, size in sizes.items() if axis in self.pattern}
        return dict(zip(self.names, rearrange(tensor, self.pattern, **known), strict=True))

    def write(self, parameters: Mapping[str, Tensor]) -> Tensor:
        """The tensor of a file that holds these parameters."""
        from einops import rearrange

        theirs, ours = self.pattern.split("->")
        made: Tensor = rearrange(torch.stack([parameters[name] for name in self.names]), f"{ours} -> {theirs}")
        return made.contiguous()


@dataclass(frozen=True)
class Family:
    """Models of one architecture of transformers."""

    architecture: str
    config: str
    """The class of its configurations."""
    prefix: str
    """What precedes the names of its tensors, but that of the unembedding."""
    refused: Callable[[Any], Mapping[str, bool]]
    """What a configuration may ask for that is not covered, and whether it does."""
    spec: Callable[[Any], Spec]
    """The shape that a configuration describes."""
    parts: Callable[[Spec], list[Stored]]
    """The tensors of a model of this shape, in their order."""
    fields: Callable[[Spec], Mapping[str, Any]]
    """The configuration of a shape."""
    buffers: str = r"$^"
    """The names of tensors that older files hold beside the parameters, as a regular expression."""

    def shapes(self, spec: Spec) -> dict[str, tuple[int, ...]]:
        """The tensors that a file of this shape holds."""
        empty = {name: torch.empty(shape, device="meta") for name, shape in spec.parameter_shapes().items()}
        return {part.file: tuple(part.write(empty).shape) for part in self.parts(spec)}

    def read(self, spec: Spec, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The parameters in the tensors of a file; those that the family does not have are zero."""
        named: dict[str, Tensor] = {}
        for part in self.parts(spec):
            named |= part.read(tensors[part.file], spec)
        return named | {n: torch.zeros(s) for n, s in spec.parameter_shapes().items() if n not in named}

    def write(self, spec: Spec, parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The tensors of a file that holds these parameters, under their whole names."""
        return {
            ("" if part.file == UNEMBEDDING else self.prefix) + part.file: part.write(parameters)
            for part in self.parts(spec)
        }


def of_layers(spec: Spec, block: str, parts: Iterable[Stored]) -> list[Stored]:
    """The same parts in every layer; `block` is the name of the file's list of layers."""
    return [
        Stored(f"{block}.{i}.{part.file}", part.pattern, tuple(f"blocks.{i}.{name}" for name in part.names))
        for i in range(spec.n_layers)
        for part in parts
    ]


def norm(file: str, name: str) -> list[Stored]:
    """The weight and bias of a layer norm."""
    return [
        Stored(f"{file}.weight", VECTOR, (f"{name}.w",)),
        Stored(f"{file}.bias", VECTOR, (f"{name}.b",)),
    ]


def linear(file: str, pattern: str, weight: str, bias: str) -> list[Stored]:
    """The weight and bias of a linear layer."""
    return [Stored(f"{file}.weight", pattern, (weight,)), Stored(f"{file}.bias", VECTOR, (bias,))]


def mlp(first: str, second: str, pattern: str) -> list[Stored]:
    """Both linear layers of an MLP without gate."""
    return [*linear(first, pattern, "mlp.W_in", "mlp.b_in"), *linear(second, pattern, "mlp.W_out", "mlp.b_out")]


def unembedding(spec: Spec) -> list[Stored]:
    """The unembedding, where it is a parameter of its own."""
    return [] if spec.tied else [Stored(UNEMBEDDING, TRANSPOSED, ("unembed.W_U",))]
