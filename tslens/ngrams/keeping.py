"""The word 5-gram model of stories, counted from their n-gram index and kept beside it."""

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

import numpy as np

from tslens import files, lock
from tslens.errors import InputError
from tslens.ngrams.building import kept
from tslens.ngrams.hashes import check_hashes, write_hashes
from tslens.ngrams.kneser_ney import ORDER, KneserNey, Order, five_gram
from tslens.paths import refuse_special

VERSION = 1
"""Of the files of a kept model."""


def kept_five_gram(stories: Iterable[str], parent: str | Path, *, source: str = "") -> KneserNey:
    """The word 5-gram model of the stories, whose index and model are kept in `parent`; made if they are not there.

    A kept model is mapped from disk: only the hash of the stories is taken again. Disk: up to 100 bytes per different
    5-gram, beside the index. InputError for stories without words.
    """
    index = kept(stories, parent, source=source)
    folder = index.folder.with_name(f"{index.folder.name}-five-gram-{VERSION}")
    lock.sweep(folder)
    try:
        check_hashes(folder)
        return KneserNey(index.vocabulary, [_read(folder, n) for n in range(1, ORDER + 1)])
    except (OSError, InputError):  # not there, or altered
        model = five_gram(index)
    with lock.held(folder, otherwise=""), files.atomic_folder(folder) as scratch:
        for n, order in enumerate(model.orders, 1):
            for field in fields(Order):
                np.save(scratch / f"{field.name}-{n}.npy", getattr(order, field.name), allow_pickle=False)
        write_hashes(scratch)
    return model


def _read(folder: Path, n: int) -> Order:
    paths = [folder / f"{field.name}-{n}.npy" for field in fields(Order)]
    for path in paths:
        refuse_special(path)
    return Order(*(np.load(path, mmap_mode="r", allow_pickle=False) for path in paths))
