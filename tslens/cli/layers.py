"""The commands that say what layers do."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tslens.cli.delivery import Delivery, delivery
from tslens.cli.options import Engine, Json, Limit, Model, Precision, Stories, corpus_of, scanned

if TYPE_CHECKING:
    from tslens.analysis.lens import ByComponentResult, ResidualsResult, TranslatorsResult
    from tslens.corpus import Corpus
    from tslens.models import LanguageModel

Twins = Annotated[
    int,
    Parameter(name="--twins", help="Untrained twins that are measured on the same stories: 19 for p = 0.05 at best."),
]
FIT_TWINS = 200
"""Stories that the tuned lens of each untrained twin is fitted on, in closed form, and the model's beside them."""


@Parameter(name="*", help="How the tuned lens is fitted.")
@dataclass(frozen=True)
class Fit:
    """How the tuned lens is fitted."""

    fit_stories: Annotated[
        str | None,
        Parameter(
            help="Stories to fit the tuned lens on, as for --stories; those it is shown on are left out. Default: the "
            "training stories of the model's run or, if they cannot be read, what the model writes itself."
        ),
    ] = None
    fit_limit: Annotated[int, Parameter(help="Largest number of stories to fit the tuned lens on.")] = 1000
    steps: Annotated[int, Parameter(help="Steps of gradient descent after the tuned lens's closed form.")] = 300
    seed: Annotated[int, Parameter(help="Seed of the order of the batches of these steps.")] = 0
    refit: Annotated[bool, Parameter(negative=(), help="Fit the tuned lens again although one is kept.")] = False


def lens(
    *,
    model: Model,
    prompt: str | None = None,
    stories: Stories = None,
    limit: Limit = 200,
    tuned: bool = False,
    fit: Fit = Fit(),
    top: int = 5,
    n: Annotated[int, Parameter(name="--twins")] = 0,
    out: Path | None = None,
    engine: Engine = "local",
    precision: Precision = "float32",
    json_: Json = False,
) -> None:
    """Show what the model would predict after each layer (logit lens): over one prompt, or by depth over stories.

    Parameters
    ----------
    prompt
        A text to analyse token by token.
    tuned
        Show the tuned lens too, over stories by part of speech as well. It is fitted once, in minutes, and kept.
    top
        Tokens kept for each position of the prompt.
    n
        Untrained twins whose settled positions are counted too, on 100 stories; with --tuned by both lenses, those
        of the twins fitted in closed form on 200 stories.
    out
        A folder for the figures (SVG), the tables (CSV) and the whole answers.
    """
    from tslens.forward import check_precision
    from tslens.forward.trunk import refuse_compressor
    from tslens.models import load

    check_precision(precision)
    _check_asked(tuned, fit)
    with delivery(out, json_) as deliver:
        loaded, corpus = load(model), None
        if stories is not None or prompt is None:
            refuse_compressor(loaded)
            corpus = corpus_of(loaded, stories, limit)
        if fitted := _fitted(loaded, corpus or (), fit) if tuned else None:
            deliver(fitted)
        if prompt is not None:
            _of_prompt(deliver, loaded, prompt, top, fitted, precision)
        if corpus is not None and fitted:
            _lenses(deliver, loaded, corpus, fitted, fit.fit_stories, precision, n)
        elif corpus is not None:
            _by_depth(deliver, engine, model, loaded, corpus, precision, n)


def _check_asked(tuned: bool, fit: Fit) -> None:
    from tslens.errors import InputError

    if not tuned and fit != Fit():
        raise InputError("How the tuned lens is fitted was given without the tuned lens; add --tuned.")


def _of_prompt(
    deliver: Delivery, model: "LanguageModel", prompt: str, top: int, fitted: "TranslatorsResult | None", precision: str
) -> None:
    """Deliver the logit lens of a prompt, then the tuned lens if there is one."""
    from tslens.analysis import lens as method

    deliver(method.of_prompt(model, prompt, top, precision=precision))
    if fitted:
        deliver(method.of_prompt(model, prompt, top, translators=fitted, precision=precision), "tuned")


def _by_depth(
    deliver: Delivery, engine: str, name: str, model: "LanguageModel", corpus: "Corpus", precision: str, n: int
) -> None:
    """Deliver the logit lens over stories, beside `n` untrained twins if there are any."""
    from tslens.analysis.lens import ByDepth
    from tslens.twins import compare

    (answer,) = scanned(engine, name, model, corpus, [ByDepth()], precision)
    if n:
        deliver(twins := compare(model, corpus, [ByDepth()], n=n), printed=False)
        answer = twins.beside(answer)
    deliver(answer, corpus=corpus)


def _lenses(
    deliver: Delivery,
    model: "LanguageModel",
    corpus: "Corpus",
    fitted: "TranslatorsResult",
    source: str | None,
    precision: str,
    n: int,
) -> None:
    """Deliver both lenses over stories; those of twins are fitted on stories of `source`, or of the model's run."""
    from tslens.analysis import lens as method
    from tslens.tuned import fit_stories
    from tslens.twins import compare

    both = method.lenses(model, corpus, fitted, precision=precision)
    if n:
        again = method.Refitted(fit_stories(model, source, FIT_TWINS, corpus).texts)
        deliver(twins := compare(model, corpus, [again], n=n), printed=False)
        both = twins.beside(both)
    deliver(both, figures=both.figures(), corpus=corpus)


def attribution(
    *,
    model: Model,
    prompt: str | None = None,
    target: str | None = None,
    contrast: str | None = None,
    stories: Stories = None,
    limit: Limit = 200,
    n: Twins = 0,
    out: Path | None = None,
    precision: Precision = "float32",
    json_: Json = False,
) -> None:
    """Show what each head and MLP adds directly to the logit of the next token: over one prompt, or over stories.

    Parameters
    ----------
    prompt
        A text to analyse token by token.
    target
        One token, its space included: ask about its logit at every position of the prompt, not the true next one's.
    contrast
        One token: take its logit off, in place of the mean logit of all tokens.
    out
        A folder for the figures (SVG), the tables (CSV) and the whole answers.
    """
    from tslens.analysis import lens as method
    from tslens.errors import InputError
    from tslens.forward import check_precision
    from tslens.forward.trunk import refuse_compressor
    from tslens.models import load

    check_precision(precision)
    if prompt is None and (target is not None or contrast is not None):
        raise InputError("--target and --contrast ask about a --prompt: give one.")
    if n and prompt is not None and stories is None:
        raise InputError("--twins are measured on stories and not on a --prompt: give --stories, or leave --twins out.")
    with delivery(out, json_) as deliver:
        loaded = load(model)
        refuse_compressor(loaded)
        if prompt is not None:
            deliver(method.attribution(loaded, prompt, target=target, contrast=contrast, precision=precision))
        if stories is not None or prompt is None:
            corpus = corpus_of(loaded, stories, limit)
            found = method.by_component(loaded, corpus, precision=precision)
            deliver(found, figures=found.figures(), corpus=corpus)
            _beside_twins(deliver, loaded, corpus, found, n)


def residuals(
    *,
    model: Model,
    stories: Stories = None,
    limit: Limit = 200,
    n: Twins = 0,
    out: Path | None = None,
    precision: Precision = "float32",
    json_: Json = False,
) -> None:
    """Show how long the residual stream is after each block, and what attention and MLP add to it.

    Parameters
    ----------
    out
        A folder for the figure (SVG), the table (CSV) and the whole answer.
    """
    from tslens.analysis import lens as method
    from tslens.forward import check_precision
    from tslens.models import load

    check_precision(precision)
    with delivery(out, json_) as deliver:
        loaded = load(model)
        corpus = corpus_of(loaded, stories, limit)
        deliver(found := method.residuals(loaded, corpus, precision=precision), corpus=corpus)
        _beside_twins(deliver, loaded, corpus, found, n)


def _beside_twins(
    deliver: Delivery, model: "LanguageModel", corpus: "Corpus", found: "ByComponentResult | ResidualsResult", n: int
) -> None:
    """Deliver what `n` untrained twins measure on the same stories, if there are any; else say that none was asked."""
    from tslens import progress
    from tslens.twins import TWINS, measured

    if not n:
        progress.note(f"twins: not asked; --twins {TWINS} measures them on the same stories.")
    else:
        deliver(measured(model, corpus, found, n=n), "of-twins", corpus=corpus)


def _fitted(model: "LanguageModel", held_out: Iterable[str], fit: Fit) -> "TranslatorsResult":
    from tslens.forward.trunk import refuse_compressor
    from tslens.tuned import tuned_lens

    refuse_compressor(model)
    return tuned_lens(
        model, held_out, source=fit.fit_stories, limit=fit.fit_limit, steps=fit.steps, seed=fit.seed, refit=fit.refit
    )
