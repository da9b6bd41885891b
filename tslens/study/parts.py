"""The parts of a study: which questions each asks, on how many stories, and about what it costs."""

from collections.abc import Mapping
from typing import Any

from tslens.analysis import circuits, heads, lens, neurons
from tslens.analysis.heads.ablation import DEFAULT as ABLATIONS
from tslens.errors import InputError
from tslens.evaluation.loss import LossResult, loss
from tslens.models import spec_of
from tslens.result import Result
from tslens.scan import Reducer, scan
from tslens.stories.pairs import TASKS
from tslens.study.work import ALL, NONE, TWINS, StudyPart, Work
from tslens.tuned import tuned_lens
from tslens.twins import (
    ABLATED_STORIES,
    MEASURES,
    MeasuredResult,
    TwinsResult,
    ablated,
    compare,
    control,
    measured,
    on_task,
    read_ahead,
    usual_questions,
)

EVERY = 4
"""Of so many positions of a story the lenses read one: logits at every depth cost more than the model. Intervals over
100 stories are wider for it: 864 to 890 settled positions of 1,000 where all gave 871 to 881 (256x8)."""
REPEATED = 16
"""Rows of repeated random tokens on which heads are ablated."""


def _scan(work: Work) -> dict[str, Result]:
    asked: dict[str, Reducer[Any, Any]] = {
        "roles": heads.Roles(),
        "neurons": neurons.Profiles(),
        "logit lens": lens.ByDepth(every=EVERY),
        "attribution": lens.ByComponent(),
        "residuals": lens.Residuals(),
    }
    if not spec_of(work.model).mlp_width:
        del asked["neurons"]
    return dict(zip(asked, work.scan([*asked.values()]), strict=True))


def _read_twins(work: Work) -> None:
    """Read every twin once for all parts; the parts then find the answers kept."""
    scored: tuple[heads.Kinds | heads.Writes, ...] = (heads.Kinds(made=heads.MADE), heads.Writes())
    measures = [MEASURES[SCANNED[name]] for name in MEASURED]
    n, limit = work.twins, work.checked
    counted = [usual_questions(work.model)]
    read_ahead(work.model, work.corpus, counted=counted, scored=scored, measures=measures, n=n, limit=limit)


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
    return {"tuned lens": work.scan([lens.Lenses({lens.LOGIT_LENS: None, lens.TUNED_LENS: fitted}, every=EVERY)])[0]}


def _measured(work: Work) -> dict[str, Result]:
    """What twins measure where an answer is no count, beside the model on the same checked stories."""
    if not work.twins:
        raise InputError("No twin was asked.")
    found = scan(work.model, work.few, [MEASURES[SCANNED[name]].reducer for name in MEASURED])
    of = zip(MEASURED, found, strict=True)
    return {f"twins of {name}": measured(work.model, work.few, answer, n=work.twins) for name, answer in of}


def _tasks(work: Work) -> dict[str, Result]:
    found: dict[str, Result] = {}
    for name in TASKS:
        try:
            able = circuits.accuracy(work.model, name)
        except InputError:  # the tokenizer has too few words for this task
            continue
        if work.twins and able.of_halves:
            beside = on_task(work.model, name, able, n=work.twins)
            able = beside.beside(able)
            found[f"twins of task {name}"] = beside
        found[f"task {name}"] = able
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

MEASURED = ("attribution", "residuals")
"""Those that are measures and no counts."""

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
        "twins of layers",
        {f"twins of {name}": MeasuredResult for name in MEASURED},
        _measured,
        lambda work: 4 * work.checked * bool(work.twins),
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
        lambda work: _ablating(work, work.checked + ABLATED_STORIES / 2 * (1 + work.twins / len(ABLATIONS))),
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
        "tasks",
        {f"task {name}": circuits.AccuracyResult for name in TASKS}
        | {f"twins of task {name}": TwinsResult for name in TASKS},
        _tasks,
        lambda work: 400 * (1 + work.twins),
        reads=NONE,
    ),
)
