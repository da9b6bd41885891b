"""The score card: grammar, consistency, plot and creativity without a grader, of bare texts and of models."""

from tslens.evaluation.card.controls import ControlsCardResult, controls
from tslens.evaluation.card.models import CardResult, card, ranks
from tslens.evaluation.card.reference import AXES, NOT_MEASURED, Reference, reference
from tslens.evaluation.card.texts import TextsCardResult, score_texts

__all__ = [
    "AXES",
    "NOT_MEASURED",
    "CardResult",
    "ControlsCardResult",
    "Reference",
    "TextsCardResult",
    "card",
    "controls",
    "ranks",
    "reference",
    "score_texts",
]
