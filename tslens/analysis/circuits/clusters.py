"""Intervals over the templates of pairs, which are clusters.

What a model does at the words of a template it does at all its pairs, so that pairs count for fewer than they are.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray

from tslens import stats


def over_clusters(
    values: Float[np.ndarray, "pair *column"],
    template: Int[np.ndarray, " pair"],
    statistic: Callable[[NDArray[Any]], Any] = lambda rows: rows.mean(0),
) -> stats.Interval:
    """A statistic of pairs with its 95% interval, by leaving out one template at a time (`stats.jackknife`).

    Of a single template it is over the pairs of that template, and says nothing about others.
    """
    several = len(np.unique(template)) > 1
    groups = template if several else np.arange(len(template))
    without = np.stack([np.asarray(statistic(values[groups != group])) for group in np.unique(groups)])
    return stats.jackknife(statistic(values), without)
