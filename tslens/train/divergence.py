"""Detect that training has diverged."""

import math
from collections.abc import Sequence
from statistics import median

WINDOW = 20  # records whose median says where the loss was


class Diverged(Exception):  # noqa: N818  it is no error where the run goes back
    """The weights are no longer worth keeping; the message says why."""


def reason(
    loss: float, gradient_norm: float, before: Sequence[float], threshold: float, chance: float = math.inf
) -> str | None:
    """The reason why training has diverged, by a loss (nats, the mean since the last record); None if it has not.

    Training has diverged if the loss or the gradient's norm is not finite, or if the loss is more than `threshold` nats
    above the lower of the median of the last records' losses, `before`, and `chance`, the loss of a uniform guess.
    With `threshold` 0 every finite loss is accepted.
    """
    if not math.isfinite(loss):
        return f"The loss was {loss}"
    if not math.isfinite(gradient_norm):
        return f"The gradient's norm was {gradient_norm}"
    usual = median(list(before)[-WINDOW:]) if before else math.inf
    if threshold and loss > min(usual, chance) + threshold:
        above = f"the usual {usual:.3f}" if usual <= chance else f"the {chance:.3f} of chance"
        return f"The loss was {loss:.3f}, more than train.divergence_threshold = {threshold:g} nats above {above},"
    return None
