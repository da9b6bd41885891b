"""Counter-based pseudo-random numbers: a draw depends on its key alone, not on other draws."""

from jaxtyping import Int
from torch import Tensor

from tslens.errors import InputError

SEEDS = 2**32
GOLDEN = -7046029254386353131  # 2^64 by the golden ratio, as a signed number


def check_seed(seed: int) -> None:
    """InputError unless a seed is a whole number from 0 to 2^32 - 1."""
    if not isinstance(seed, int) or not 0 <= seed < SEEDS:
        raise InputError(f"seed is {seed}; it must be a whole number from 0 to {SEEDS - 1}.")


def splitmix64(x: Int[Tensor, "*axes"]) -> Int[Tensor, "*axes"]:
    """Hash each number to 64 pseudo-random bits (Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195).

    A bijection: different numbers stay different.
    """
    x = x * GOLDEN
    x = (x ^ ((x >> 30) & ((1 << 34) - 1))) * -4658895280553007687
    x = (x ^ ((x >> 27) & ((1 << 37) - 1))) * -7723592293110705685
    return x ^ ((x >> 31) & ((1 << 33) - 1))


def draw(first: Int[Tensor, "..."], *more: Int[Tensor, "..."]) -> Int[Tensor, "..."]:
    """One 64-bit pseudo-random number for each tuple of counters, which are broadcast."""
    found = splitmix64(first)
    for counter in more:
        found = splitmix64(found + counter)
    return found


def below(n: Int[Tensor, "*#axes"], drawn: Int[Tensor, "*axes"]) -> Int[Tensor, "*axes"]:
    """Each draw as a number from 0 to n - 1, for n from 1 to 2^31 - 1."""
    return ((drawn >> 33) & ((1 << 31) - 1)) * n >> 31
