"""Scores of untrained twins of a run's finished model: what each score is without training.

Step 0 is one drawing of fresh weights; twins are many, and permuted ones have the finished weights' values too.
"""

import contextlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from tslens import files
from tslens.dynamics.measure import STORIES, key_of, read_texts, scores_of
from tslens.dynamics.points import folder_of, points
from tslens.dynamics.snapshot import SnapshotResult
from tslens.errors import InputError
from tslens.models.twins import twins
from tslens.progress import bar, note, off
from tslens.twins import TWINS
from tslens.twins import kept as store

Scores = dict[str, float]


def beside_twins(
    run: str | Path,
    found: Sequence[SnapshotResult],
    stories: Iterable[str],
    *,
    n: int = TWINS,
    limit: int = STORIES,
) -> list[SnapshotResult]:
    """The snapshots of a run, each with the scores of `n` untrained twins of the finished model on the same stories.

    The scores are kept in the run's folder as they come.

    Raises:
        InputError: a run without snapshots, or fewer stories than give an interval.
    """
    place = _place(run, texts := read_texts(stories, limit), stories)
    kept = _read(place)
    left = [twin for twin in twins(n) if str(twin) not in kept]
    finished = points(run)[-1]
    with bar(f"untrained twins of {folder_of(run).name}", len(left)) as shown:
        for i, twin in enumerate(left):
            began = time.monotonic()
            with off():
                kept[str(twin)] = scores_of(twin.of(finished.load()), texts)
            store.write(place, kept)
            shown.advance()
            if i == 0 and len(left) > 1:
                seconds = (time.monotonic() - began) * (len(left) - 1)
                note(f"Measuring {len(left)} untrained twins, once: about {seconds:.0f} s more.")
    return _with(found, [kept[str(twin)] for twin in twins(n)])


def beside_kept_twins(
    run: str | Path, found: Sequence[SnapshotResult], stories: Iterable[str], *, limit: int = STORIES
) -> list[SnapshotResult]:
    """The snapshots of a run with the scores of those twins that are kept. Nothing is measured."""
    kept = _read(_place(run, list(dict.fromkeys(islice(stories, limit))), stories))
    return _with(found, list(kept.values()))


def _place(run: str | Path, texts: Sequence[str], stories: object) -> Path:
    """The file that keeps the scores, named after the finished model, the stories and the rules."""
    return folder_of(run) / "dynamics" / f"twins-of-{key_of(points(run)[-1], texts, stories)}.json"


def _read(place: Path) -> dict[str, Scores]:
    """What is kept; nothing if the file is missing, or not whole."""
    with contextlib.suppress(OSError, InputError):
        found = files.read_json(place)
        if isinstance(found, dict) and all(map(_is_whole, found.values())):
            return found
    return {}


def _is_whole(scores: object) -> bool:
    return isinstance(scores, dict) and all(isinstance(value, int | float) for value in scores.values())


def _with(found: Sequence[SnapshotResult], scores: Sequence[Mapping[str, float]]) -> list[SnapshotResult]:
    of_twins = {name: [each[name] for each in scores] for name in found[0].scores} if found and scores else {}
    return [replace(snapshot, of_twins=of_twins) for snapshot in found]
