"""The command that reads the features of a sparse autoencoder beside neurons and random features."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tslens.cli.delivery import Delivery, delivery
from tslens.cli.options import Json, Limit, Model, Stories, corpus_of
from tslens.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tslens.corpus import Corpus
    from tslens.models import LanguageModel
    from tslens.result import Result

Hook = Annotated[str, Parameter(help="An activation in the residual stream, such as blocks.3.hook_resid_post.")]
FitStories = Annotated[
    str | None,
    Parameter(
        help="Stories to train the autoencoder on, as for --stories; those that are read are left out. Default: the "
        "training stories of the model's run, if they can be read here; `self` is what the model writes."
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

    All three are labelled by the same rules at the same q, and their labels tested on other stories; what the features
    rebuild takes the activation's place, and the loss that is left is compared. What was found is kept beside the
    model, and its page shows it. Needs the extra tslens[sae].

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
    from tslens.report.features import FoundFeatures, keep
    from tslens.twins import compare

    training = method.Training(hook, width, active, steps, seed=seed)  # wrong settings are refused before the work
    if twins < 0:
        raise InputError(f"--twins is {twins}; give 0 or more.")
    with delivery(out, json_) as deliver:
        refuse_compressor(loaded := load(model))
        to_fit = _to_train_on(loaded, fit_stories, fit_limit + limit)
        corpus = corpus_of(loaded, stories, limit)
        asked = method.readers(training, _others(to_fit, corpus, fit_limit))
        table, profiles, tested = method.compared_features(loaded, corpus, asked)
        trained = method.KINDS.index(method.TRAINED)
        recovered = method.recovered(loaded, corpus, asked, twins=twins)
        beside = compare(loaded, corpus, [asked[trained]], n=twins) if twins else None
        keep(loaded, FoundFeatures(table, recovered, method.best(profiles[trained], tested[trained]), beside))
        _delivered(deliver, corpus, (table, recovered, beside), profiles, tested)


def _delivered(
    deliver: Delivery,
    corpus: "Corpus",
    compared: "Sequence[Result | None]",
    profiles: "Sequence[Result]",
    tested: "Sequence[Result]",
) -> None:
    """What compares all kinds first, then the features of each."""
    for answer in filter(None, compared):
        deliver(answer, corpus=corpus)
    for kind, *answers in zip(("neurons", "trained", "random"), profiles, tested, strict=True):
        for answer in answers:
            deliver(answer, kind, corpus=corpus)


def _to_train_on(model: "LanguageModel", source: str | None, limit: int) -> "Corpus":
    """Stories to train on; InputError if the model's own cannot be read and no others are named."""
    from tslens.corpus import model_stories
    from tslens.models import name_of

    try:
        return model_stories(model, source or "train", limit=limit)
    except InputError as error:
        if source is not None:
            raise
        raise InputError(
            f"The stories that {name_of(model)} was trained on cannot be read here, and its autoencoder is trained on "
            "stories too. Name some with --fit-stories (`--fit-stories self` takes what the model writes)."
        ) from error


def _others(found: "Corpus", read: "Corpus", limit: int) -> tuple[str, ...]:
    """At most `limit` stories to train on that are not read; says how many, and of what."""
    from tslens.progress import note

    taken = set(read)
    fit = tuple(text for text in found if text not in taken)[:limit]
    note(f"training the autoencoder on {len(fit):,} other stories: {found.source}")
    return fit
