"""Datasets in the layout of the Hugging Face hub, from a folder or by id, streamed by `datasets`."""

import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from textwrap import shorten
from typing import Any

from tslens.errors import InputError
from tslens.parsing import lines, objects
from tslens.stories.folders import check_folder
from tslens.stories.readers import SEPARATOR, checked_text, column_of


def read_dataset(place: str, column: str | None, part: str, config: str | None) -> Iterator[str]:
    """The stories of a dataset folder or hub id, streamed by ``datasets``.

    A dataset of plain text files (such as TinyStoriesInstruct) has one row per line; if the separator is a row of its
    own among the first rows, lines are joined into stories.
    """
    rows = _rows(place, part, config)
    first = next(rows, None)
    if first is None:
        return
    column = column_of(first, column, place)
    texts: Iterator[str] = (
        checked_text(row[column], column, f"{place}, row {n}") for n, row in enumerate(chain([first], rows), 1)
    )
    head = list(islice(texts, 2000))
    separator = SEPARATOR.decode()
    texts = chain(head, texts)
    if any(text.strip() == separator for text in head):
        texts = _joined(texts, separator)
    yield from texts


def _joined(lines: Iterable[str], separator: str) -> Iterator[str]:
    held: list[str] = []
    for line in lines:
        if line.strip() == separator:
            yield "\n".join(held)
            held = []
        else:
            held.append(line)
    if any(line.strip() for line in held):
        yield "\n".join(held)


def _rows(place: str, part: str, config: str | None) -> Iterator[dict[str, Any]]:
    """The rows of one split. Offline (``HF_HUB_OFFLINE=1``, or no network) a hub id is refused, a folder is not."""
    import datasets

    faults = _faults()
    if Path(place).is_dir():
        check_folder(Path(place))
    try:
        with _quiet():
            streams = datasets.load_dataset(_named(place), config, streaming=True)
    except faults as error:
        # A hub that cannot be reached is not asked again.
        other = "" if isinstance(error, OSError) and not Path(place).is_dir() else _other_config(place, config)
        raise InputError(other or _unreadable(place, error)) from None
    if part not in streams:
        within = f"{config}/SPLIT" if config else "SPLIT"
        raise InputError(f"{place} has no split {part!r}; it has {', '.join(streams)}; name one as {place}@{within}")
    try:
        yield from streams[part]
    except faults as error:
        raise InputError(_unreadable(place, error)) from None


def _faults() -> tuple[type[Exception], ...]:
    """The exceptions of `datasets` for a dataset that it cannot read; the hub's errors are OSErrors. A folder whose
    files it cannot match is an IndexError; one whose file is empty may be a RuntimeError, or a StopIteration."""
    import datasets
    import yaml  # type: ignore[import-untyped]

    return (
        ValueError,
        OSError,
        IndexError,
        RuntimeError,
        StopIteration,
        datasets.exceptions.DatasetsError,
        yaml.YAMLError,
    )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence the retry logs of `datasets` and the hub; the final error is still raised."""
    loggers = [logging.getLogger(name) for name in ("datasets", "huggingface_hub")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def _named(place: str) -> str:
    """The name for `datasets`: a folder by its absolute path, as a bare "csv" is a builder over the working folder."""
    path = Path(place)
    return str(path.absolute()) if path.is_dir() else place


def _other_config(place: str, config: str | None) -> str:
    """The message for a configuration that is missing or must be named; empty if that is not the error."""
    import datasets

    try:
        with _quiet():
            known = datasets.get_dataset_config_names(_named(place))
            default = datasets.get_dataset_default_config_name(_named(place))
    except _faults():  # the first error says more
        return ""
    if config in known or (config is None and default is not None):
        return ""
    wrong = "several configurations" if config is None else f"no configuration {config!r}"
    return f"{place} has {wrong}; it has {', '.join(known)}; name one as {place}@CONFIG/SPLIT"


def _unreadable(place: str, error: Exception) -> str:
    """The message for a dataset that `datasets` cannot read; for a folder, with the file and place of the error."""
    reason = str(error).splitlines()[0] if str(error) else "a file of it is empty"
    reason = shorten(reason, 200, placeholder=" …")  # `datasets` may list every extension that it knows
    if not Path(place).is_dir():
        return f"the hub id {place} cannot be read ({reason}); give a file or a dataset folder instead"
    readers: dict[str, Callable[[Path], Iterator[Any]]] = {".txt": lines, ".csv": lines, ".jsonl": objects}
    for path in sorted(Path(place).rglob("*")):
        try:
            for _ in readers[path.suffix.lower()](path) if path.suffix.lower() in readers else ():
                pass
        except (InputError, OSError) as fault:
            return str(fault)
    return f"the dataset folder {place} cannot be read ({reason}); mend it, or give one of its files"
