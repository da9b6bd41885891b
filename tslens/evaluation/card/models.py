"""The score card of models: minimal pairs, and what they write, beside their validation loss."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import permutations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import stats
from tslens.errors import InputError
from tslens.evaluation.card.finding import BY_PAIRS, PAIRS, headline
from tslens.evaluation.card.reference import AXES as TEXT_AXES
from tslens.evaluation.card.reference import NOT_MEASURED
from tslens.evaluation.card.texts import TextsCardResult
from tslens.evaluation.loss import LossResult
from tslens.evaluation.pairs import PairsResult
from tslens.evaluation.pairs.result import CHANCE
from tslens.models import LanguageModel, training_record
from tslens.result import Result
from tslens.stories.pairs.phenomena import AXES as PAIR_AXES
from tslens.tables import as_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TEXTS = "texts"
NOTHING = stats.Interval(np.nan, np.nan, np.nan, 0.95, "no texts")
FEWEST = 5
"""Models of which a rank correlation has an interval."""


@dataclass(frozen=True, eq=False)
class CardResult(Result):
    """The score card of models. Rows by `pairs` are shares of minimal pairs that are right (chance: 0.5); rows by
    `texts` are what the model writes, in standard deviations from the mean of reference stories (usual: 0)."""

    frame_axes: ClassVar[tuple[str, ...]] = ("model", "row")
    axis_names: ClassVar[Mapping[str, str]] = {"model": "models", "row": "rows"}

    models: list[str]
    rows: list[str]
    """The axis and what it is measured by."""
    value: Float[Tensor, "model row"]
    low: Float[Tensor, "model row"]
    high: Float[Tensor, "model row"]
    bits_per_byte: Float[Tensor, " model"]
    """Of the held-out stories that `corpus` names, or else of the run's validation stories by its record; NaN where
    there is none."""
    bits_low: Float[Tensor, " model"]
    """Lower bound of these, 95% over the stories; NaN where they are of a run's record."""
    bits_high: Float[Tensor, " model"]
    """Upper bound."""
    step: Int[Tensor, " model"]
    """Steps of training of a run's snapshot; -1 for other models."""
    reference: str
    """The reference stories of the rows by texts; empty if there are none."""
    trained_on_order: list[str]
    """Models whose order tests mean nothing, because their objective trains on them."""
    twins: list[str] = field(default_factory=list, kw_only=True)
    """Those of the models that are untrained twins."""
    n_grams: list[str] = field(default_factory=list, kw_only=True)
    """Those of the models that are n-gram models of the training stories."""
    no_occasion: list[list[str]] = field(default_factory=list, kw_only=True)
    """By model and row, the measures for which some texts give no occasion; empty without texts."""
    at_the_end: list[list[int]] = field(default_factory=list, kw_only=True)
    """By model and row, the texts whose value is as far from the reference as the scale reaches; 0 without texts."""

    def summary(self) -> "pd.DataFrame":
        """One row per model and axis, with the model's bits per byte and what the axis does not measure."""
        frame = self.to_frame()
        said = {f"{a}, {PAIRS}": text for a, text in BY_PAIRS.items()}
        said |= {f"{a}, {TEXTS}": text for a, text in NOT_MEASURED.items()}
        trained = [
            model in self.trained_on_order and row.startswith("order")
            for model, row in zip(frame["model"], frame["row"], strict=True)
        ]
        unseen = ["it is trained on this" if t else said[r] for t, r in zip(trained, frame["row"], strict=True)]
        for name in ("bits_per_byte", "bits_low", "bits_high"):
            frame[name] = getattr(self, name).repeat_interleave(len(self.rows)).numpy()
        missing = [said for of_model in self.no_occasion for said in of_model]
        said_more: dict[str, list[Any]] = {"no occasion": missing} if any(missing) else {}
        ends = [n for of_model in self.at_the_end for n in of_model]
        said_more |= {"at the end": ends} if any(ends) else {}
        return frame.assign(**said_more, **{"does not measure": unseen})

    @property
    def trained(self) -> np.ndarray:
        """Which of the models are neither untrained twins nor n-gram models."""
        return np.array([model not in self.twins and model not in self.n_grams for model in self.models])

    def ranks(self) -> "pd.DataFrame":
        """How every row orders the models, against the falling loss: Spearman's rho and Kendall's tau (see `ranks`)."""
        import pandas as pd

        better = -self.bits_per_byte.double().numpy()
        known = ~np.isnan(better) & self.trained
        found = []
        for i, row in enumerate(self.rows):
            values = self.value[:, i].double().numpy()
            use = known & np.array([not (row.startswith("order") and m in self.trained_on_order) for m in self.models])
            use &= ~np.isnan(values)
            found.append({"row": row, **ranks(values[use], better[use], of_one_run=self._share_a_run(use))})
        return pd.DataFrame(found)

    def _share_a_run(self, use: np.ndarray) -> bool:
        """Whether any two of these models are steps of one run."""
        runs = [model.rpartition("@")[0] or model for model, used in zip(self.models, use, strict=True) if used]
        return len(set(runs)) < len(runs)

    def headline(self) -> str:
        """The axes of minimal pairs on which each trained model is above chance and above every untrained twin."""
        return headline(self)

    def figure(self) -> "Figure":
        """The rows by pairs, with intervals; over a run's snapshots, its lines over steps."""
        return self.drawn(PAIRS)

    def drawn(self, by: str) -> "Figure":
        """The rows by `pairs` or by `texts`."""
        from tslens import plots

        at = [i for i, row in enumerate(self.rows) if row.endswith(by)]
        if not at:
            raise InputError(f"the card has no rows by {by!r}.")
        names, label = [self.rows[i].split(",")[0] for i in at], "share right" if by == PAIRS else "standard deviations"
        trained = torch.tensor(self.trained)
        if int(trained.sum()) > 2 and bool((self.step[trained] >= 0).all()):
            order = torch.tensor([i for i in self.step.argsort().tolist() if trained[i]])
            series = {name: self.value[order, i] for name, i in zip(names, at, strict=True)}
            bands = {n: (self.low[order, i], self.high[order, i]) for n, i in zip(names, at, strict=True)}
            steps = self.step[order].clamp(min=1)
            return plots.lines(series, steps, bands=bands, x_label="steps", y_label=label, log_x=True)
        columns = {m: (self.value[k, at], self.low[k, at], self.high[k, at]) for k, m in enumerate(self.models)}
        return plots.intervals(names, columns, threshold=CHANCE if by == PAIRS else 0.0, x_label=label)

    def __str__(self) -> str:
        if int((~self.bits_per_byte.isnan().numpy() & self.trained).sum()) < 3:
            return super().__str__()
        ranked = self.ranks()
        table = as_text(ranked.dropna(axis=1, how="all"))
        few = [f"{n} models: no interval is possible." for n in sorted(set(ranked["models"])) if n < FEWEST]
        if self._share_a_run(self.trained):
            few = ["Steps of one run are no sample of models: no interval is possible."]
        return "\n".join([super().__str__(), "", "Ranks of the models beside their validation loss:", table, *few])


def card(
    models: Mapping[str, LanguageModel],
    pairs: PairsResult,
    written: Mapping[str, TextsCardResult] | None = None,
    *,
    twins: Iterable[str] = (),
    losses: Mapping[str, LossResult] | None = None,
) -> CardResult:
    """The card of models from their minimal pairs and, if given, from texts that they wrote, by the models' names.

    `twins` names those that are untrained twins (see `untrained`). Of a model that wrote nothing the rows by texts are
    NaN. The n-gram models of the pairs stand beside. `losses` on the same held-out stories, by the models' names, give
    bits per byte in place of the runs' records.
    """
    written, losses = written or {}, losses or {}
    rows = [f"{axis}, {PAIRS}" for axis in PAIR_AXES if axis in pairs.axes]
    rows += [f"{axis}, {TEXTS}" for axis in TEXT_AXES if written]
    table, missing, ends, names = [], [], [], [*models, *pairs.n_grams]
    for name in names:
        found = [pairs.macro(name, axis) for axis in PAIR_AXES if axis in pairs.axes]
        found += [written[name].axis(axis) if name in written else NOTHING for axis in TEXT_AXES if written]
        said = [written[name].no_occasion(axis) if name in written else "" for axis in TEXT_AXES if written]
        missing.append([""] * (len(rows) - len(said)) + said)
        far = [written[name].at_the_end(axis) if name in written else 0 for axis in TEXT_AXES if written]
        ends.append([0] * (len(rows) - len(far)) + far)
        table.append([[i.estimate, i.low, i.high] for i in found])
    values = torch.tensor(table, dtype=torch.float32)
    records = {name: training_record(model).get("bits_per_byte") or np.nan for name, model in models.items()}
    bits = {name: (float(records.get(name, np.nan)), np.nan, np.nan) for name in names}
    bits |= {name: (loss.bits_per_byte, *loss.interval("text_bytes")) for name, loss in losses.items()}
    bits_per_byte, bits_low, bits_high = torch.tensor([bits[name] for name in names]).T
    return CardResult(
        models=names,
        rows=rows,
        value=values[:, :, 0],
        low=values[:, :, 1],
        high=values[:, :, 2],
        bits_per_byte=bits_per_byte,
        bits_low=bits_low,
        bits_high=bits_high,
        step=torch.tensor([-1 if name in pairs.n_grams else _step(name) for name in names]),
        reference=next((texts.reference for texts in written.values()), ""),
        trained_on_order=pairs.trained_on_order,
        twins=list(twins),
        n_grams=pairs.n_grams,
        no_occasion=missing,
        at_the_end=ends,
        corpus=_described(pairs, written, losses),
    )


def _described(pairs: PairsResult, written: Mapping[str, TextsCardResult], losses: Mapping[str, LossResult]) -> str:
    """What the card rests on: the pairs, the texts with their sampling, and the stories of the loss."""
    rests = f"{len(pairs.goods):,} minimal pairs of {len(pairs.paradigms)} phenomena"
    for texts in list(written.values())[:1]:
        rests += f"; {len(texts.texts):,} texts of each model{texts.corpus and ', '}{texts.corpus}"
    for loss in list(losses.values())[:1]:
        rests += f"; bits per byte of {loss.corpus.removesuffix('.')}"
    for name, loss in losses.items():
        rests += f"; of {name}, {loss.said_of_unknown().removesuffix('.')}" if loss.unknown else ""
    return f"{rests}."


def _step(name: str) -> int:
    _, _, step = name.rpartition("@")
    return int(step) if "@" in name and step.isdecimal() else -1


def ranks(
    values: Float[np.ndarray, " model"], others: Float[np.ndarray, " model"], *, of_one_run: bool = False
) -> dict[str, Any]:
    """Spearman's rho and Kendall's tau of two lists, with 95% intervals by Fisher's z from five models on.

    The standard errors of z are those of Bonett and Wright (2000, doi:10.1007/BF02294183) and of Fieller, Hartley and
    Pearson (1957, doi:10.1093/biomet/44.3-4.470). Of three or four models no interval is possible:
    they have two-sided p-values, exact over all orders of the models. Steps `of_one_run` have neither, since one leads
    to the next. NaN for fewer than three, or equal values.
    """
    n, found = len(values), dict.fromkeys(("rho", "low", "high", "p", "tau", "tau_low", "tau_high", "tau_p"), np.nan)
    if n >= 3 and np.ptp(values) > 0 and np.ptp(others) > 0:
        found["rho"], found["tau"] = _coefficients(values, others)
        if of_one_run:
            return {**found, "models": n}
        if n < FEWEST:
            orders = np.array([_coefficients(np.array(order), others) for order in permutations(values)])
            found["p"], found["tau_p"] = (np.abs(orders) >= np.abs(_coefficients(values, others)) - 1e-9).mean(0)
        else:
            errors = {"rho": (1 + found["rho"] ** 2 / 2) / (n - 3), "tau": 0.437 / (n - 4)}
            for name, prefix in (("rho", ""), ("tau", "tau_")):
                z = np.arctanh(np.clip(found[name], -0.999, 0.999))
                ends = np.tanh(z + np.array([-1.96, 1.96]) * np.sqrt(errors[name]))
                found[f"{prefix}low"], found[f"{prefix}high"] = map(float, ends)
    return {**found, "models": n}


def _coefficients(values: Float[np.ndarray, " model"], others: Float[np.ndarray, " model"]) -> tuple[float, float]:
    from scipy import stats as scipy_stats

    return float(scipy_stats.spearmanr(values, others)[0]), float(scipy_stats.kendalltau(values, others)[0])
