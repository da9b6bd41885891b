"""Has the training loss left where it was?"""

import math
from collections.abc import Sequence
from statistics import median

REMEMBERED = 20  # records whose median says where the loss was


class Diverged(Exception):  # noqa: N818  it is no error where the run goes back
    """The weights are no longer worth keeping; says why."""


def fault(loss: float, gradient_norm: float, before: Sequence[float], explode: float) -> str | None:
    """Why a loss (nats, the mean since the last record) says that training has diverged; None where it does not.

    It has where the loss or the gradient's norm is not finite, or the loss lies more than `explode` nats above the
    median of the last records' losses, `before`; with `explode` 0 any finite loss will do.
    """
    if not math.isfinite(loss):
        return f"The loss was {loss}"
    if not math.isfinite(gradient_norm):
        return f"The gradient's norm was {gradient_norm}"
    if before and explode and loss > (usual := median(list(before)[-REMEMBERED:])) + explode:
        return f"The loss was {loss:.3f}, more than train.explode = {explode:g} nats above the usual {usual:.3f},"
    return None
