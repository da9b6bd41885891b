"""A scan spread over a Ray cluster: each worker scans a shard, and their states are merged into one answer.

Needs the extra: pip install 'tslens[cluster]'.
"""

import os
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import TYPE_CHECKING, Any

from tslens import forward, models, progress
from tslens.errors import InputError
from tslens.result import Result, read_on
from tslens.scan import BATCH_TOKENS, Reducer, Shard, states

if TYPE_CHECKING:
    from tslens.models import LanguageModel

RETRIES = 3
"""Times that a shard is scanned again because its worker died."""


def scan_shard(
    model: "LanguageModel",
    stories: Iterable[str],
    shard: Shard,
    reducers: Sequence[Reducer[Any, Any]],
    *,
    context: int | None = None,
    batch_tokens: int = BATCH_TOKENS,
    precision: str = "float32",
) -> list[Any]:
    """The states of one shard, to be merged with those of the others. The options are those of `scan`."""
    with progress.off():
        return states(
            model, stories, reducers, context=context, batch_tokens=batch_tokens, precision=precision, shard=shard
        )


def scan_on_cluster(
    model: str,
    stories: Iterable[str],
    reducers: Sequence[Reducer[Any, Any]],
    *,
    parts: int | None = None,
    context: int | None = None,
    batch_tokens: int = BATCH_TOKENS,
    precision: str = "float32",
) -> list[Result]:
    """The results of `scan`, up to the order of sums, from `parts` shards on the running (or a local) Ray cluster.

    Labels and counts are those of `scan`, for any number of shards; by default there are as many as the cluster has
    CPUs, and never more than stories, where their number is known. Every worker loads `model` by its name and reads the
    stories itself, so both must be reachable there. A shard whose worker dies is scanned again, up to `RETRIES` times.
    The other options are those of `scan`.

    Raises:
        InputError: no Ray, more shards than stories, workers that die every time, or as `scan` says.
    """
    if parts is not None and parts < 1:
        raise InputError(f"The stories cannot be scanned in {parts} parts; give 1 or more.")
    ray = _ray()
    parts = int(ray.cluster_resources().get("CPU", 1)) if parts is None else parts
    parts = min(parts, max(1, len(stories))) if isinstance(stories, Sized) else parts
    if precision == "auto":  # measured here, so that all workers compute in one dtype
        precision = str(forward.resolve_dtype(precision, models.load(model))).removeprefix("torch.")

    def work(shard: Shard, texts: Iterable[str]) -> list[Any]:
        loaded = models.load(model)
        return scan_shard(
            loaded, texts, shard, reducers, context=context, batch_tokens=batch_tokens, precision=precision
        )

    remote, everywhere = ray.remote(max_retries=RETRIES)(work).remote, ray.put(stories)
    merged: list[Any] = []
    for found in _gathered(ray, [remote(Shard(number, parts), everywhere) for number in range(parts)]):
        merged = [r.merge(a, b) for r, a, b in zip(reducers, merged, found, strict=True)] if merged else found
    return [read_on(r.finish(state), stories) for r, state in zip(reducers, merged, strict=True)]


def imported() -> Any:
    """The module `ray`; InputError where it is not installed. Ray tells of a worker's death in standard output, among
    tables and JSON: that is left out, unless Ray was imported before. Workers that die every time are an error of
    `scan_on_cluster`."""
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", r"worker died or was killed|Task \w+ failed")
    try:
        import ray
    except ImportError as error:
        raise InputError("Scanning on a cluster needs Ray: pip install 'tslens[cluster]'.") from error
    return ray


def _ray() -> Any:
    """Ray, connected to a cluster: the running one or one of this machine."""
    ray = imported()
    if not ray.is_initialized():
        with progress.stage("starting Ray"):
            ray.init(include_dashboard=False, log_to_driver=False)
    return ray


def _gathered(ray: Any, waiting: list[Any]) -> Iterator[Any]:
    """What the workers return, in the order of the shards; one shard at a time is in memory here."""
    from ray.exceptions import RayTaskError, WorkerCrashedError

    shards = len(waiting)
    with progress.bar("scanning on Ray", shards) as bar:
        while waiting:
            try:
                yield ray.get(waiting.pop(0))
            except RayTaskError as error:
                if isinstance(error.cause, InputError):
                    raise InputError(str(error.cause)) from None
                raise
            except WorkerCrashedError:
                raise InputError(
                    f"The workers of one of {shards} shards died {RETRIES + 1} times, for lack of memory perhaps. "
                    "Give more shards, or workers with more memory."
                ) from None
            bar.advance()
