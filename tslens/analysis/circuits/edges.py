"""The edges of a circuit: the effect of each direct path between two of its nodes (path patching).

Wang et al. 2022 (arXiv 2211.00593), Goldowsky-Dill et al. 2023 (arXiv 2304.05969): in the whole model on the clean
prompt, one reader sees one writer's output as on the corrupt prompt; everything else is read as it is, and all after
the reader is computed again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tslens import forward
from tslens.analysis.circuits.nodes import hooks_of, in_block
from tslens.analysis.circuits.runs import Runs
from tslens.models import Spec

INPUT, LOGITS = "input", "logits"


@dataclass(frozen=True)
class Edges:
    """Direct paths between nodes, and how much of every pair's margin each carries."""

    sources: list[str]
    targets: list[str]
    lost: Float[Tensor, "pair edge"]
    """Margin that is lost without the path, in logits."""


def edges_of(runs: Runs, members: Bool[Tensor, " node"]) -> Edges:
    """Every direct path from the input or a member to a later member or the logits."""
    with torch.inference_mode():
        names = hooks_of(runs.spec)
        starts = [f"blocks.{layer}.hook_resid_pre" for layer in range(runs.spec.n_layers)]
        base, clean = runs.activations(runs.clean, [*names, *starts])
        corrupt = runs.activations(runs.corrupt, names)[1]
        final = runs.forward(runs.clean)[0]
        sources, targets, lost = [], [], []
        for source, written in _writers(runs, members, clean, corrupt):
            for target, read in _readers(runs, members, clean, final):
                if _comes_before(source, target, runs.spec):
                    sources.append(source)
                    targets.append(target)
                    lost.append((base - read(written)).cpu())
    return Edges(sources, targets, torch.stack(lost, dim=1).clone())


def _writers(
    runs: Runs, members: Bool[Tensor, " node"], clean: dict[str, Tensor], corrupt: dict[str, Tensor]
) -> Iterator[tuple[str, Float[Tensor, "pair pos d_model"]]]:
    """The input and every member, with what the clean prompt changes in its output."""
    heads = runs.spec.n_heads
    yield INPUT, runs.clean - runs.corrupt
    for node in members.nonzero().flatten().tolist():
        layer, part = divmod(node, in_block(runs.spec))
        if part == heads:
            name = f"blocks.{layer}.hook_mlp_out"
            yield f"MLP {layer}", clean[name] - corrupt[name]
        else:
            name = f"blocks.{layer}.attn.hook_z"
            changes = forward.head_changes(runs.forward.model, layer, clean[name], corrupt[name])
            yield f"{layer}.{part}", changes[:, :, part]


Read = Callable[[Tensor], Tensor]


def _readers(
    runs: Runs, members: Bool[Tensor, " node"], clean: dict[str, Tensor], final: Float[Tensor, "pair pos d_model"]
) -> Iterator[tuple[str, Read]]:
    """Every member and the logits, each with the margin when something is missing from what it reads."""
    heads = runs.spec.n_heads
    for node in members.nonzero().flatten().tolist():
        layer, part = divmod(node, in_block(runs.spec))
        start = clean[f"blocks.{layer}.hook_resid_pre"]
        if part == heads:
            yield f"MLP {layer}", _through(runs, start, layer, [f"blocks.{layer}.hook_mlp_in"], None)
        else:
            inputs = [f"blocks.{layer}.hook_{kind}_input" for kind in "qkv"]
            yield f"{layer}.{part}", _through(runs, start, layer, inputs, part)
    yield LOGITS, lambda missing: runs.margin(final - missing)


def _through(runs: Runs, start: Tensor, layer: int, names: list[str], head: int | None) -> Read:
    def read(missing: Tensor) -> Tensor:
        return runs.margins(start, {name: without(missing, head, runs.spec) for name in names}, first=layer)

    return read


def without(missing: Float[Tensor, "row pos d_model"], head: int | None, spec: Spec) -> Callable[[Tensor], Tensor]:
    """An edit that takes something away from what an MLP reads, or from what one head reads; heads that share their
    keys and values read them together."""

    def edit(value: Tensor) -> Tensor:
        if head is None:
            return value - missing
        made = value.clone()
        made[:, :, head * value.shape[2] // spec.n_heads] -= missing
        return made

    return edit


def _comes_before(source: str, target: str, spec: Spec) -> bool:
    """Whether the one can write what the other reads: heads of one block read not each other, its MLP reads them."""
    return _place(source, spec) < _place(target, spec)


def _place(node: str, spec: Spec) -> int:
    if node in (INPUT, LOGITS):
        return -1 if node == INPUT else 2 * spec.n_layers
    return 2 * int(node.removeprefix("MLP ")) + 1 if node.startswith("MLP") else 2 * int(node.split(".")[0])
