"""The parts of a study: which questions each asks, on how many stories, and about what it costs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from tslens.analysis import circuits, heads, lens, neurons
from tslens.analysis.heads.ablation import DEFAULT as ABLATIONS
from tslens.corpus import Corpus
from tslens.errors import InputError
from tslens.evaluation.loss import LossResult, loss
from tslens.models import spec_of
from tslens.result import CountedResult, Result
from tslens.scan import Reducer
from tslens.stories.pairs import TASKS
from tslens.tuned import tuned_lens
from tslens.twins import (
    ABLATED_STORIES,
    QUESTIONS,
    TwinsResult,
    ablated,
    compare,
    control,
    read_ahead,
)

if TYPE_CHECKING:
    from tslens.models import LanguageModel

Found = TypeVar("Found", bound=Result)
Counted = TypeVar("Counted", bound=CountedResult)
ALL, CHECKED, NONE = "all stories", "checked stories", "no stories"
REPEATED = 16
"""Rows of repeated random tokens on which heads are ablated."""
TWINS = "twins"


@dataclass(frozen=True)
class Work:
    """What the parts of a study work on."""

    model: "LanguageModel"
    corpus: Corpus
    scan: Callable[[Sequence[Reducer[Any, Any]]], list[Any]]
    """Answers several reducers in one pass over the whole corpus."""
    checked: int
    """Stories on which labels are checked: by twins, swaps and ablations."""
    twins: int
    found: dict[str, Result]
    """The answers so far, by their names."""

    def answer(self, name: str, kind: type[Found]) -> Found:
        """The answer of an earlier part; InputError where it has none."""
        if not isinstance(answer := self.found.get(name), kind):
            raise InputError(f"It reads the answer {name!r}, and there is none.")
        return answer

    @property
    def roles(self) -> heads.RolesResult:
        """The roles of heads, without those that swaps contradict; InputError where there are none."""
        roles, agreement = self.answer("roles", heads.RolesResult), self.found.get("agreement")
        return agreement.withhold(roles) if isinstance(agreement, heads.AgreementResult) else roles

    def beside(self, answer: Counted) -> Counted:
        """The answer, with the counts of untrained twins where these were counted."""
        twins = self.found.get(TWINS)
        return twins.beside(answer) if isinstance(twins, TwinsResult) else answer

    @property
    def few(self) -> Corpus:
        """The checked stories."""
        return replace(self.corpus, texts=self.corpus.texts[: self.checked])

    @property
    def heads(self) -> int:
        """Heads of the model."""
        spec = spec_of(self.model)
        return spec.n_layers * spec.n_heads


@dataclass(frozen=True)
class StudyPart:
    """Questions that are asked together: their answers are kept, and computed again, as one."""

    name: str
    answers: Mapping[str, type[Result]]
    """The kind of each answer by its name."""
    ask: Callable[[Work], Mapping[str, Result]]
    """The answers by their names; one that this model has none for is left out."""
    cost: Callable[[Work], float]
    """About how many passes of the model over one story take as long."""
    reads: str = CHECKED
    """The stories that its intervals are over: `ALL`, `CHECKED` or `NONE`."""


def _scan(work: Work) -> dict[str, Result]:
    reducers = (heads.Roles(), neurons.Profiles(), lens.ByDepth(), lens.ByComponent(), lens.Residuals())
    return dict(zip(SCANNED, work.scan(reducers), strict=True))


def _read_twins(work: Work) -> None:
    """Read every twin once for all parts; the parts then find the answers kept."""
    scored: tuple[heads.Kinds | heads.Writes, ...] = (heads.Kinds(made=heads.MADE), heads.Writes())
    read_ahead(work.model, work.corpus, counted=[QUESTIONS], scored=scored, n=work.twins, limit=work.checked)


def _twins(work: Work) -> dict[str, Result]:
    _read_twins(work)
    return {TWINS: compare(work.model, work.corpus, n=work.twins, limit=work.checked)}


def _kinds(work: Work) -> dict[str, Result]:
    _read_twins(work)
    of_kinds, of_writes = (
        control(work.model, work.corpus, reducer, n=work.twins, limit=work.checked)
        for reducer in (heads.Kinds(made=heads.MADE), heads.Writes())
    )
    return {
        "kinds": heads.kinds(work.model, work.few, roles=work.roles, control=of_kinds, made=heads.MADE),
        "writes": heads.writes(work.model, work.few, control=of_writes),
    }


def _kernels(work: Work) -> dict[str, Result]:
    swaps = work.found.get("swaps")
    return {"kernels": work.beside(heads.kernels(work.roles, swaps if isinstance(swaps, heads.SwapsResult) else None))}


def _swaps(work: Work) -> dict[str, Result]:
    found = heads.swaps(work.model, work.corpus, limit=work.checked)
    return {"swaps": found, "agreement": heads.agreement(work.answer("roles", heads.RolesResult), found)}


def _ablation(work: Work) -> dict[str, Result]:
    keys, writes = work.found.get("kinds"), work.found.get("writes")
    chosen = keys if isinstance(keys, heads.KindsResult) else None
    written = writes if isinstance(writes, heads.WritesResult) else None
    found = heads.ablation(work.model, work.corpus, roles=work.roles, keys=chosen, writes=written, rows=work.checked)
    try:
        beside = ablated(work.model, work.corpus, n=work.twins, limit=work.checked)
    except InputError:  # too few stories, or no twin
        return {"ablation on stories": found}
    return {"ablation on stories": beside.beside(found), "twins of ablation": beside}


def _ablating(work: Work, rows: float) -> float:
    """What ablating every head on so many rows costs."""
    return 0.6 * len(ABLATIONS) * work.heads * rows


def _tuned(work: Work) -> dict[str, Result]:
    fitted = tuned_lens(work.model, work.corpus)
    return {"tuned lens": work.scan([lens.Lenses({lens.LOGIT_LENS: None, lens.TUNED_LENS: fitted})])[0]}


def _tasks(work: Work) -> dict[str, Result]:
    found: dict[str, Result] = {}
    for name in TASKS:
        try:
            found[f"task {name}"] = circuits.accuracy(work.model, name)
        except InputError:  # the tokenizer has too few words for this task
            continue
    if not found:
        raise InputError("The tokenizer has too few words for any task of minimal pairs.")
    return found


SCANNED: Mapping[str, type[Result]] = {
    "roles": heads.RolesResult,
    "neurons": neurons.ProfilesResult,
    "logit lens": lens.ByDepthResult,
    "attribution": lens.ByComponentResult,
    "residuals": lens.ResidualsResult,
}
"""The answers of the one pass over the whole corpus."""

PARTS = (
    StudyPart(
        "loss",
        {"loss": LossResult},
        lambda work: {"loss": loss(work.model, work.corpus)},
        lambda work: len(work.corpus),
        reads=ALL,
    ),
    StudyPart("scan", SCANNED, _scan, lambda work: 6 * len(work.corpus), reads=ALL),
    StudyPart(
        TWINS,
        {TWINS: TwinsResult},
        _twins,
        lambda work: work.checked * (80 + 13 * work.twins),  # every twin is read here, for the later parts too
    ),
    StudyPart(
        "swaps",
        {"swaps": heads.SwapsResult, "agreement": heads.AgreementResult},
        _swaps,
        lambda work: 65 * work.checked,
    ),
    StudyPart(
        "kinds",
        {"kinds": heads.KindsResult, "writes": heads.WritesResult},
        _kinds,
        lambda work: 20 * work.checked,
    ),
    StudyPart("kernels", {"kernels": heads.KernelsResult}, _kernels, lambda work: work.heads, reads=ALL),
    StudyPart(
        "tested labels",
        {"tested labels": neurons.HeldOutResult},
        lambda work: {"tested labels": work.beside(work.scan([neurons.HeldOut()])[0])},
        lambda work: 3 * len(work.corpus),
        reads=ALL,
    ),
    StudyPart(
        "ablation on stories",
        {"ablation on stories": heads.AblationResult, "twins of ablation": TwinsResult},
        _ablation,
        lambda work: _ablating(work, work.checked + ABLATED_STORIES * (1 + work.twins / len(ABLATIONS))),
    ),
    StudyPart(
        "ablation on repeated tokens",
        {"ablation on repeated tokens": heads.AblationResult},
        lambda work: {"ablation on repeated tokens": heads.ablation(work.model, rows=REPEATED)},
        lambda work: _ablating(work, REPEATED),
        reads=NONE,
    ),
    StudyPart(
        "probes",
        {"probes": heads.ProbesResult},
        lambda work: {"probes": work.scan([heads.Probes()])[0]},
        lambda work: 2 * len(work.corpus) + 20 * work.heads,
        reads=ALL,
    ),
    StudyPart("tuned lens", {"tuned lens": lens.LensesResult}, _tuned, lambda work: 10 * len(work.corpus), reads=ALL),
    StudyPart(
        "composition",
        {"composition": circuits.CompositionResult},
        lambda work: {"composition": circuits.composition(work.model, n=work.twins)},
        lambda work: 2 * (1 + work.twins),
        reads=NONE,
    ),
    StudyPart(
        "tasks", {f"task {name}": circuits.AccuracyResult for name in TASKS}, _tasks, lambda work: 400, reads=NONE
    ),
)
