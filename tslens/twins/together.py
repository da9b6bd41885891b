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
from tslens.twins.reading import ask

if TYPE_CHECKING:
    from tslens.models import LanguageModel


def read_ahead(
    model: "LanguageModel",
    stories: Iterable[str],
    *,
    counted: Sequence[Sequence[Reducer[Any, Any]]] = (),
    scored: Sequence[heads.Kinds | heads.Writes] = (),
    n: int = TWINS,
    limit: int = STORIES,
) -> None:
    """Read `n` twins of a model once for each `compare` of `counted` and each `control` of `scored`, which then find
    their answers kept. What is kept is not read again; where nothing can be kept, nothing is read.

    Raises:
        InputError: a model that has no twins.
    """
    texts = read_texts(stories, limit)
    if n < 1 or not texts or not store.is_writable(model):
        return
    enough = counted if len(texts) >= FEWEST else ()
    questions = counting.questions(model, texts, stories, enough)
    questions += [scoring.question(model, texts, stories, reducer) for reducer in scored]
    ask(model, texts, questions, twins(n))
    ask(model, texts, questions[len(enough) :], scoring.turned())
