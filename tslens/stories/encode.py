"""Encode stories in batches while reading the next batch."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import numpy as np

from tslens.tokenizer import Tokenizer, in_batches


def encoded(
    stories: Iterator[str], tokenizer: Tokenizer, dtype: str, batch: int
) -> Iterator[tuple[list[str], np.ndarray, np.ndarray]]:
    """Batches of stories with their tokens, shape (tokens,), BOS before each story, and their lengths, BOS counted.

    While one batch is encoded, the next is read and cleaned.
    """

    def encode(texts: list[str]) -> tuple[list[str], np.ndarray, np.ndarray]:
        rows = [encoding.ids for encoding in tokenizer.encodings(texts)]
        lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows)) + 1
        flat = np.empty(int(lengths.sum()), dtype=dtype)
        is_bos = np.zeros(flat.size, dtype=bool)
        is_bos[np.cumsum(lengths) - lengths] = True
        flat[is_bos] = tokenizer.bos
        flat[~is_bos] = np.fromiter(chain.from_iterable(rows), dtype=dtype, count=flat.size - len(rows))
        return texts, flat, lengths

    with ThreadPoolExecutor(max_workers=1) as encoder:
        ahead = None
        for texts in in_batches(stories, batch):
            current, ahead = ahead, encoder.submit(encode, texts)
            if current is not None:
                yield current.result()
        if ahead is not None:
            yield ahead.result()
