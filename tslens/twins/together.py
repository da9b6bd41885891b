"""Several comparisons with untrained twins at the cost of one: every twin is built and read once for all of them."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tslens.analysis import heads
from tslens.halves import FEWEST
from tslens.models.twins import twins
from tslens.scan import Reducer
from tslens.twins import counting, scoring
from tslens.twins import kept as store
from tslens.twins.counting import STORIES, TWINS, read_texts
from tslens.twins.measured import Measure, question
from tslens.twins.reading import ask

if TYPE_CHECKING:
    from tslens.models import LanguageModel


def read_ahead(
    model: "LanguageModel",
    stories: Iterable[str],
    *,
    counted: Sequence[Sequence[Reducer[Any, Any]]] = (),
    scored: Sequence[heads.Kinds | heads.Writes] = (),
    measures: Sequence[Measure] = (),
    n: int = TWINS,
    limit: int = STORIES,
) -> None:
    """Read `n` twins of a model once for each `compare` of `counted`, each `control` of `scored` and each `measured` of
    `measures`, which then find their answers kept. What is kept is not read again; where nothing can be kept, nothing
    is read.

    Raises:
        InputError: a model that has no twins.
    """
    texts = read_texts(stories, limit)
    if n < 1 or not texts or not store.is_writable(model):
        return
    own = counting.questions(model, texts, stories, counted if len(texts) >= FEWEST else ())
    own += [question(model, texts, stories, measure) for measure in measures]
    of_heads = [scoring.question(model, texts, stories, reducer) for reducer in scored]
    ask(model, texts, [*own, *of_heads], twins(n))
    ask(model, texts, of_heads, scoring.turned())
