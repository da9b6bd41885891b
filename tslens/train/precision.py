"""The precision of a run: as recorded, else as its recipe says, measured where that is `auto`.

Muon's products have their own precision, because their shapes differ: also measured under `auto`, else the recipe's.
"""

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

import torch
from torch import nn

from tslens.forward.precision import PRECISIONS, bf16_speedup, has_bf16, speedup, worthwhile
from tslens.models import LanguageModel, spec_of
from tslens.train.distributed import World
from tslens.train.optimizer import muon_matrices, orthogonalized
from tslens.train.recipe import Recipe

Record = dict[str, str | float]
KEYS = ("precision", "muon_precision", "bf16_speedup", "muon_bf16_speedup")
"""Keys in `config.json`: two precisions, and the measured speed of bfloat16 relative to float32, if measured."""


def settle(recipe: Recipe, model: LanguageModel, world: World, recorded: Mapping[str, str | float]) -> Record:
    """The precisions of a run, by `KEYS`; the first of several processes decides for all.

    A resumed run under `auto` keeps what was `recorded`. In older runs, without a record for Muon, Muon had bfloat16.
    """
    asked, muon = recipe.train.precision, recipe.optimizer.method == "muon"
    usual: Record = {"muon_precision": "bfloat16"} if muon and "precision" in recorded else {}
    kept: Record = usual | {key: recorded[key] for key in KEYS if key in recorded}
    if asked != "auto":
        own = {"muon_precision": kept.get("muon_precision", asked)} if muon else {}
        return {"precision": asked} | own
    if "precision" in recorded:
        return kept
    device = world.device
    products, muons = world.decided(
        lambda: (bf16_speedup(spec_of(model, compressors=True), device), muon_speedup(model, device) if muon else 0.0),
        2,
    )
    found: Record = {"precision": _name(products), "bf16_speedup": round(products, 3)}
    return found | ({"muon_precision": _name(muons), "muon_bf16_speedup": round(muons, 3)} if muon else {})


def _name(ratio: float) -> str:
    return str(worthwhile(ratio)).removeprefix("torch.")


def muon_speedup(model: LanguageModel | nn.Module, device: torch.device) -> float:
    """Speed of Muon's products in bfloat16 over that in float32, on the model's own matrices; 0 if the machine has no
    kernels for it."""
    if not has_bf16(device):
        return 0.0
    shapes = Counter(tuple(matrix.shape) for matrix in muon_matrices(model).values())
    return _measured(tuple(sorted(shapes.items())), device, torch.get_num_threads())


@lru_cache(maxsize=64)  # holds numbers alone; measured again, one run's answer could change by chance
def _measured(shapes: tuple[tuple[tuple[int, ...], int], ...], device: torch.device, threads: int) -> float:
    fewest = min(count for _, count in shapes)
    updates = [torch.full(shape, 0.01, device=device) for shape, count in shapes for _ in range(count // fewest)]

    def iterate(rows: int, dtype: torch.dtype) -> None:
        for update in updates:
            orthogonalized(update, dtype, iterations=1)  # all iterations are alike

    with torch.no_grad():
        return speedup(iterate, device, rows=1)


def dtype_of(record: Mapping[str, str | float], key: str = "precision") -> torch.dtype:
    """The dtype named by a record."""
    return PRECISIONS[str(record[key])]
