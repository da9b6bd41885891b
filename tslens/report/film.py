"""The film of a run: its section of the page, and the data that a slider over snapshots moves (`assets/film.js`)."""

import html
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from tslens.analysis.heads import ROLES
from tslens.corpus import counted
from tslens.dynamics import SnapshotResult, emergence
from tslens.dynamics.seeds import together
from tslens.dynamics.snapshot import INDUCTION, PREVIOUS, REPETITION, UNITS
from tslens.plots import PALETTE
from tslens.report.embed import script_json
from tslens.report.glossary import explained

BUDGET = 1_000_000
"""Largest size of the film's data in bytes."""
COLOURS = (*PALETTE[:6], PALETTE[7])  # grey is for other labels
OTHER = "other"
SAID = (PREVIOUS, INDUCTION, REPETITION, "NOUN neurons", "ADJ neurons")


def section(snapshots: Sequence[SnapshotResult]) -> str:
    """The section of the page as HTML; empty without snapshots."""
    if not snapshots:
        return ""
    shown = fitting(snapshots)
    cut = f" {len(shown)} of {len(snapshots)} snapshots are here: all would have outgrown the film's megabyte."
    intro = (
        f"The same model at {len(shown)} steps of its training, each read on {counted(snapshots[0].stories)}; step 0 "
        f"is before it.{cut if len(shown) < len(snapshots) else ''} The seed of what it writes is always the same. "
        f"{_beside(snapshots[-1])}"
    )
    times = emergence(together([snapshots[-1].model], [list(snapshots)]))
    named = (name for name in SAID if name in times.scores)
    said = "".join(f"<li>{html.escape(f'{name}: {times.sentence(name)}.')}</li>" for name in named)
    return (
        '<section id="film" aria-labelledby="film-title">\n<h2 id="film-title">How it learned</h2>\n'
        f'<p class="intro">{explained(intro)}</p>\n<div id="film-view"></div>\n'
        f'<p class="muted small">When each leaves what the model had before training; in brackets, the snapshots '
        f'between which it does:</p>\n<ul class="muted small times">{said}</ul>\n</section>'
    )


def link(snapshots: Sequence[SnapshotResult]) -> str:
    """The section's place in the navigation."""
    return '<a href="#film">Training</a>' if snapshots else ""


def film(snapshots: Sequence[SnapshotResult]) -> dict[str, Any] | None:
    """What moves: roles, labels by layer, the lens, scores and stories of every snapshot; None without snapshots."""
    return _data(fitting(snapshots)) if snapshots else None


def fitting(snapshots: Sequence[SnapshotResult]) -> list[SnapshotResult]:
    """As many snapshots as the budget holds: every one, or every second, and so on; the first and the last always."""
    shown = list(snapshots)
    while len(shown) > 2 and len(script_json(_data(shown)).encode()) > BUDGET:
        shown = [*shown[:-1:2], shown[-1]]
    return shown


def _data(snapshots: Sequence[SnapshotResult]) -> dict[str, Any]:
    last, named = snapshots[-1], _named(snapshots)
    places = [i for i, name in enumerate(last.scores) if name in UNITS or name == "heads with a role"]
    return {
        "steps": [snapshot.step for snapshot in snapshots],
        "shape": list(last.role_code.shape),
        "role": [snapshot.role_code.flatten().tolist() for snapshot in snapshots],
        "effect": [_rounded(snapshot.effect.nan_to_num(0.0)) for snapshot in snapshots],
        "labels": [
            {"name": name, "colour": colour, "twins": _range(last, f"{name.replace(' ', '-')} neurons")}
            for name, colour in named.items()
        ],
        "neurons": last.label.shape[1],
        "counts": [_by_layer(snapshot, list(named)) for snapshot in snapshots],
        "depths": last.depths,
        "lens": [_rounded(snapshot.lens) for snapshot in snapshots],
        "scores": [
            {"name": last.scores[i], "unit": UNITS.get(last.scores[i], "heads"), "twins": _level(last, last.scores[i])}
            for i in places
        ],
        "roleTwins": [_range(last, f"{role} heads") for role in ROLES],
        "values": [_rounded(snapshot.value[places]) for snapshot in snapshots],
        "low": [_rounded(snapshot.low[places]) for snapshot in snapshots],
        "high": [_rounded(snapshot.high[places]) for snapshot in snapshots],
        "prompts": last.prompts,
        "texts": [snapshot.texts for snapshot in snapshots],
    }


def _named(snapshots: Sequence[SnapshotResult]) -> dict[str, str]:
    """The labels with a colour of their own, the commonest over all snapshots, and their colours; grey for others."""
    total = torch.stack([_of_layers(snapshot).sum(0) for snapshot in snapshots]).sum(0)
    order = sorted((i for i in range(len(total)) if total[i]), key=lambda i: -int(total[i]))
    common = [snapshots[0].labels[i] for i in order[: len(COLOURS)]]
    more = {OTHER: PALETTE[6]} if len(order) > len(common) else {}
    return dict(zip(common, COLOURS, strict=False)) | more


def _of_layers(snapshot: SnapshotResult) -> Int[Tensor, "layer label"]:
    """How many neurons of each layer have each label."""
    return (snapshot.label[..., None] == torch.arange(len(snapshot.labels))).sum(1)


def _by_layer(snapshot: SnapshotResult, names: list[str]) -> list[list[int]]:
    """For each layer, how many neurons have each of these labels."""
    counts = _of_layers(snapshot)
    own = [counts[:, snapshot.labels.index(name)] for name in names if name != OTHER]
    others = [counts.sum(1) - torch.stack(own).sum(0)] if OTHER in names else []
    return torch.stack([*own, *others], 1).tolist() if names else [[] for _ in counts]


def _rounded(values: Tensor) -> list[float]:
    """Numbers with three digits after the point, or four significant ones if they are larger."""
    return [float(f"{x:.4g}") if abs(x) >= 1 else round(x, 3) for x in values.double().flatten().tolist()]


def _beside(last: SnapshotResult) -> str:
    """Which untrained twins stand beside the scores, as a sentence."""
    n = len(next(iter(last.of_twins.values()), []))
    if not n:
        return "No untrained twin was measured beside it: tslens analyze dynamics measures them, and keeps them."
    return f"Beside its scores and counts stand the least and the largest of {n} untrained twins on the same stories."


def _level(last: SnapshotResult, score: str) -> list[float] | None:
    """The least and the largest value of a score among untrained twins; None where none was measured."""
    values = last.of_twins.get(score)
    return _rounded(torch.tensor([min(values), max(values)])) if values else None


def _range(last: SnapshotResult, count: str) -> str:
    """The smallest and the largest count among untrained twins, in words; empty where none was measured."""
    values = sorted(map(int, last.of_twins.get(count, [])))
    return "" if not values else f"{values[0]:,}" if values[0] == values[-1] else f"{values[0]:,} to {values[-1]:,}"
