"""How many labels of untrained twins hold by FADE's measures: how often generator truth and steering say so of any
network."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tslens.analysis import neurons
from tslens.analysis.neurons.fade import evidence, judged
from tslens.halves import halves
from tslens.twins.checked import checked
from tslens.twins.counting import STORIES, TWINS, Counts, read_texts, units
from tslens.twins.result import TwinsResult

if TYPE_CHECKING:
    from tslens.models import LanguageModel

PROMPTS = 16
"""Stories in which neurons are steered, of the model and of twins: half of those for the model alone."""
VERSION = "FADE, 7"
"""Part of the key of kept counts: raise it when a rule changes."""


def faded(model: "LanguageModel", stories: Iterable[str], *, n: int = TWINS, limit: int = STORIES) -> TwinsResult:
    """Count the neurons whose label holds by each measure of `neurons.fade`, of a model and of `n` untrained twins.

    Model and twins are labelled, tested and steered on the same first `limit` stories. The interval is that of the
    measures for the labels that the model has: halves of the stories measure the same labels. The counts are kept as
    those of labels are.

    Raises:
        InputError: fewer stories than give an interval, no twin, or a model that has no twins.
    """
    texts = read_texts(stories, limit)

    def own() -> tuple[Counts, list[Counts]]:
        found = evidence(model, texts, neurons.held_out(model, texts), prompts=PROMPTS)
        return judged(found).counts(), [judged(found, half).counts() for half in halves()]

    def of_twin(twin: "LanguageModel") -> Counts:
        return neurons.fade(twin, texts, neurons.held_out(twin, texts), prompts=PROMPTS).counts()

    of = units(model, "neurons")
    return checked(model, texts, stories, VERSION, own, of_twin, n=n, rows=len(texts), what="steering neurons", of=of)
