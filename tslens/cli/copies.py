"""The command that looks for copies in what a model writes."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, validators

from tslens import progress
from tslens.cli.delivery import Delivery, delivery
from tslens.cli.options import Json, Limit, Models, ModelTwins, Precision, Stories, bounded, corpus_of, load_models
from tslens.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tslens.evaluation.copies import CopiesResult, Corpora, Cut
    from tslens.models import LanguageModel
    from tslens.stories.packed import Packed
    from tslens.tokenizer import Tokenizer


Texts = Annotated[
    Path | None,
    Parameter(
        help="Completions to read instead of writing them: JSONL or CSV with `prompt`, `completion` and, if known, "
        "`ending`."
    ),
]
Train = Annotated[
    str | None,
    Parameter(help="The training stories: a source as for --stories. Default: those that the model's run packed."),
]
Cuts = Annotated[
    list[float] | None,
    Parameter(
        name="--cut",
        negative=(),
        help="Share of a story's words in the prompt; may be repeated. Default: 0.4 and 0.5.",
    ),
]
Span = Annotated[
    int,
    Parameter(
        validator=(validators.Number(gte=2), bounded),
        help="Words and marks of a copied span from which on a text is a copy: 2 or more.",
    ),
]
Temperature = Annotated[float, Parameter(help="Temperature of the writing.")]
Seed = Annotated[int, Parameter(help="Seed of the writing.")]
Tokens = Annotated[int, Parameter(help="Largest number of tokens that are written after a prompt.")]


def copies(
    *,
    model: Models = None,
    stories: Stories = None,
    texts: Texts = None,
    train: Train = None,
    cut: Cuts = None,
    limit: Limit = 100,
    tokens: Tokens = 256,
    temperature: Temperature = 1.0,
    seed: Seed = 0,
    span: Span = 25,
    twins: ModelTwins = 2,
    out: Path | None = None,
    precision: Precision = "float32",
    json_: Json = False,
) -> None:
    """Measure how much of what models write is copied from their training stories, and how much repeats.

    Give --model several times for an answer about each.

    Parameters
    ----------
    out
        A folder for the figures (SVG), the pages of copies (HTML), the tables of all texts (CSV) and the whole answers.
    """
    from tslens.evaluation import copies as measure
    from tslens.evaluation.copies.cutting import SHARES

    shares = tuple(cut or SHARES)
    given = None if texts is None else measure.read_written(texts)
    loaded = load_models(model)
    if given is not None and len(loaded) > 1:
        raise InputError("one model is said to have written --texts; give --model once.")
    trained = {name: _training(name, one, train) for name, one in loaded.items()}
    how = {"tokens": tokens, "temperature": temperature, "seed": seed, "precision": precision}
    with delivery(out, json_) as deliver:
        for number, (name, one) in enumerate(loaded.items(), 1):
            if given is None:
                found = _written(one, stories, limit, shares, how, twins)
            else:
                said = f"{len(given[1]):,} completions of {texts}."
                found = _Endings(*given, measure.cut_stories(_held_out(one, stories, limit), shares), said)
            known = _known(*trained[name])
            answer = measure.copies(
                found.cuts, found.written, known, held_out=found.held_out, span=span, model=name, **found.beside
            )
            which = "" if len(loaded) == 1 else str(number)
            _deliver(deliver, replace(answer, corpus=found.described), None if given else one, which)


@dataclass(frozen=True)
class _Endings:
    """What was written after the beginnings of stories, and what it is measured beside."""

    cuts: "list[Cut]"
    written: list[str]
    held_out: "list[Cut]"
    """Stories whose true endings are the baseline."""
    described: str
    """Which stories these are, and how they were written, in words."""
    beside: dict[str, Any] = field(default_factory=dict)
    """What untrained twins wrote, and what all make of the true endings, as `copies` takes them."""


def _known(source: str, training: "Iterable[str]") -> "Corpora":
    """The index of the training stories, from the cache or built."""
    from tslens.evaluation.copies import corpora
    from tslens.files import cache

    return corpora(training, cache() / "ngrams", source=source)


def _deliver(deliver: Delivery, answer: "CopiesResult", by: "LanguageModel | None", which: str) -> None:
    """Deliver the answer and its page of copies; it is kept for the model that wrote the texts, where that is known."""
    from tslens.evaluation.copies import view
    from tslens.report.answers import keep_copies

    if by is not None:
        keep_copies(by, answer)
    deliver(answer, which)
    if deliver.folder is not None:
        name = "-".join(filter(None, ["copies", which]))
        (deliver.folder / f"{name}.html").write_text(view.page(answer), encoding="utf-8")


def _written(
    model: "LanguageModel",
    source: str | None,
    limit: int,
    shares: tuple[float, ...],
    how: dict[str, Any],
    twins: int,
) -> _Endings:
    """What the model and its untrained twins write after the beginnings of stories. Stories that it was trained on are
    no baseline: their true endings are copies."""
    from tslens.evaluation.copies import cut_stories, write_endings
    from tslens.evaluation.copies.cutting import that_fit

    read = corpus_of(model, source, limit, self_written=False)
    cuts = that_fit(model, cut_stories(read, shares))
    sampling = f"at temperature {how['temperature']:g}, seed {how['seed']}, of at most {how['tokens']} tokens"
    described = f"{read.description} {len(cuts):,} endings, written {sampling}."
    written, seen = write_endings(model, cuts, **how), source == "train" or bool(read.trained_on)
    held_out = cut_stories(_held_out(model, None, limit), shares) if seen else cuts
    return _Endings(cuts, written, held_out, described, _beside(model, twins, cuts, how))


def _beside(model: "LanguageModel", n: int, cuts: "list[Cut]", how: dict[str, Any]) -> dict[str, Any]:
    """What untrained twins of the model write after the same prompts, by their names, and what the model and they make
    of the true endings."""
    from tslens.evaluation.copies import endings_under, write_endings
    from tslens.evaluation.untrained import untrained
    from tslens.models import name_of

    name = name_of(model)
    made = {twin.removesuffix(f" of {name}"): each for twin, each in untrained({name: model}, n).items()}
    return {
        "twins": {twin: write_endings(each, cuts, **how) for twin, each in made.items()},
        "endings_under": [endings_under(each, cuts, how["precision"]) for each in (model, *made.values())],
    }


def _held_out(model: "LanguageModel", source: str | None, limit: int) -> "Iterable[str]":
    """The stories whose true endings are the baseline; none where none was named and the model keeps none."""
    from tslens.corpus import model_stories

    try:
        return model_stories(model, source, limit=limit, self_written=False)
    except InputError:
        if source is not None:
            raise
        progress.note("no baseline: the model keeps no validation stories; name some with --stories")
        return ()


def _training(name: str, model: "LanguageModel", source: str | None) -> "tuple[str, Iterable[str]]":
    """The model's training stories and their name: those of a named source, else those that its run packed."""
    from tslens import models
    from tslens.errors import MissingInputError
    from tslens.stories import stories
    from tslens.stories.packed import Packed

    if source is not None:
        named = stories(source)
        return named.name, named
    home, tokenizer = models.home_of(model), models.story_tokenizer_of(model)
    try:
        packed = Packed.open((home or Path(name)) / "data", tokenizer)
    except MissingInputError:
        raise InputError(f"{name} kept no training stories. Name their source with --train.") from None
    return packed.record.source, _Decoded(packed, tokenizer)


@dataclass(frozen=True)
class _Decoded:
    """Packed stories as text."""

    packed: "Packed"
    tokenizer: "Tokenizer"

    def __iter__(self) -> "Iterator[str]":
        return (self.tokenizer.decode(self.packed.story(i).tolist()) for i in range(self.packed.n_stories))
