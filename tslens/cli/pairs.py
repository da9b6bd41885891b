"""The command that scores models on minimal pairs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tslens.cli.delivery import delivery
from tslens.cli.options import Json, Models, Precision, load_models
from tslens.errors import InputError

if TYPE_CHECKING:
    from tslens.evaluation.pairs import NGram
    from tslens.models import LanguageModel

NONE = "none"
GENERATOR = 2_000  # made stories that an n-gram model counts where no others can be read


File = Annotated[
    Path | None,
    Parameter(
        name="--pairs",
        help="Your own pairs: JSON lines with `sentence_good` and `sentence_bad` (and `UID`, the paradigm), or text, a "
        "good line and then a bad one. Default: our own, made from the generator's words.",
    ),
]


def pairs(
    *,
    model: Models = None,
    file: File = None,
    limit: int | None = None,
    fewest: int = 1,
    known_by: str | None = None,
    at_least: int = 5,
    n_gram: str | None = None,
    seed: int = 0,
    out: Path | None = None,
    precision: Precision = "float32",
    json_: Json = False,
) -> None:
    """Measure how often models find the good text of a minimal pair more probable than the bad one, by phenomenon.

    Give --model several times to compare models. A word 5-gram of their training stories stands beside them.

    Parameters
    ----------
    limit
        Largest number of pairs of each paradigm. Default: 500 of ours, all of a file.
    fewest
        Leave out paradigms of a file that have fewer pairs.
    known_by
        Stories (a file, a dataset or `made`) that must have every word of a pair; other pairs are dropped and counted.
    at_least
        How often --known-by's stories must have it.
    n_gram
        Stories of the word 5-gram, or `none`. Default: each model's training stories, else its validation or made ones.
    seed
        Seed of our own pairs.
    out
        A folder for the figure (SVG), the table of all pairs (CSV) and the whole answer.
    """
    from tslens.evaluation.pairs import known, own_pairs, read_pairs, score
    from tslens.report.answers import keep_pairs
    from tslens.stories import stories

    if limit is not None and limit < 2:
        raise InputError(f"--limit is {limit}; an interval needs 2 pairs or more.")
    loaded = load_models(model)
    chosen = own_pairs(limit or 500, seed=seed) if file is None else read_pairs(file, limit=limit, least=fewest)
    if known_by is not None:
        chosen = known(chosen, stories(known_by), at_least)
    with delivery(out, json_) as deliver:
        found = score(loaded, chosen, n_grams=n_grams_of(loaded, n_gram), precision=precision)
        for one in loaded.values():
            keep_pairs(one, found, is_own=file is None)
        deliver(found, chosen.name)


def n_grams_of(models: "Mapping[str, LanguageModel]", source: str | None) -> "dict[str, NGram]":
    """A word 5-gram for each set of training stories, from their n-gram index in the cache; its name says which models
    it is other data for."""
    if source == NONE:
        return {}
    from tslens.evaluation.pairs import five_gram_of
    from tslens.files import cache
    from tslens.models import home_of
    from tslens.ngrams import kept_five_gram

    texts: dict[str, Sequence[str]] = {}
    trained: dict[str, set[str]] = {}
    counted: dict[object, tuple[str, Sequence[str], bool]] = {}  # snapshots of a run share its stories
    for name, model in models.items():
        key = source or home_of(model) or name
        if key not in counted:
            counted[key] = _counted(model, source)
        place, read, own = counted[key]
        texts.setdefault(place, read)
        trained.setdefault(place, set()).update([name] if own else [])
    return {
        five_gram_of(place, read, models, trained[place]): kept_five_gram(read, cache() / "ngrams", source=place)
        for place, read in texts.items()
    }


def _counted(model: "LanguageModel", source: str | None) -> tuple[str, Sequence[str], bool]:
    """The stories of the 5-gram beside a model: their name, their texts, and whether they are its training stories."""
    from tslens.corpus import model_stories
    from tslens.stories import stories

    if source is not None:
        return source, tuple(stories(source)), False
    for wanted in ("train", "validation"):
        try:
            read = model_stories(model, wanted, limit=None)
        except InputError:
            continue
        return read.source, read.texts, wanted == "train"
    return f"{GENERATOR:,} made stories", tuple(stories("made", limit=GENERATOR)), False
