"""The commands that say what layers do."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tslens.cli.delivery import delivery
from tslens.cli.options import Json, Limit, Model, Precision, Stories, corpus_of

FitStories = Annotated[
    str | None,
    Parameter(
        help="Stories to fit the tuned lens on, as for --stories; those it is shown on are left out. Default: the "
        "training stories of the model's run or, if they cannot be read, what the model writes itself."
    ),
]


def lens(
    *,
    model: Model,
    prompt: str | None = None,
    stories: Stories = None,
    limit: Limit = 200,
    tuned: bool = False,
    fit_stories: FitStories = None,
    fit_limit: int = 1000,
    steps: int = 300,
    seed: int = 0,
    refit: bool = False,
    top: int = 5,
    out: Path | None = None,
    precision: Precision = "float32",
    json_: Json = False,
) -> None:
    """Show what the model would predict after each layer (logit lens): over one prompt, or by depth over stories.

    Parameters
    ----------
    prompt
        A text to analyse token by token.
    tuned
        Show the tuned lens beside the logit lens, over stories also by part of speech. It is fitted the first time,
        which takes minutes, and kept with the run, or in the cache.
    fit_limit
        Largest number of stories to fit the tuned lens on.
    steps
        Steps of gradient descent after the closed form; 0 for the closed form alone.
    seed
        Seed of the order of the batches of these steps.
    refit
        Fit the tuned lens again although it is kept.
    top
        Tokens kept for each position of the prompt.
    out
        A folder for the figures (SVG), the tables (CSV) and the whole answers.
    """
    from tslens.analysis import lens as method
    from tslens.forward import check_precision
    from tslens.forward.trunk import refuse_compressor
    from tslens.models import load
    from tslens.tuned import tuned_lens

    check_precision(precision)
    with delivery(out, json_) as deliver:
        loaded = load(model)
        corpus = None
        if stories is not None or prompt is None:
            refuse_compressor(loaded)
            corpus = corpus_of(loaded, stories, limit)
        fitted = None
        if tuned:
            refuse_compressor(loaded)
            how = {"source": fit_stories, "limit": fit_limit, "steps": steps, "seed": seed, "refit": refit}
            fitted = tuned_lens(loaded, corpus or (), **how)
            deliver(fitted)
        if prompt is not None:
            deliver(method.of_prompt(loaded, prompt, top, precision=precision))
            if fitted is not None:
                tuned_view = method.of_prompt(loaded, prompt, top, translators=fitted, precision=precision)
                deliver(tuned_view, "tuned")
        if corpus is None:
            return
        if fitted is None:
            deliver(method.by_depth(loaded, corpus, precision=precision), corpus=corpus)
        else:
            both = method.lenses(loaded, corpus, fitted, precision=precision)
            deliver(both, figures=both.figures(), corpus=corpus)
