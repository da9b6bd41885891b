"""transformers without its progress bars and its warnings about configurations."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet() -> Iterator[None]:
    """Without transformers' progress bars, and without its warnings about configurations, such as ids of special tokens
    that its defaults name: what tslens does not cover it refuses by itself."""
    from transformers.utils import logging as theirs

    logger, shown = logging.getLogger("transformers"), theirs.is_progress_bar_enabled()
    level = logger.level
    theirs.disable_progress_bar()
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
        if shown:
            theirs.enable_progress_bar()
