"""Memory of a training step by model, width and batch: the published table, measured again.

Bytes saved for the backward pass are exact, and the same on every machine with the same PyTorch. They are measured at
batches of 2, 3 and 4; if the three lie on a line to the byte, larger batches are extrapolated. On a GPU the peak that
PyTorch allocates in a forward and backward pass is measured at every batch; it also includes temporary logits,
gradients and weights.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from tslens import forward, progress
from tslens.bench.peers import GPT2, HOOKED_FP32, OURS, Loss, PeerModel, TrainingSetup, peer
from tslens.bench.size import random_tokens
from tslens.forward.saved_bytes import saved_bytes
from tslens.models import CompressorSpec, Spec, build
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

PUBLISHED = 50_257
"""The vocabulary of GPT-2 and GPT-Neo."""
OWN = 4_096
BATCHES = (2, 4, 8, 16, 32)
WIDTHS = (128, 256, 512)
LINE = (2, 3, 4)
"""Batches that are measured on every machine."""
OUT = -1
"""Marks unknown bytes: not on a line, and not measured."""


@dataclass(frozen=True)
class Entry:
    """One model of the table."""

    name: str
    vocabulary: int
    make: Callable[[Spec], PeerModel]


def _peer(spec: Spec, name: str) -> PeerModel:
    return peer(name, TrainingSetup(spec))


def _with_dropout(spec: Spec) -> PeerModel:
    made = _peer(spec, GPT2)
    made.model.train()
    return made


def _published(spec: Spec) -> PeerModel:
    """The published sizes in the hooked forward, with all logits at once: attention written out, as it was trained."""
    model = cast(nn.Module, build(CompressorSpec.published(spec)))
    return PeerModel(model, lambda rows: F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten()))


def _matched(spec: Spec) -> PeerModel:
    model = build(CompressorSpec.matched(spec))
    return PeerModel(cast(nn.Module, model), lambda rows: forward.loss(model, rows)[0])


ENTRIES = (
    Entry("GPT2LMHeadModel, dropout 0.1, 50k", PUBLISHED, _with_dropout),
    Entry("GPT2LMHeadModel, no dropout, 50k", PUBLISHED, partial(_peer, name=GPT2)),
    Entry("HookedTransformer, 50k", PUBLISHED, partial(_peer, name=HOOKED_FP32)),
    Entry("tslens, 50k", PUBLISHED, partial(_peer, name=OURS)),
    Entry("tslens, 4k", OWN, partial(_peer, name=OURS)),
    Entry("compressor as published, 50k", PUBLISHED, _published),
    Entry("compressor matched, 50k", PUBLISHED, _matched),
    Entry("compressor matched, 4k", OWN, _matched),
)


@dataclass(frozen=True, eq=False)
class Memory(Result):
    """Bytes of a training step in fp32, 8 layers, by model, width and batch."""

    frame_axes = ("model", "width", "batch")
    axis_names = {"model": "models", "width": "widths", "batch": "batches"}  # noqa: RUF012

    saved: Int[Tensor, "model width batch"]
    """Bytes saved for the backward pass; -1 if neither measured nor on a line."""
    measured: Bool[Tensor, "model width batch"]
    """Whether the bytes were measured, not extrapolated."""
    peak: Float[Tensor, "model width batch"]
    """Peak bytes allocated on the GPU; NaN without one, infinite if they did not fit."""
    parameters: Int[Tensor, "model width"]
    """Number of trained parameters."""
    models: list[str]
    widths: list[int]
    batches: list[int]
    context: int
    """Number of tokens of a row."""
    gpu: str
    """The GPU's name; empty without one."""

    def headline(self) -> str:
        """Which model saves least for the backward pass, at the largest width and the smallest batch."""
        saved = {name: int(self.saved[i, -1, 0]) for i, name in enumerate(self.models) if self.saved[i, -1, 0] != OUT}
        if not saved:
            return "Nothing was measured."
        least, most = min(saved, key=saved.__getitem__), max(saved, key=saved.__getitem__)
        sizes = f"{saved[least] / 1e6:,.0f} MB and {most} most, {saved[most] / 1e6:,.0f} MB"
        where = f"At width {self.widths[-1]} and batch {self.batches[0]}"
        return f"{where} {least} saves least for the backward pass, {sizes}."

    def summary(self) -> "pd.DataFrame":
        """Megabytes: a row per model and width, a column per batch."""
        import pandas as pd

        rows = []
        for i, model in enumerate(self.models):
            for j, width in enumerate(self.widths):
                row: dict[str, Any] = {"model": model, "width": width}
                row["parameters"] = round(int(self.parameters[i, j]) / 1e6, 2)
                for k, batch in enumerate(self.batches):
                    known = int(self.saved[i, j, k])
                    row[f"saved {batch}"] = None if known == OUT else round(known / 1e6)
                if self.gpu:
                    for k, batch in enumerate(self.batches):
                        row[f"peak {batch}"] = round(float(self.peak[i, j, k]) / 1e6, 0)
                rows.append(row)
        return pd.DataFrame(rows)

    def figure(self) -> "Figure":
        """A dot for every model and width: megabytes saved for backward, by row, at the largest batch known."""
        from tslens.plots import intervals

        known = self.saved != OUT
        last = known.cumsum(-1).argmax(-1, keepdim=True)
        by_row = self.saved.double().where(known, torch.nan) / torch.tensor(self.batches) / 1e6
        saved = by_row.gather(-1, last)[..., 0].T
        return intervals(
            self.models,
            {f"width {width}": (of_width,) * 3 for width, of_width in zip(self.widths, saved, strict=True)},
            title=f"Saved for backward, by row of {self.context} tokens",
            x_label="MB, fp32",
            log_x=True,
        )


def memory(
    widths: Sequence[int] = WIDTHS,
    batches: Sequence[int] = BATCHES,
    *,
    layers: int = 8,
    context: int = 512,
    entries: Sequence[Entry] = ENTRIES,
    device: Any = None,
) -> Memory:
    """The table; takes some minutes on a CPU. `device` replaces `torch.cuda` in tests."""
    device = device if device is not None else torch.cuda if torch.cuda.is_available() else None
    found = []
    cells = list(itertools.product(entries, widths))
    with progress.bar("measuring", cells) as shown:
        for done, (entry, width) in enumerate(cells):
            shown.update(done, what=f"{entry.name}, {width}x{layers}")
            spec = Spec.parse(f"{width}x{layers}", d_vocab=entry.vocabulary, n_ctx=context)
            found.append(_measure(entry, spec, batches, device))
    parts = zip(*found, strict=True)
    saved, measured, peak, parameters = (torch.stack(part).unflatten(0, (-1, len(widths))) for part in parts)
    return Memory(
        saved=saved,
        measured=measured,
        peak=peak,
        parameters=parameters,
        models=[entry.name for entry in entries],
        widths=list(widths),
        batches=list(batches),
        context=context,
        gpu="" if device is None else device.get_device_name(),
    )


def _measure(entry: Entry, spec: Spec, batches: Sequence[int], device: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    model, loss = entry.make(spec)

    def of(batch: int) -> Tensor:
        return loss(random_tokens(batch, spec.n_ctx + 1, spec.d_vocab))

    line = {batch: saved_bytes(model, lambda batch=batch: of(batch)) for batch in LINE}  # type: ignore[misc]
    known = [line.get(batch, on_line(line, batch)) for batch in batches]
    peaks = list(_peaks(model, loss, spec, batches, device))
    count = sum(p.numel() for p in model.parameters() if p.requires_grad)
    return (
        torch.tensor(known),
        torch.tensor([batch in line for batch in batches]),
        torch.tensor(peaks, dtype=torch.float64),
        torch.tensor(count),
    )


def on_line(line: dict[int, int], batch: int) -> int:
    """Bytes of another batch on the line through three equidistant ones; `OUT` if these are not exactly on a line."""
    (a, low), (b, middle), (_, high) = sorted(line.items())
    if low + high != 2 * middle:
        return OUT
    return low + (middle - low) // (b - a) * (batch - a)


def _peaks(model: nn.Module, loss: Loss, spec: Spec, batches: Sequence[int], device: Any) -> Iterator[float]:
    """Peak bytes allocated by a forward and backward pass, with weights and gradients; NaN without a GPU."""
    if device is None:
        yield from [float("nan")] * len(batches)
        return
    place = "cuda" if device is torch.cuda else "cpu"
    model.to(place)
    for batch in batches:
        rows = random_tokens(batch, spec.n_ctx + 1, spec.d_vocab).to(place)
        device.empty_cache()
        device.reset_peak_memory_stats()
        try:
            loss(rows).backward()
            yield float(device.max_memory_allocated())
        except device.OutOfMemoryError:
            yield float("inf")
        model.zero_grad(set_to_none=True)
    model.to("cpu")
