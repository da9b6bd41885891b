"""The dtype of matrix products: named, or measured for `auto`.

A processor that has bfloat16 may still multiply faster in float32: without units for bfloat16 it emulates it. So
`auto` times the model's own products in both dtypes, and takes bfloat16, which rounds more, only where it is faster.
"""

import statistics
import time
from collections.abc import Callable
from functools import lru_cache

import torch
from torch import Tensor

from tslens.errors import InputError
from tslens.forward.linear import FusedLinear, Map, cpu_has_bf16
from tslens.forward.losses import cross_entropy
from tslens.gradients import gradients
from tslens.models import CompressorSpec, HookedSpec, LanguageModel, Spec, spec_of

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
WORTHWHILE = 1.1  # times as fast as float32, from which on bfloat16 is taken
REPEATS = 5
BUDGET = 0.5  # seconds that all repeats in both dtypes may take, about
FEWEST, MOST = 128, 4096  # rows of a product

Work = Callable[[int, torch.dtype], object]
"""A function that computes products of a number of rows in a dtype."""


def check_precision(name: str) -> None:
    """InputError for an unknown precision."""
    if name != "auto" and name not in PRECISIONS:
        raise InputError(f"precision is {name!r}; it must be auto, float32 or bfloat16.")


def resolve_dtype(name: str, model: LanguageModel) -> torch.dtype:
    """The dtype of a model's matrix products: `float32`, `bfloat16`, or `auto` (the faster one here, measured).

    InputError for another name, and for `bfloat16` on a model that runs through TransformerLens's forward.
    """
    return dtype_for(name, spec_of(model, compressors=True), next(model.parameters()).device)


def dtype_for(name: str, shape: Spec | CompressorSpec, device: torch.device) -> torch.dtype:
    """As `resolve_dtype`, for a shape on a device."""
    check_precision(name)
    if isinstance(shape, HookedSpec):
        if name == "bfloat16":
            raise InputError(
                "Products in bfloat16 are the fast forward's; this model takes the slow path. Give float32."
            )
        return torch.float32
    return worthwhile(bf16_speedup(shape, device)) if name == "auto" else PRECISIONS[name]


def worthwhile(speedup: float) -> torch.dtype:
    """bfloat16 where it is at least `WORTHWHILE` times as fast as float32, else float32."""
    return torch.bfloat16 if speedup >= WORTHWHILE else torch.float32


def bf16_speedup(shape: Spec | CompressorSpec, device: torch.device) -> float:
    """Speed of a model's own products in bfloat16 over that in float32, forward and backward; 0 where the machine has
    no kernels for it. Takes about half a second, once a process for each shape, device and number of threads."""
    spec = shape.trunk if isinstance(shape, CompressorSpec) else shape
    widths = (spec.d_model, spec.n_heads * spec.d_head, (spec.n_key_value_heads or spec.n_heads) * spec.d_head)
    layers = sum(_depth(shape))
    return _measured(widths, spec.mlp_width, spec.style, layers, spec.d_vocab, device, torch.get_num_threads())


def _depth(shape: Spec | CompressorSpec) -> tuple[int, ...]:
    if isinstance(shape, CompressorSpec):
        return shape.encoder_layers, shape.trunk_layers, shape.decoder_layers
    return (shape.n_layers,)


@lru_cache(maxsize=64)  # holds numbers alone; measured again, one run's answer could change by chance
def _measured(
    widths: tuple[int, int, int], mlp: int, style: str, layers: int, vocabulary: int, device: torch.device, threads: int
) -> float:
    if not has_bf16(device):
        return 0.0
    d, queries, keys = widths
    gpt2 = style == "gpt2"

    def full(*size: int) -> Tensor:  # what a product costs does not depend on its numbers
        return torch.full(size, 0.01, device=device, requires_grad=True)

    def maps(width: int, *out: int) -> list[Map]:
        return [(full(width, each), full(each) if gpt2 else None) for each in out]

    with gradients():
        into = maps(d, *((mlp,) if gpt2 else (mlp, mlp)))
        block = [maps(d, queries, keys, keys), maps(queries, d), into, maps(mlp, d)]
        unembedding, targets = full(d, vocabulary), torch.zeros(MOST, dtype=torch.long, device=device)
        moved = [unembedding, *(t for own in block for one in own for t in one if t is not None)]

        def step(rows: int, dtype: torch.dtype) -> None:
            """The products of a block, and the unembedding's share of them, as a training step makes them."""
            x = first = full(rows, d)
            for own in block:  # only the first output (queries; gate) feeds the next product
                x = FusedLinear(*(_cast(one, dtype) for one in own))(x.to(dtype))[0]
            few = max(1, rows // layers)
            loss = cross_entropy(unembedding, x[:few].float(), targets[:few], False, dtype)
            torch.autograd.grad(loss, [first, *moved])

        return speedup(step, device)


def _cast(one: Map, dtype: torch.dtype) -> Map:
    weight, bias = one
    return weight.to(dtype), None if bias is None else bias.to(dtype)


def has_bf16(device: torch.device) -> bool:
    """Whether there are kernels for products in bfloat16, however slow."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    return device.type == "cpu" and cpu_has_bf16()


def speedup(work: Work, device: torch.device, rows: int | None = None) -> float:
    """Speed of the work in bfloat16 over that in float32: the median of `REPEATS` turns after a warm-up.

    Without `rows`, as many rows as the time allows.
    """
    order = tuple(PRECISIONS.values())

    def turn(rows: int) -> list[float]:
        return [_seconds(lambda dtype=dtype: work(rows, dtype), device) for dtype in order]  # type: ignore[misc]

    if rows is None:
        turn(FEWEST)
        allowed = BUDGET / (REPEATS * max(sum(turn(FEWEST)), 1e-9))
        rows = int(min(MOST, FEWEST * max(1.0, allowed)))
    turn(rows)
    return statistics.median(single / half for single, half in (turn(rows) for _ in range(REPEATS)))


def _seconds(work: Callable[[], object], device: torch.device) -> float:
    _wait(device)
    began = time.perf_counter()
    work()
    _wait(device)
    return time.perf_counter() - began


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
