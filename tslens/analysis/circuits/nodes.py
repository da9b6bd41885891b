"""Heads and MLPs as the nodes of a circuit: runs in which only some of them see the clean prompt."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tslens.analysis.circuits.attribution import first_order
from tslens.analysis.circuits.runs import Runs
from tslens.models import Spec, spec_of
from tslens.stories.pairs import Pairs

if TYPE_CHECKING:
    from tslens.forward.edited import Edit
    from tslens.models import LanguageModel

BATCH = 64  # pairs whose activations have gradients at a time


def node_names(spec: Spec) -> list[str]:
    """The nodes in the order of a forward pass: the heads of a block by their numbers (`1.3`), then its MLP if it has
    one."""
    names = []
    for layer in range(spec.n_layers):
        names += [f"{layer}.{head}" for head in range(spec.n_heads)]
        names += [f"MLP {layer}"] if spec.has_mlp else []
    return names


def in_block(spec: Spec) -> int:
    """The nodes of a block."""
    return spec.n_heads + spec.has_mlp


def hooks_of(spec: Spec) -> list[str]:
    """The activations that the nodes are: the outputs of the heads, and of the MLPs."""
    parts = ("attn.hook_z", "hook_mlp_out") if spec.has_mlp else ("attn.hook_z",)
    return [f"blocks.{layer}.{part}" for layer in range(spec.n_layers) for part in parts]


def screen(model: "LanguageModel", pairs: Pairs) -> Float[Tensor, "pair node"]:
    """How much each node adds to the margin of every pair, to first order: from corrupt to clean, all positions summed,
    the mean of the gradients of both runs."""
    spec, parts = spec_of(model), []
    for rows in torch.arange(len(pairs)).split(BATCH):
        found = first_order(model, pairs[rows], hooks_of(spec), both_ends=True)
        columns = []
        for layer in range(spec.n_layers):
            columns.append(found[f"blocks.{layer}.attn.hook_z"].sum((1, 3)))
            if spec.has_mlp:
                columns.append(found[f"blocks.{layer}.hook_mlp_out"].sum((1, 2))[:, None])
        parts.append(torch.cat(columns, dim=1).double().cpu())
    return torch.cat(parts)


@dataclass(frozen=True)
class Circuits:
    """Runs on the clean prompts in which every node outside of a set has the output of another run: of the corrupt
    prompt (resample ablation), or of a donor."""

    runs: Runs
    outside: dict[str, Tensor]
    """The outputs of all nodes in the run that replaces, by activation."""
    known: dict[tuple[bool, ...], Tensor] = field(default_factory=dict)
    """A cache: the margins of the sets that were run."""

    @classmethod
    def of(cls, model: "LanguageModel", pairs: Pairs) -> "Circuits":
        """Outside of a set the nodes see the corrupt prompt."""
        with torch.inference_mode():
            runs = Runs.of(model, pairs)
            return cls(runs, runs.activations(runs.corrupt, hooks_of(runs.spec))[1])

    def donated(self, order: Tensor) -> "Circuits":
        """The same, where the nodes outside of a set see the corrupt prompt of another pair, `order[i]` for pair i."""
        return Circuits(self.runs, {name: value[order.to(value.device)] for name, value in self.outside.items()})

    def margins(self, members: Bool[Tensor, " node"]) -> Float[Tensor, " pair"]:
        """The margin of every pair with only these nodes on the clean prompt."""
        key = tuple(members.tolist())
        if key not in self.known:
            with torch.inference_mode():
                edits = self._edits(members.tolist())
                found = self.runs.margins(self.runs.clean, edits).cpu()
            self.known[key] = found.clone()
        return self.known[key]

    def _edits(self, members: list[bool]) -> "dict[str, Edit]":
        spec = self.runs.spec
        n, edits = in_block(spec), dict[str, "Edit"]()
        for layer in range(spec.n_layers):
            own = members[layer * n : (layer + 1) * n]
            heads, mlps = own[: spec.n_heads], own[spec.n_heads :]
            z, mlp = f"blocks.{layer}.attn.hook_z", f"blocks.{layer}.hook_mlp_out"
            if not any(heads):
                edits[z] = self.outside[z]
            elif not all(heads):
                edits[z] = _mixed(self.outside[z], heads)
            if not all(mlps):
                edits[mlp] = self.outside[mlp]
        return edits


def _mixed(other: Float[Tensor, "pair pos head d_head"], kept: list[bool]) -> "Edit":
    """Heads outside of the set from the other run."""
    keep = torch.tensor(kept, device=other.device)[:, None]
    return lambda z: torch.where(keep, z, other)
