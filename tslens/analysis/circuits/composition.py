"""Which heads read which heads? (composition scores of their weights)

Elhage et al. 2021, "A mathematical framework for transformer circuits": how much of what a head writes lies in what
another reads, as queries, keys or values.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tslens import progress, stats
from tslens.analysis.circuits.matrices import head_matrices
from tslens.errors import InputError
from tslens.models import Spec, name_of, spec_of
from tslens.models.twins import twins
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from tslens.models import LanguageModel

KINDS = ("Q", "K", "V")
SHOWN = 20  # rows of the printed table
Q = 0.05
DRAWS, CHUNK = 10_000, 100
"""Random rotations behind p, and how many are drawn at a time."""


@dataclass(frozen=True, eq=False)
class CompositionResult(Result):
    """The share of one head's output that another one reads, from the weights alone, for every pair of heads.

    A score is ``|W_OV X| / (|W_OV| |X|)`` in the Frobenius norm, X being the reader's W_QK (Q), its transpose (K) or
    its W_OV (V). Random weights score above 0 too, so the null is the same two matrices turned at random against each
    other: their spectra stay. NaN where the one head does not come before the other.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("kind", "source", "target")
    axis_names: ClassVar[dict[str, str | tuple[str, ...]]] = {"kind": KINDS, "source": "heads", "target": "heads"}

    model: str
    """The model's name."""
    heads: list[str]
    score: Float[Tensor, "kind source target"]
    """Composition score, 0 to 1."""
    null: Float[Tensor, "kind source target"]
    """Its mean under random rotations."""
    z: Float[Tensor, "kind source target"]
    """Distance from that mean in standard deviations over rotations."""
    q: Float[Tensor, "kind source target"]
    """False discovery rate of the claim that the score is above its null (Benjamini-Hochberg over all)."""
    of_twins: list[int] = field(default_factory=list, kw_only=True)
    """The scores of each untrained twin that are above their null; empty where no twin was asked."""

    @property
    def above(self) -> int:
        """The number of scores above their null, at q < 0.05."""
        return _above(self.q)

    @property
    def p(self) -> float:
        """The rank of that number among those of untrained twins: 0.05 at best with 19, 1 without any."""
        return float(stats.rank_p(self.above, self.of_twins))

    def said(self) -> str:
        """That number in words, beside those of untrained twins. It has no interval: the weights are read whole, and
        nothing is sampled."""
        twins, told = self.of_twins, f"p = {self.p:.2f}; no interval, since nothing is sampled"
        beside = f"{min(twins)} to {max(twins)}; {told}" if twins else "not counted"
        scores = f"{self.above:,} of {int(self.q.isfinite().sum()):,} scores of pairs of heads"
        return f"{scores} are above random rotations (untrained twins: {beside})"

    def headline(self) -> str:
        """How many scores are above random rotations."""
        return f"{self.said()}."

    def summary(self) -> "pd.DataFrame":
        """The pairs of heads farthest above their null."""
        frame = self.to_frame().dropna(subset=["score"])
        return frame.assign(above=frame["score"] - frame["null"]).nlargest(SHOWN, "above").reset_index(drop=True)

    def figure(self) -> "Figure":
        """Heat map of the scores above their null: one row per writer and kind, one column per reader."""
        from tslens import plots

        above = (self.score - self.null).numpy()
        rows = [(k, s) for k in range(len(KINDS)) for s in range(len(self.heads)) if np.isfinite(above[k, s]).any()]
        columns = [t for t in range(len(self.heads)) if np.isfinite(above[:, :, t]).any()]
        return plots.heatmap(
            np.array([[above[k, s, t] for t in columns] for k, s in rows]),
            [f"{KINDS[k]}: {self.heads[s]} →" for k, s in rows],
            [self.heads[t] for t in columns],
            title=f"{self.model}: composition above chance",
            row_label="writer",
            column_label="reader",
            colour_label="score minus that of random rotations",
            centre=0.0,
        )


@dataclass(frozen=True)
class _Spectra:
    """The scores of a model's heads, and what decides their null: squared singular values, as shares of their sum."""

    score: Float[Tensor, "kind source target"]
    written: Float[Tensor, "source d_head"]
    read: Float[Tensor, "kind target d_head"]


def composition(model: "LanguageModel", *, n: int = 0) -> CompositionResult:
    """The composition scores of every pair of heads beside their null, and how many scores of each of `n` untrained
    twins are above theirs.

    The weights are taken with the norms folded in and the means removed that a layer norm removes. p comes from
    `DRAWS` random rotations, the same for all pairs and models, and is 1 / (1 + `DRAWS`) at the smallest.

    Raises:
        InputError: a model of one layer, or one that has no twins.
    """
    spec = spec_of(model)
    if spec.n_layers < 2:
        raise InputError(f"{name_of(model)} has one layer: no head reads what another writes.")
    found = [_spectra(one) for one in chain([model], (twin.of(model) for twin in twins(n)))]
    reached = [torch.zeros_like(one.score) for one in found]
    d = spec.d_model - (
        spec.norm == "layer"
    )  # a layer norm removes the mean of the stream, which then turns with nothing
    with progress.bar("rotating heads at random", DRAWS) as shown:
        for corners in _corners(d, found[0].written.shape[1]):
            for one, times in zip(found, reached, strict=True):
                drawn = torch.einsum("sa,nab,ktb->nkst", one.written, corners, one.read)
                times += (drawn >= one.score**2).sum(0)
            shown.advance(len(corners))
    p = [
        torch.where(one.score.isnan(), torch.nan, (1 + m) / (1 + DRAWS)) for one, m in zip(found, reached, strict=True)
    ]
    q = [torch.as_tensor(stats.benjamini_hochberg(each.numpy())).float() for each in p]
    null, spread = (torch.where(found[0].score.isnan(), torch.nan, x) for x in _of_rotations(found[0], d))
    return CompositionResult(
        model=name_of(model),
        heads=[f"{i}.{j}" for i in range(spec.n_layers) for j in range(spec.n_heads)],
        score=found[0].score,
        null=null,
        z=(found[0].score - null) / spread,
        q=q[0],
        of_twins=[_above(each) for each in q[1:]],
    )


def _above(q: Float[Tensor, "kind source target"]) -> int:
    return int((q < Q).sum())


def _dimensions(spec: Spec) -> int:
    """Those of the stream that turn: a layer norm removes the mean."""
    return spec.d_model - (spec.norm == "layer")


def _spectra(model: "LanguageModel") -> _Spectra:
    spec = spec_of(model)
    made = [head_matrices(model, layer) for layer in range(spec.n_layers)]
    q, k, v, o = (torch.cat([part[name] for part in made]).double().cpu() for name in "QKVO")
    written = _right_factor(v, o)
    read = torch.stack([_left_factor(q, k.mT), _left_factor(k, q.mT), _left_factor(v, o)])
    size = written.norm(dim=(1, 2))[:, None] * read.norm(dim=(2, 3))[:, None]
    score = _products(written, read, spec.n_heads) / size
    shares = [torch.linalg.svdvals(part)[..., : _dimensions(spec)].square() for part in (written, read)]
    return _Spectra(score.float(), *((part / part.sum(-1, keepdim=True)).float() for part in shares))


def _corners(d: int, k: int) -> Iterator[Float[Tensor, "draw k k"]]:
    """The squared entries of random rotations of `d` dimensions, in their first `k` rows and columns, a hundred at a
    time. The squared score of two matrices, one of them turned, is the mean of these over pairs of their singular
    vectors, weighted by the shares of the singular values."""
    generator = torch.Generator().manual_seed(0)
    for _ in range(DRAWS // CHUNK):
        yield torch.linalg.qr(torch.randn(CHUNK, d, k, generator=generator))[0][:, :k].square()


def _of_rotations(
    of: _Spectra, d: int
) -> tuple[Float[Tensor, "kind source target"], Float[Tensor, "kind source target"]]:
    """Mean and standard deviation of the scores over random rotations of `d` dimensions.

    The mean of a squared score is 1/d and its variance is exact (second moments of the orthogonal group: Collins and
    Sniady 2006, math-ph/0402073); those of its root are to second order.
    """
    written, read = ((part.square().sum(-1) - 1 / d).clamp(min=0) for part in (of.written, of.read))
    variance = 2 / ((d - 1) * (d + 2)) * written[:, None] * read[:, None]
    return (1 - variance * d**2 / 8) / d**0.5, (variance * d).sqrt() / 2


def _right_factor(
    left: Float[Tensor, "head d_model d_head"], right: Float[Tensor, "head d_head d_model"]
) -> Float[Tensor, "head d_head d_model"]:
    """A with |A X| = |left right X| for every X: the product without the rotation that its left side is."""
    upper: Tensor = torch.linalg.qr(left)[1]
    return upper @ right


def _left_factor(
    left: Float[Tensor, "head d_model d_head"], right: Float[Tensor, "head d_head d_model"]
) -> Float[Tensor, "head d_model d_head"]:
    """B with |X B| = |X left right| for every X."""
    return _right_factor(right.mT, left.mT).mT


def _products(
    written: Float[Tensor, "source d_head d_model"], read: Float[Tensor, "kind target d_model d_head"], heads: int
) -> Float[Tensor, "kind source target"]:
    """The norm of every product of a head of a layer, of so many heads, with one of an earlier layer; else NaN."""
    found = written.new_full((len(read), len(written), len(written)), torch.nan)
    for first in range(heads, len(written), heads):
        layer = slice(first, first + heads)
        for into, part in zip(found, read, strict=True):
            into[:first, layer] = torch.einsum("sad,tdb->stab", written[:first], part[layer]).norm(dim=(2, 3))
    return found
