"""What a card of models says of minimal pairs: its first sentence, and what each axis does not measure."""

from typing import TYPE_CHECKING

from tslens.evaluation.pairs.result import CHANCE

if TYPE_CHECKING:
    from tslens.evaluation.card.models import CardResult

PAIRS = "pairs"
BY_PAIRS = {
    "grammar": "whether it writes such forms itself.",
    "consistency": "whether it keeps to what was said beyond two sentences.",
    "entities": "more than two things and three characters.",
    "plot": "any plot longer than a cause and its effect.",
    "order": "why an order is right; it says nothing of models trained on shuffled stories.",
}
"""What the minimal pairs of each axis do not measure."""


def headline(card: "CardResult") -> str:
    """The axes of minimal pairs on which each trained model is above chance, and above every untrained twin, with the
    whole interval; without `order` for a model that is trained on it."""
    at = [i for i, row in enumerate(card.rows) if row.endswith(PAIRS)]
    beside = [model in card.twins for model in card.models]
    floor = card.value[beside][:, at].nan_to_num(CHANCE).amax(0).clamp(min=CHANCE) if any(beside) else CHANCE
    above = (card.low[:, at] > floor).tolist()
    each = []
    for i, model in enumerate(card.models):
        axes = [card.rows[k].split(",")[0] for k, ok in zip(at, above[i], strict=True) if ok]
        axes = [axis for axis in axes if axis != "order" or model not in card.trained_on_order]
        each += [f"{model} {', '.join(axes) or 'none'}"] if card.trained[i] else []
    null = "and every untrained twin" if any(beside) else "(no untrained twin was scored)"
    return f"Axes of minimal pairs above chance {null}: {'; '.join(each)}."
