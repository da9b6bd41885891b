"""Bounds of the sizes, numbers and weights of a model, whatever a configuration calls them."""

from collections.abc import Iterable, Mapping
from reprlib import repr as shortened
from typing import Any

from torch import Tensor

from tslens.errors import InputError

MOST_LAYERS, MOST_WIDTH = 1000, 2**24
MOST = 1e18  # more is no integer of PyTorch's, nor finite where rotary positions have a power of it

MOST_WEIGHT = 1e9  # beyond it what a model computes need not be finite


def is_wild(weight: Tensor) -> bool:
    """Whether a weight holds numbers that are not finite, or beyond `MOST_WEIGHT`."""
    low, high = weight.detach().aminmax()
    return not -MOST_WEIGHT <= float(low) <= float(high) <= MOST_WEIGHT


def refuse_wild(parameters: Iterable[tuple[str, Tensor]]) -> None:
    """InputError names the first of these parameters that is wild."""
    if (wild := next((name for name, p in parameters if is_wild(p)), None)) is not None:
        raise InputError(
            f"{wild} holds numbers that are not finite, or beyond {MOST_WEIGHT:g}: training diverged. Give an earlier "
            "state."
        )


def check_sizes(sizes: Mapping[str, Any], most: int = MOST_WIDTH) -> None:
    """InputError for one of these, by name, that is no whole number of at least 1, or more than any model has."""
    for name, size in sizes.items():
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise InputError(f"{name} is {shortened(size)}; it must be a whole number of at least 1.")
        if size > most:
            raise InputError(f"{name} is over {most:,}, more than any model has; give a smaller one.")


def check_numbers(numbers: Mapping[str, Any], *, from_1: bool = False) -> None:
    """InputError for one of these, by name, that is no number above 0, or from 1, to `MOST`."""
    for name, number in numbers.items():
        known = isinstance(number, int | float) and not isinstance(number, bool)
        if not (known and 0 < number <= MOST) or (from_1 and number < 1):
            least = "of at least 1" if from_1 else "above 0"
            raise InputError(f"{name} is {shortened(number)}; it must be a number {least}, and at most {MOST:g}.")
