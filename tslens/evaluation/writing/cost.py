"""Seconds and floating-point operations of a story, of models and of the shapes of larger ones."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens import models, progress, stats
from tslens.errors import InputError
from tslens.generate.clock import step_seconds
from tslens.models import HookedSpec, ModelSpec, Spec
from tslens.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from tslens.models import LanguageModel

GPT2 = {"gpt2": (768, 12, 12), "gpt2-medium": (1024, 24, 16), "gpt2-xl": (1600, 48, 25)}
"""Width, layers and heads of GPT-2's sizes (Radford et al. 2019), of 50,257 tokens and a context of 1,024."""
VOCABULARY = 4096
"""Tokens of another shape, unless it is said: as many as our recipes learn."""
WHOLE = 400_000_000  # parameters up to which a shape is built whole
FEW, MANY = 2, 8  # layers of the two models that stand for a larger one
LEAST, MOST = 4, 4_096  # tokens that are timed; stories of a batch
SECONDS = 20.0  # spent on one batch size of one model, about


@dataclasses.dataclass(frozen=True, eq=False)
class CostResult(Result):
    """What a story of `tokens` new tokens costs, from the story's beginning to its last token, none of which ends it.

    Only the first `measured` tokens were timed where a whole story takes long; the rest is in proportion to floating-
    point operations. Of a model larger than is built whole, two with `FEW` and `MANY` of its layers were timed, and
    every further layer is taken to cost what one of those between did.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("model", "batch")
    axis_names: ClassVar[Mapping[str, str]] = {"model": "models", "batch": "batches"}

    models: list[str]
    batches: list[int]
    """Stories that are written at a time."""
    tokens: int
    precision: str
    threads: int
    random: Bool[Tensor, " model"]
    """Whether its weights are random: a shape, not a trained model."""
    parameters: Int[Tensor, " model"]
    flops: Float[Tensor, " model"]
    """Floating-point operations of a story (`story_flops`)."""
    measured: Int[Tensor, "model batch"]
    """Tokens of each row that were timed."""
    built_whole: Bool[Tensor, " model"]
    seconds: Float[Tensor, "model batch repeat"]
    """Seconds of a story, of each repeat."""

    def interval(self, model: int, batch: int) -> stats.Interval:
        """Seconds of a story: the geometric mean over repeats with Student's t interval of the logarithms, since what
        delays a repeat multiplies its time."""
        found = stats.mean_interval(self.seconds[model, batch].log().numpy())
        return dataclasses.replace(
            found,
            estimate=float(np.exp(found.estimate)),
            low=float(np.exp(found.low)),
            high=float(np.exp(found.high)),
            method="Student t of logarithms",
        )

    def summary(self) -> "pd.DataFrame":
        """Seconds a story of each model and batch size with 95% intervals, its operations, and operations a second."""
        import pandas as pd

        rows = []
        for m, name in enumerate(self.models):
            for b, batch in enumerate(self.batches):
                found, flops = self.interval(m, b), float(self.flops[m])
                weights = "random" if self.random[m] else "trained"
                timed = (found.estimate, found.low, found.high, flops / 1e9, flops / 1e9 / found.estimate)
                built = "whole" if self.built_whole[m] else f"{FEW} and {MANY} layers"
                asked = (name, weights, int(self.parameters[m]), batch)
                rows.append((*asked, *timed, int(self.measured[m, b]), built))
        columns = ["model", "weights", "parameters", "batch", "seconds", "low", "high", "GFLOP", "GFLOP_per_second"]
        return pd.DataFrame(rows, columns=[*columns, "tokens_timed", "built"])

    def headline(self) -> str:
        """Seconds of a story by the first model, of each batch size."""
        found = [(batch, self.interval(0, b)) for b, batch in enumerate(self.batches)]
        each = " and ".join(f"{one.said('.3g')} in a batch of {n}" for n, one in found)
        return f"A story of {self.tokens} tokens takes {self.models[0]} {each} seconds, {self.precision}."

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """The summary; with `field`, the long table of that field."""
        return self.summary() if field is None else super().to_frame(field)

    def figure(self) -> "Figure":
        """Seconds a story over its floating-point operations, with a line per batch size."""
        from tslens import plots

        order = np.argsort(self.flops.numpy(), kind="stable")
        found = [[self.interval(m, b) for m in order.tolist()] for b in range(len(self.batches))]
        names = [f"batch {batch}" for batch in self.batches]
        return plots.lines(
            {name: [i.estimate for i in row] for name, row in zip(names, found, strict=True)},
            self.flops[torch.from_numpy(order)].numpy() / 1e9,
            bands={name: ([i.low for i in r], [i.high for i in r]) for name, r in zip(names, found, strict=True)},
            title=f"a story of {self.tokens} tokens",
            x_label="GFLOP",
            y_label="seconds",
            log_x=True,
            log_y=True,
        )


def story_flops(spec: ModelSpec, tokens: int) -> int:
    """Floating-point operations of writing `tokens` tokens after one: two for each multiply-add of every matrix product
    at every token that is read, the last new one is not, and of attention, 4 x layers x width for each earlier token.

    The forward part of Kaplan et al. 2020 (arXiv 2001.08361, table 1), unembedding included. InputError for a model
    that is generated from without a cache.
    """
    if isinstance(spec, HookedSpec):
        raise InputError(
            "this model reads its whole row for every token (no cache covers it); its cost is not counted."
        )
    return sum(spec.flops_per_token(seen) for seen in range(1, tokens + 1))


def gpt2_shape(name: str, vocabulary: int = VOCABULARY) -> Spec:
    """The shape of a size of GPT-2, or of a name such as `256x8` with this vocabulary."""
    if name not in GPT2:
        return Spec.parse(name, d_vocab=vocabulary)
    width, layers, heads = GPT2[name]
    return Spec(width, layers, heads, d_vocab=50_257, n_ctx=1024)


def cost(
    trained: "Iterable[LanguageModel]",
    shapes: Sequence[str] = tuple(GPT2),
    *,
    batches: Sequence[int] = (1, 64),
    tokens: int = 200,
    repeats: int = 5,
    precision: str = "float32",
    vocabulary: int = VOCABULARY,
) -> CostResult:
    """Seconds and operations of a story, of models and of shapes with random weights: of `GPT2`, or such as `256x8`,
    which have this `vocabulary`. It is named where it is not the usual one."""
    if vocabulary < 1:
        raise InputError(f"a vocabulary of {vocabulary} has no token; give 1 or more.")
    if tokens < 1 or repeats < 2 or not batches or not 1 <= min(batches) <= max(batches) <= MOST:
        raise InputError(f"tokens {tokens}, repeats {repeats}, batches {list(batches)}: give 1, 2, and 1 to {MOST:,}.")
    specs = [gpt2_shape(name, vocabulary) for name in shapes]
    names = [n if n in GPT2 or vocabulary == VOCABULARY else f"{n}, {vocabulary:,} tokens" for n in shapes]
    watch = Watch(batches, tokens, repeats, precision)
    rows: list[dict[str, Any]] = []
    with progress.stage("timing") as say:
        for model in trained:
            say(f"timing {models.name_of(model)}")
            rows.append(_row(models.name_of(model), models.spec_of(model, compressors=True), watch, model))
        for name, spec in zip(names, specs, strict=True):
            say(f"timing {name}, random weights")
            rows.append(_row(name, spec, watch))
    if not rows:
        raise InputError("give a model or a shape whose cost is measured.")

    def column(name: str) -> Tensor:
        return torch.as_tensor(np.array([row[name] for row in rows]))

    return CostResult(
        models=[row["name"] for row in rows],
        batches=list(batches),
        tokens=tokens,
        precision=precision,
        threads=torch.get_num_threads(),
        random=column("random"),
        parameters=column("parameters"),
        flops=column("flops"),
        measured=column("measured"),
        built_whole=column("built_whole"),
        seconds=column("seconds"),
    )


class Watch(NamedTuple):
    """How models are timed."""

    batches: Sequence[int]
    tokens: int
    repeats: int
    precision: str

    def __call__(
        self, model: "LanguageModel", spec: ModelSpec
    ) -> tuple[Float[np.ndarray, "batch repeat"], Int[np.ndarray, " batch"]]:
        """The seconds of a story for each batch size and repeat, and the tokens that were timed."""
        if self.tokens >= spec.n_ctx:
            raise InputError(
                f"{self.tokens} tokens after the first do not fit a context of {spec.n_ctx}. Ask for fewer."
            )
        seconds, timed = [], []
        for batch in self.batches:
            (first,) = step_seconds(model, batch, min(2, self.tokens), precision=self.precision)
            n = int(min(max(SECONDS / self.repeats / first[-1], LEAST), self.tokens))
            steps = np.array(step_seconds(model, batch, n, repeats=self.repeats, precision=self.precision))
            rest = story_flops(spec, self.tokens) / story_flops(spec, n)
            seconds.append(steps.sum(1) * rest / batch)
            timed.append(n)
        return np.array(seconds), np.array(timed)


def _of_shape(spec: Spec, watch: Watch) -> tuple[Float[np.ndarray, "batch repeat"], Int[np.ndarray, " batch"]]:
    """The same for a shape with random weights: built whole, or taken from two with fewer layers."""
    if _is_small(spec):
        return watch(models.build(spec), spec)
    smaller = [dataclasses.replace(spec, n_layers=n) for n in (FEW, MANY)]
    (few, n_few), (many, n_many) = (watch(models.build(part), part) for part in smaller)
    return few + np.maximum(many - few, 0) * ((spec.n_layers - FEW) / (MANY - FEW)), np.minimum(n_few, n_many)


def _is_small(spec: ModelSpec) -> bool:
    return spec.n_parameters() <= WHOLE


def _row(
    name: str,
    spec: Any,
    watch: Watch,
    model: "LanguageModel | None" = None,
) -> dict[str, Any]:
    """The row of a model, or of a shape with random weights."""
    flops = float(story_flops(spec, watch.tokens))  # refuses what has no count, before it is timed
    seconds, timed = _of_shape(spec, watch) if model is None else watch(model, spec)
    return {
        "name": name,
        "random": model is None,
        "parameters": spec.n_parameters(),
        "flops": flops,
        "measured": timed,
        "built_whole": model is not None or _is_small(spec),
        "seconds": seconds,
    }
