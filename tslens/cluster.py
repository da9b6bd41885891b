"""A scan spread over a Ray cluster: each worker scans a shard, and their states are merged into one answer.

Needs the extra: pip install 'tslens[cluster]'.
"""

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from tslens import forward, models, progress
from tslens.errors import InputError
from tslens.result import Result, read_on
from tslens.scan import BATCH_TOKENS, Reducer, Shard, states
from tslens.stories import Stories

if TYPE_CHECKING:
    from tslens.models import LanguageModel


def scan_shard(
    model: "LanguageModel",
    stories: Stories,
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
    stories: Stories,
    reducers: Sequence[Reducer[Any, Any]],
    *,
    parts: int,
    context: int | None = None,
    batch_tokens: int = BATCH_TOKENS,
    precision: str = "float32",
) -> list[Result]:
    """The results of `scan`, up to the order of sums, from `parts` workers of the running (or a local) Ray cluster.

    Every worker loads `model` by its name and reads the corpus itself, so both must be reachable there. The other
    options are those of `scan`. InputError without Ray, for fewer stories than parts, or as `scan` says.
    """
    if parts < 1:
        raise InputError(f"parts is {parts}; it must be at least 1.")
    try:
        import ray
    except ImportError as error:
        raise InputError("Scanning on a cluster needs Ray: pip install 'tslens[cluster]'.") from error
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False)

    if precision == "auto":  # measured here, so that all workers compute in one dtype
        precision = str(forward.resolve_dtype(precision, models.load(model))).removeprefix("torch.")

    def work(shard: Shard) -> list[Any]:
        loaded = models.load(model)
        return scan_shard(
            loaded, stories, shard, reducers, context=context, batch_tokens=batch_tokens, precision=precision
        )

    remote = ray.remote(work).remote
    found = ray.get([remote(Shard(number, parts)) for number in range(parts)])
    states_of = zip(*found, strict=True)  # of each reducer, from every shard
    merged = (reduce(r.merge, of_one) for r, of_one in zip(reducers, states_of, strict=True))
    return [read_on(r.finish(state), stories) for r, state in zip(reducers, merged, strict=True)]
