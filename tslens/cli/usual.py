"""Stories that say what is usual on the score card: those that are named, else the models' own."""

import sys
from typing import TYPE_CHECKING

from tslens.errors import InputError

if TYPE_CHECKING:
    from tslens.corpus import Corpus
    from tslens.evaluation.card import Reference
    from tslens.models import LanguageModel

NO_REFERENCE = "give --reference: stories of the kind that --texts are, which say what is usual"


def usual_of_models(source: str | None, loaded: "dict[str, LanguageModel]", limit: int) -> "Reference | None":
    """What is usual in the reference stories, or in those that all models were trained on; None, and a line, where
    there are none."""
    from tslens.evaluation.card import reference
    from tslens.stories import stories

    if source is not None:
        return reference(stories(source, limit=limit), source)
    try:
        own = _own_stories(loaded, "train", limit)
    except InputError as error:
        reason = str(error).partition(" Name the stories")[0]
        print(
            f"{reason} So what they write is not scored; --reference names what it is compared with.", file=sys.stderr
        )
        return None
    return reference(own.texts, own.source)


def usual_of_texts(source: str | None, loaded: "dict[str, LanguageModel]", limit: int) -> "Reference":
    """What is usual in the reference stories, or in those that the models were trained on; where these cannot be read,
    in the validation stories that their run kept. InputError where there are none."""
    from tslens.evaluation.card import reference
    from tslens.stories import stories

    if source is not None:
        return reference(stories(source, limit=limit), source)
    reasons = []
    for kind in ("train", "validation"):
        try:
            own = _own_stories(loaded, kind, limit)
        except InputError as error:
            reasons.append(str(error).partition(" Name the stories")[0])
        else:
            return reference(own.texts, own.source)
    raise InputError(f"{' '.join(reasons)} So {NO_REFERENCE}.")


def _own_stories(loaded: "dict[str, LanguageModel]", kind: str, limit: int) -> "Corpus":
    """The stories of this kind of all models. InputError where they have none, or not the same."""
    from tslens.corpus import model_stories

    (first, *others) = [model_stories(model, kind, limit=limit) for model in loaded.values()]
    if any(other.texts != first.texts for other in others):
        raise InputError("The models were trained on different stories.")
    return first
