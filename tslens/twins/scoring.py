"""What the heads of untrained twins score for each kind: the threshold of the model's own heads."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tslens.analysis import heads
from tslens.errors import InputError
from tslens.models.twins import TURNED, Twin, twins
from tslens.twins import kept as store
from tslens.twins.counting import STORIES, TWINS, read_texts
from tslens.twins.reading import Question, ask

if TYPE_CHECKING:
    from tslens.models import LanguageModel

VERSION = "scores of kinds, 7"
"""Part of the key of kept scores: raise it when the rule of a score changes."""
PERCENTILE = 99
TURNS = 5  # copies of the model with turned heads
NOTHING = -1.0
"""Stands for the score of a kind without queries, and for the lower end of one that is not above its nulls."""


def control(
    model: "LanguageModel",
    stories: Iterable[str],
    reducer: heads.Kinds | heads.Writes,
    *,
    n: int = TWINS,
    limit: int = STORIES,
    turns: int = TURNS,
    without: Twin | None = None,
) -> heads.Control:
    """For each kind the 99th percentile of its score over all heads of `n` untrained twins together, at least 0; for
    each twin how many of its heads have a kind, by the thresholds of the other twins; and by the same thresholds those
    of `turns` copies of the model whose heads are turned at random (`Twin`): what heads without training have of a kind
    where all else is trained. `without` one of the twins, the thresholds are those of the others.

    They are read on the first `limit` stories, each text once, and on the reducer's own. The scores are kept as the
    counts of twins are.

    Raises:
        InputError: no twin, no story, or a model that has no twins.
    """
    texts = read_texts(stories, limit)
    if n < 1 or not texts:
        raise InputError(
            f"{n} twins on {len(texts)} stories are no control; give both 1 or more, {TWINS} twins as for counts."
        )
    asked, chosen = question(model, texts, stories, reducer), [twin for twin in twins(n) if twin != without]
    if not chosen:
        return heads.Control()
    ask(model, texts, [asked], [*chosen, *turned(turns)])
    score, sure = (np.asarray([asked.kept[str(twin)][part] for twin in chosen]) for part in ("score", "sure"))
    thresholds, least = _thresholds(score), _least(reducer)
    of_turned = [_having(np.asarray(asked.kept[str(twin)]["sure"]), thresholds, least) for twin in turned(turns)]
    return heads.Control(tuple(map(float, thresholds)), tuple(_named(score, sure, least)), tuple(of_turned))


def turned(n: int = TURNS) -> list[Twin]:
    """`n` copies of a model whose heads' keys and values are rotated at random."""
    return [Twin(TURNED, seed) for seed in range(n)]


def _least(reducer: heads.Kinds | heads.Writes) -> float:
    return heads.KindsResult.least if isinstance(reducer, heads.Kinds) else heads.WritesResult.least


def question(
    model: "LanguageModel", texts: Sequence[str], stories: object, reducer: heads.Kinds | heads.Writes
) -> Question:
    """What is asked of the twins: the score of each of their heads for each kind."""
    kept, place = store.read(model, store.key(VERSION, model, texts, stories, [reducer]), _is_whole)
    if reducer.known is None:
        reducer = replace(reducer, known={})  # type: ignore[arg-type]  # a field of either
    return Question([reducer], _scores, kept, place, own=reducer.texts)


def _scores(answers: Sequence[heads.KindsResult | heads.WritesResult]) -> dict[str, list[list[float]]]:
    (found,) = answers
    both = {"score": found.score, "sure": found.sure}
    return {part: of_heads.flatten(1).nan_to_num(NOTHING).tolist() for part, of_heads in both.items()}


def _thresholds(score: NDArray[np.float64]) -> NDArray[np.float64]:
    """The threshold of every kind, from scores by twin, kind and head."""
    pooled: NDArray[np.float64] = np.percentile(np.concatenate(list(score), axis=1), PERCENTILE, axis=1)
    return pooled.clip(min=0)


def _named(score: NDArray[np.float64], sure: NDArray[np.float64], least: float) -> list[int]:
    """For each twin how many heads have a kind, by the thresholds of the others; of a single one nothing is said."""
    found = []
    for i in range(len(score) if len(score) > 1 else 0):
        found.append(_having(sure[i], _thresholds(np.delete(score, i, axis=0)), least))
    return found


def _having(sure: NDArray[np.float64], thresholds: NDArray[np.float64], least: float) -> int:
    """How many heads have a kind."""
    return int((sure > thresholds.clip(min=least)[:, None]).any(0).sum())


def _is_whole(found: Any) -> bool:
    """Whether a file holds both numbers by twin, kind and head, as many for each twin."""
    try:
        both = [(scores["score"], scores["sure"]) for scores in found.values()]
        shapes = {np.asarray(part, dtype=float).shape for parts in both for part in parts}
    except (AttributeError, KeyError, TypeError, ValueError):
        return False
    return len(shapes) == 1 and len(shapes.pop()) == 2
