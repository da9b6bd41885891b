"""The command that reads the features of a sparse autoencoder beside neurons and random features."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tslens.cli.delivery import delivery
from tslens.cli.options import Json, Limit, Model, Stories, corpus_of
from tslens.errors import InputError

if TYPE_CHECKING:
    from tslens.corpus import Corpus
    from tslens.models import LanguageModel

Hook = Annotated[str, Parameter(help="An activation in the residual stream, such as blocks.3.hook_resid_post.")]
FitStories = Annotated[
    str | None,
    Parameter(
        help="Stories to train the autoencoder on, as for --stories; those that are read are left out. Default: the "
        "training stories of the model's run or, if they cannot be read, what the model writes itself."
    ),
]
FitLimit = Annotated[int, Parameter(help="Largest number of stories to train the autoencoder on.")]
Width = Annotated[int, Parameter(help="Features of the autoencoder.")]
Active = Annotated[int, Parameter(help="Features that are active on a token.")]
Steps = Annotated[int, Parameter(help="Steps of its training, of 1,024 tokens each.")]
Seed = Annotated[int, Parameter(help="Seed of its initial weights and of the order of the tokens.")]


def features(
    *,
    model: Model,
    hook: Hook,
    stories: Stories = None,
    limit: Limit = 200,
    fit_stories: FitStories = None,
    fit_limit: FitLimit = 1000,
    width: Width = 1024,
    active: Active = 16,
    steps: Steps = 1000,
    seed: Seed = 0,
    twins: int = 0,
    out: Path | None = None,
    json_: Json = False,
) -> None:
    """Train a sparse autoencoder by SAELens, and read its features beside neurons and a frozen random one's.

    All three are labelled by the same rules at the same q, and their labels tested on other stories. Needs the extra
    tslens[sae].

    Parameters
    ----------
    twins
        Untrained twins of the model, each with an autoencoder of its own, whose features are counted too.
    out
        A folder for the figures (SVG), the tables (CSV) and the whole answers.
    """
    from tslens import sae as method
    from tslens.forward.trunk import refuse_compressor
    from tslens.models import load
    from tslens.twins import compare

    training = method.Training(hook, width, active, steps, seed=seed)  # wrong settings are refused before the work
    if twins < 0:
        raise InputError(f"--twins is {twins}; give 0 or more.")
    with delivery(out, json_) as deliver:
        refuse_compressor(loaded := load(model))
        corpus = corpus_of(loaded, stories, limit)
        fit = _to_train_on(loaded, fit_stories, fit_limit, corpus)
        table, profiles, tested = method.compared_features(loaded, corpus, training, train_on=fit)
        deliver(table, corpus=corpus)
        for kind, profile, test in zip(("neurons", "trained", "random"), profiles, tested, strict=True):
            deliver(profile, kind, corpus=corpus)
            deliver(test, kind, corpus=corpus)
        if twins:
            deliver(compare(loaded, corpus, [method.Features(training, fit)], n=twins), corpus=corpus)


def _to_train_on(model: "LanguageModel", source: str | None, limit: int, read: "Corpus") -> tuple[str, ...]:
    """Stories to train on that are not read; says how many, and of what."""
    from tslens.corpus import SELF, model_stories
    from tslens.progress import note

    most = limit + len(read)
    try:
        found = model_stories(model, source or "train", limit=most)
    except InputError:
        if source is not None:
            raise
        found = model_stories(model, SELF, limit=most)
    taken = set(read)
    fit = tuple(text for text in found if text not in taken)[:limit]
    note(f"training the autoencoder on {len(fit):,} other stories: {found.source}")
    return fit
