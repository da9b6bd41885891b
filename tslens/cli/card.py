"""The command that prints the score card: of texts, or of models and what they write."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tslens import progress
from tslens.cli.delivery import Delivery, delivery
from tslens.cli.options import Json, Models, ModelTwins, Precision, load_models
from tslens.cli.pairs import n_grams_of
from tslens.cli.usual import NO_REFERENCE, usual_of_models, usual_of_texts
from tslens.errors import InputError

if TYPE_CHECKING:
    from tslens.evaluation.card import CardResult, Reference, TextsCardResult
    from tslens.models import LanguageModel

MADE = 2_000  # reference stories of the generator

Texts = Annotated[
    list[str] | None,
    Parameter(negative=(), help="Stories to score instead of models: a file, a dataset or `made`; may be repeated."),
]
Usual = Annotated[
    str | None,
    Parameter(
        help="Stories that say what is usual, of the kind that is scored: by default the stories that the models were "
        "trained on; without them only minimal pairs are scored. --texts needs it, or --model: a run whose own stories "
        "say what is usual."
    ),
]
NGram = Annotated[
    str | None,
    Parameter(
        name="--n-gram",
        help="Stories of the word 5-gram that stands beside the models, or `none` for no 5-gram. Default: as for "
        "`tslens eval pairs`; counts are kept in tslens's cache.",
    ),
]
HeldOut = Annotated[
    str | None,
    Parameter(
        name="--stories",
        help="Held-out stories (a file, a dataset or `made`, each also as SOURCE@validation) of which every model's "
        "bits per byte are measured. Default: the records of the runs, which models of others do not have.",
    ),
]
HELD_OUT = 200
"""Held-out stories of which bits per byte are measured."""


@dataclass(frozen=True)
class CardOptions:
    """What a card of models has besides what they write."""

    pairs: int
    """Minimal pairs of each phenomenon."""
    n_gram: str | None
    stories: str | None
    precision: str

    def card(
        self,
        loaded: "dict[str, LanguageModel]",
        twins: "dict[str, LanguageModel]",
        written: "Mapping[str, TextsCardResult]",
    ) -> "CardResult":
        """The card of the models, of their untrained twins and of the word 5-gram beside them."""
        from tslens.corpus import Corpus
        from tslens.evaluation.card import card
        from tslens.evaluation.loss import LossResult, loss
        from tslens.evaluation.pairs import own_pairs, score
        from tslens.stories import stories

        both = loaded | twins
        n_grams = n_grams_of(loaded, self.n_gram)
        preferred = score(both, own_pairs(self.pairs), n_grams=n_grams, precision=self.precision)
        losses: dict[str, LossResult] = {}
        if self.stories is not None:
            named = stories(self.stories, limit=HELD_OUT)
            read = Corpus(tuple(named), named.name)
            losses = {name: loss(model, read, precision=self.precision) for name, model in both.items()}
        return card(both, preferred, written, twins=twins, losses=losses)


def card(
    *,
    model: Models = None,
    texts: Texts = None,
    reference: Usual = None,
    reference_limit: int = MADE,
    limit: int = 100,
    n: Annotated[int, Parameter(name="--pairs", help="Minimal pairs of each phenomenon.")] = 500,
    controls: Annotated[bool, Parameter(negative=())] = False,
    twins: ModelTwins = 2,
    n_gram: NGram = None,
    stories: HeldOut = None,
    out: Path | None = None,
    precision: Precision = "float32",
    json_: Json = False,
) -> None:
    """Print the score card without a grader: grammar, consistency, plot and creativity, of models or of bare texts.

    A model's axes come from minimal pairs and from texts that it writes. It costs nothing and gives the same each time.

    Parameters
    ----------
    reference_limit
        Largest number of reference stories.
    limit
        Texts to score: of each source, or written by each model; 0 for a model's minimal pairs alone.
    controls
        Damage the texts too, and show what each damage costs each axis.
    out
        A folder for the figures (SVG), the tables (CSV) and the whole answers.
    """
    from tslens.evaluation.untrained import untrained

    _check(model, texts, reference, controls)
    loaded = _models(model) if model else {}
    with delivery(out, json_) as deliver:
        if not texts:
            beside = untrained(loaded, twins)
            usual = usual_of_models(reference, loaded, reference_limit) if limit else None
            return deliver_card(deliver, loaded, beside, usual, limit, CardOptions(n, n_gram, stories, precision))
        usual = usual_of_texts(reference, loaded, reference_limit)
        return _of_texts(deliver, texts, usual, limit, controls)


def _of_texts(deliver: Delivery, texts: Sequence[str], usual: "Reference", limit: int, controls: bool) -> None:
    """Deliver the card of each source of texts, and what damage costs them if `controls`."""
    from tslens.evaluation.card import controls as damage
    from tslens.evaluation.card import score_texts
    from tslens.stories import stories

    for number, source in enumerate(texts):
        read, which = list(stories(source, limit=limit or None)), str(number) if number else ""
        how = f"{len(read):,} texts of {source}, beside {usual.stories:,} reference stories: {usual.name}."
        deliver(replace(score_texts(read, usual, source), corpus=how), which)
        if controls:
            deliver(damage(read, usual), which)


def _check(model: list[str] | None, texts: list[str] | None, reference: str | None, controls: bool) -> None:
    """InputError for options that do not go together."""
    if not model and not texts:
        raise InputError("give --model, the models to score, or --texts, the stories to score.")
    if controls and not texts:
        raise InputError("--controls damages texts; give it with --texts.")
    if texts and model and reference is not None:
        raise InputError("--texts are scored beside the stories of --model or beside --reference; give one of these.")
    if texts and not model and reference is None:
        raise InputError(f"{NO_REFERENCE}, or --model, a run whose own stories say it.")


def deliver_card(
    deliver: Delivery,
    loaded: "dict[str, LanguageModel]",
    beside: "dict[str, LanguageModel]",
    usual: "Reference | None",
    limit: int,
    how: CardOptions,
    *,
    is_short: bool = False,
) -> None:
    """Deliver the card of the models and of the untrained twins beside them, and keep it for the models' pages: one of
    few minimal pairs `is_short`."""
    from tslens.report.answers import keep_card

    written: dict[str, TextsCardResult] = {}
    if usual is not None:
        for name, model in (loaded | beside).items():
            if (texts := _written(name, model, usual, limit, name in beside)) is not None:
                written[name] = texts
    found = how.card(loaded, beside, written)
    for model in loaded.values():
        keep_card(model, found, is_short=is_short)
    kinds = ["pairs", "texts"] if written else ["pairs"]
    deliver(found, "card" if is_short else "", figures=[(kind, found.drawn(kind)) for kind in kinds])


def _written(
    name: str, model: "LanguageModel", usual: "Reference", limit: int, is_twin: bool
) -> "TextsCardResult | None":
    """The scores of what a model writes; None, and a line, for an untrained twin that writes nothing."""
    from tslens.corpus import SELF, model_stories
    from tslens.evaluation.card import score_texts

    try:
        read = model_stories(model, SELF, limit=limit, tokens=None)  # a story that a limit cuts off has no end
    except InputError as error:
        if not is_twin:
            raise
        progress.note(f"{name} has no score by texts: {str(error).partition('.')[0]}")
        return None
    found = score_texts(list(read), usual, name)
    if found.remark and not is_twin:
        print(found.remark, file=sys.stderr)
    how = f"temperature 1, seeds from 0 on, up to the context, beside {usual.stories:,} reference stories"
    return replace(found, corpus=how)


def _models(names: Sequence[str]) -> "dict[str, LanguageModel]":
    """The models by their names; `RUN@*` is every point of a run at which its weights are known."""
    if not any(name.endswith("@*") for name in names):
        return load_models(names)
    from tslens.dynamics.points import folder_of, points

    found: dict[str, LanguageModel] = {}
    for name in names:
        if name.endswith("@*"):
            run = name.removesuffix("@*")
            found |= {f"{run}@{point.step}": point.load() for point in points(folder_of(run))}
        else:
            found |= load_models([name])
    return found
