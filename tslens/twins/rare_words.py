"""How many neurons of untrained twins fire on one word that is too rare among the random tokens to label them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tslens.analysis import neurons
from tslens.halves import GROUPS, halves, on_halves
from tslens.scan import scan
from tslens.stories.identity import content_hash
from tslens.twins.checked import checked
from tslens.twins.counting import STORIES, TWINS, Counts, read_texts, units
from tslens.twins.result import TwinsResult

if TYPE_CHECKING:
    from tslens.models import LanguageModel

OF_RARE_WORDS = "neurons of a rare word"
VERSION = "rare words, 1"
"""Part of the key of kept counts: raise it when a rule changes."""


def of_rare_words(
    model: "LanguageModel",
    stories: Iterable[str],
    reducer: neurons.Profiles | None = None,
    *,
    n: int = TWINS,
    limit: int = STORIES,
) -> TwinsResult:
    """Count the neurons that `neurons.rare_words` names, of a model and of `n` untrained twins.

    Model and twins are read on the same first `limit` stories, the model on halves of them too, which give the
    interval. The counts are kept as those of labels are. `reducer` draws the top and the random
    tokens, by default as `analyze neurons` does.

    Raises:
        InputError: fewer stories than give an interval, no twin, or a model that has no twins.
    """
    texts, reducer = read_texts(stories, limit), reducer or neurons.Profiles()
    ordered = sorted(texts, key=content_hash)  # as `on_halves` groups them

    def own() -> tuple[Counts, list[Counts]]:
        members = [range(GROUPS), *halves()]
        found = on_halves(model, texts, [reducer])
        whole, *parts = (
            _counted(model, [text for group in groups for text in ordered[group::GROUPS]], profiles)
            for groups, (profiles,) in zip(members, found, strict=True)
        )
        return whole, parts

    def of_twin(twin: "LanguageModel") -> Counts:
        return _counted(twin, texts, scan(twin, texts, [reducer])[0])

    of, what = units(model, "neurons"), "finding neurons of rare words"
    return checked(
        model,
        texts,
        stories,
        f"{VERSION}, {reducer}",
        own,
        of_twin,
        n=n,
        rows=len(texts),
        what=what,
        of=of,
        read_once=True,
    )


def _counted(model: "LanguageModel", texts: list[str], profiles: neurons.ProfilesResult) -> Counts:
    return {OF_RARE_WORDS: len(neurons.rare_words(model, texts, profiles).rare_words or ())}
