"""Gradients where the caller has switched them off."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def gradients() -> Iterator[None]:
    """A block, or a function, in which gradients are taken whatever is outside: many notebooks begin with
    `torch.set_grad_enabled(False)`."""
    with torch.inference_mode(False), torch.enable_grad():
        yield
