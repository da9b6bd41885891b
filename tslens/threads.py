"""Run pieces of work at once, each on its own thread.

Splitting a small operation between threads gains little, and costs much where the processors do not share a cache: each
half's next operation reads what the other half wrote. Whole layers share nothing, nor do whole reducers.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

import torch

A = TypeVar("A")
B = TypeVar("B")


def in_threads(work: Callable[[A], B], items: Iterable[A]) -> list[B]:
    """The results of `work` on each item, in order, by PyTorch's number of threads; each operation uses one thread."""
    n, inference = torch.get_num_threads(), torch.is_inference_mode_enabled()

    def one(item: A) -> B:
        with torch.inference_mode(inference):
            return work(item)

    try:
        with ThreadPoolExecutor(n, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            running = [pool.submit(copy_context().run, one, item) for item in items]
        return [each.result() for each in running]
    finally:
        torch.set_num_threads(n)  # a thread sets it for itself and for all that begin after it
