"""Do seeds agree on how many heads and neurons have a label, and on which?"""

from collections.abc import Iterable, Sequence
from itertools import combinations, islice
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from tslens import stats
from tslens.analysis.heads import EVIDENT, ROLES
from tslens.corpus import Corpus
from tslens.dynamics.matching import matched, similarity
from tslens.dynamics.measure import ONE_WORD, STORIES, read_texts, snapshots
from tslens.dynamics.points import points
from tslens.dynamics.seeds import check_alike, names_of
from tslens.dynamics.snapshot import SnapshotResult, units_of
from tslens.dynamics.stability_result import StabilityResult
from tslens.errors import InputError
from tslens.halves import joined
from tslens.progress import bar, off
from tslens.result import read_on

if TYPE_CHECKING:
    from tslens.models import LanguageModel

PAIRINGS = 999
"""Random pairings of the units of each layer, for chance."""
NONE = -1


def stability(runs: Sequence[str | Path], stories: Iterable[str], *, limit: int = STORIES) -> StabilityResult:
    """How far the finished models of seeds agree, on the first `limit` stories.

    Labels are those of each run's last snapshot (see `snapshots`).

    Raises:
        InputError: fewer than two runs, and as for `dynamics`; or runs with different tokenizers.
    """
    names = names_of(runs)
    if len(names) < 2:
        raise InputError("one run has nothing to agree with; give the names of two or more seeds.")
    read = stories if isinstance(stories, Corpus) else list(islice(stories, limit))
    ends = [snapshots(run, read, limit=limit)[-1] for run in runs]
    check_alike(names, ends)
    texts, known = read_texts(read, limit), [points(run) for run in runs]
    at_end, before = ([each[place].load() for each in known] for place in (-1, 0))
    pairs = list(combinations(range(len(runs)), 2))
    alike = torch.zeros(2, 2, dtype=torch.float64)  # [trained or not, heads or neurons]
    shares = []
    with bar("seeds matched", len(pairs)) as shown, off():
        for a, b in pairs:
            heads, neurons = _matched(at_end[a], at_end[b], texts, alike[0])
            _matched(before[a], before[b], texts, alike[1])
            shares.append(_of_pair(ends[a], ends[b], heads, neurons))
            shown.advance()
    found = result(names, ends, np.stack(shares), (alike / len(pairs)).tolist())
    return cast(StabilityResult, read_on(found, stories))


def _matched(
    a: "LanguageModel", b: "LanguageModel", texts: Sequence[str], alike: Float[Tensor, " 2"]
) -> list[Int[Tensor, "layer unit"]]:
    """The matching of heads and that of neurons; their mean similarities are added to `alike`."""
    found = []
    for kind, similar in enumerate(similarity(a, b, texts)):
        found.append(to := matched(similar))
        alike[kind] += similar.gather(2, to[..., None]).mean()
    return found


def result(
    names: Sequence[str], ends: Sequence[SnapshotResult], shares: NDArray[np.floating], alike: list[list[float]]
) -> StabilityResult:
    """The result, from `shares` [pair, 1 + pairing, label]: as matched, then after each random pairing."""
    pairs = list(combinations(range(len(names)), 2))
    counts = np.stack([_counts(end) for end in ends])
    mean = torch.as_tensor(counts.mean(0))
    width = torch.as_tensor(stats.mean_interval(counts).high) - mean
    count_low, count_high = joined(
        mean, width, units_of(_labels(ends[0]), ends[0].role_code, ends[0].label), runs=len(counts)
    )
    over_pairs = _mean_of_known(shares)
    observed, random = over_pairs[0], over_pairs[1:]
    low = high = np.full(len(observed), np.nan)
    if len(names) > 2:
        without = [[i for i, pair in enumerate(pairs) if run not in pair] for run in range(len(names))]
        interval = stats.jackknife(observed, np.stack([_mean_of_known(shares[kept, 0]) for kept in without]))
        low, high = interval.low.clip(0, 1), interval.high.clip(0, 1)

    def single(values: NDArray[np.floating]) -> Float[Tensor, " label"]:
        return torch.as_tensor(np.asarray(values)).float()

    return StabilityResult(
        runs=list(names),
        pairs=[f"{names[a]} and {names[b]}" for a, b in pairs],
        stories=ends[0].stories,
        labels=_labels(ends[0]),
        mean=mean.float(),
        low=count_low,
        high=count_high,
        share=single(observed),
        share_low=single(low),
        share_high=single(high),
        chance=single(random.mean(0)),
        chance_high=single(np.quantile(random, 0.975, axis=0)),
        p=single(np.where(np.isnan(observed), np.nan, (1 + (random >= observed).sum(0)) / (1 + len(random)))),
        count=torch.as_tensor(counts).long(),
        in_common=torch.as_tensor(shares[:, 0]).float(),
        heads_alike=alike[0][0],
        heads_untrained=alike[1][0],
        neurons_alike=alike[0][1],
        neurons_untrained=alike[1][1],
    )


def _mean_of_known(values: NDArray[np.floating]) -> NDArray[np.floating]:
    """The mean along the first axis of what is not NaN; NaN where all is."""
    known = (~np.isnan(values)).sum(0)
    return np.asarray(np.divide(np.nansum(values, 0), known, out=np.full(known.shape, np.nan), where=known > 0))


def _labels(end: SnapshotResult) -> list[str]:
    """Any role, every role, any part of speech, every part of speech, one word."""
    tags = [f"{tag} neurons" for tag in end.labels if tag != ONE_WORD]
    roles = [f"{role} heads" for role in EVIDENT]
    return ["heads with a role", *roles, "part-of-speech neurons", *tags, "one-word neurons"]


def _codes(end: SnapshotResult) -> tuple[Int[Tensor, "layer head"], Int[Tensor, "layer neuron"], int, int]:
    """Every head's role that is counted, and every neuron's label; -1 for none. And how many of each there are."""
    role = torch.full_like(end.role_code, NONE)
    for code, name in enumerate(EVIDENT):
        role[end.role_code == ROLES.index(name)] = code
    return role, end.label, len(EVIDENT), len(end.labels)


def _counts(end: SnapshotResult) -> NDArray[np.floating]:
    """The counts, in the order of `_labels`."""
    roles, labels, n_roles, n_labels = _codes(end)
    of_role = [int((roles == code).sum()) for code in range(n_roles)]
    of_label = [int((labels == code).sum()) for code in range(n_labels)]
    return np.array([sum(of_role), *of_role, sum(of_label[:-1]), *of_label], dtype=float)


def _of_pair(
    a: SnapshotResult, b: SnapshotResult, heads: Int[Tensor, "layer head"], neurons: Int[Tensor, "layer neuron"]
) -> NDArray[np.floating]:
    """[1 + pairing, label]: the shares in common as matched, and after each random pairing."""
    generator = torch.Generator().manual_seed(0)
    roles_a, labels_a, n_roles, n_labels = _codes(a)
    roles_b, labels_b, *_ = _codes(b)
    words = n_labels - 1  # the last label; words and parts of speech are not added up
    rows = []
    for pairing in range(1 + PAIRINGS):
        to_heads, to_neurons = (_drawn(each, generator) if pairing else each for each in (heads, neurons))
        head, neuron = roles_b.gather(1, to_heads), labels_b.gather(1, to_neurons)
        rows.append([*_in_common(roles_a, head, n_roles), *_in_common(labels_a, neuron, n_labels, words)])
    return np.array(rows)


def _drawn(like: Int[Tensor, "layer unit"], generator: torch.Generator) -> Int[Tensor, "layer unit"]:
    """A random permutation of the units of each layer."""
    return torch.rand(like.shape, generator=generator).argsort(1)


def _in_common(
    a: Int[Tensor, "layer unit"], b: Int[Tensor, "layer unit"], n: int, last: int | None = None
) -> list[float]:
    """Share of the pairs in which either unit has a label that have it both: for any of the labels (the same one),
    of those before `last` if given, and for each; NaN where neither has it."""
    some = (slice(0, n) if last is None else slice(0, last)).indices(n)[1]
    x, y = (torch.where(each < some, each, NONE) for each in (a, b))
    found = [_share((x == y) & (x >= 0), (x >= 0) | (y >= 0))]
    return found + [_share((a == code) & (b == code), (a == code) | (b == code)) for code in range(n)]


def _share(both: Bool[Tensor, "layer unit"], either: Bool[Tensor, "layer unit"]) -> float:
    return float(both.sum() / either.sum()) if either.any() else float("nan")
