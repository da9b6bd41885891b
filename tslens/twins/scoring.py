"""What the heads of untrained twins and turned heads score for each kind: the threshold of the model's own heads."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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

VERSION = "scores of kinds, 9"
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
    """For each kind the 99th percentile of its score over all heads of `n` untrained twins together, or over those of
    `turns` copies of the model whose heads are turned at random (`Twin`), whichever is larger, at least 0. The copies
    show what heads without training have of a kind where all else is trained. And for each of both how many heads have
    a kind, by the thresholds without it. `without` one of the twins, the thresholds are those of the others.

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
    untrained, of_turned = (_Scores.of(asked.kept, of) for of in (chosen, turned(turns)))
    least, thresholds = _least(reducer), np.maximum(untrained.thresholds(), of_turned.thresholds())
    return heads.Control(
        tuple(map(float, thresholds)),
        tuple(untrained.having(of_turned.thresholds().clip(min=least))),
        tuple(of_turned.having(untrained.thresholds().clip(min=least))),
    )


@dataclass(frozen=True)
class _Scores:
    """What the heads of several twins score for each kind."""

    score: NDArray[np.float64]  # [twin kind head]
    sure: NDArray[np.float64]

    @classmethod
    def of(cls, kept: Mapping[str, Any], chosen: Sequence[Twin]) -> "_Scores":
        """Those of these twins."""
        score, sure = (np.asarray([kept[str(twin)][part] for twin in chosen]) for part in ("score", "sure"))
        return cls(score, sure)

    def thresholds(self, without: int = -1) -> NDArray[np.float64]:
        """The percentile of every kind over all heads, or over those of all but one twin; 0 of none."""
        score = list(self.score[np.arange(len(self.score)) != without])
        return np.percentile(np.concatenate(score, axis=1), PERCENTILE, axis=1).clip(min=0) if score else np.zeros(())

    def having(self, least: NDArray[np.float64]) -> list[int]:
        """For each twin how many of its heads have a kind, by the thresholds of the others and these; of a single one
        nothing is said."""
        n = len(self.score) if len(self.score) > 1 else 0
        beyond = [self.sure[i] > np.maximum(self.thresholds(i), least)[:, None] for i in range(n)]
        return [int(one.any(0).sum()) for one in beyond]


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


def _is_whole(found: Any) -> bool:
    """Whether a file holds both numbers by twin, kind and head, as many for each twin."""
    try:
        both = [(scores["score"], scores["sure"]) for scores in found.values()]
        shapes = {np.asarray(part, dtype=float).shape for parts in both for part in parts}
    except (AttributeError, KeyError, TypeError, ValueError):
        return False
    return len(shapes) == 1 and len(shapes.pop()) == 2
