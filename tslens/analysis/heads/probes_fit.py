"""Probes fitted and judged on held-out stories and words, against shuffled labels and the embedding alone."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from tslens import pos, progress, stats
from tslens.analysis.heads.evidence import GroupEstimate
from tslens.analysis.heads.probes_result import ProbesResult
from tslens.draws import below, draw
from tslens.errors import InputError
from tslens.stories.identity import content_hash

OF_A_TYPE = 20
"""Words of one type that are read at most, so that a few frequent words do not decide."""
TYPES = 8
"""Word types that a part of speech must have in each half."""
SHUFFLES = 5
GROUPS = 16
RIDGE = 10.0
"""Penalty of the ridge classifier on standardised vectors."""

Labels = NDArray[np.int64]


@dataclass(frozen=True)
class ProbedWords:
    """What all probes share: which words are read, their corners and their labels."""

    kept: Int[np.ndarray, " word"]
    """Places in the sample."""
    corner: Int[np.ndarray, " word"]
    """0 to 3: twice the half of the story, plus the half of the word type."""
    groups: Int[np.ndarray, "unit word"]
    """The group of stories, and that of word types, for intervals: neither the words of a story are independent, nor
    those of a type."""
    labels: list[Labels]
    """The true parts of speech, then shuffled ones."""
    classes: list[str]
    types: int


@dataclass(frozen=True)
class Accuracy:
    """A number with each group of stories left out, and the same with each group of word types left out.

    Errors are those of the units that vary more, for these probes: they are not fitted again without a group.
    """

    of_stories: GroupEstimate
    of_types: GroupEstimate

    @classmethod
    def stacked(cls, every: Sequence["Accuracy"], shape: tuple[int, ...]) -> "Accuracy":
        """Many of them as one, of this shape."""

        def stack(parts: Sequence[GroupEstimate]) -> GroupEstimate:
            value, without = torch.stack([one.value for one in parts]), torch.stack([one.without for one in parts], 1)
            return GroupEstimate(value.unflatten(0, shape), without.unflatten(1, shape))

        return cls(stack([one.of_stories for one in every]), stack([one.of_types for one in every]))

    def __sub__(self, other: "Accuracy") -> "Accuracy":
        return Accuracy(self.of_stories - other.of_stories, self.of_types - other.of_types)

    @property
    def value(self) -> Tensor:
        """The number."""
        return self.of_stories.value

    @property
    def interval(self) -> tuple[Tensor, Tensor]:
        """The outer ends of both 95% intervals."""
        (low, high), (low_, high_) = self.of_stories.interval, self.of_types.interval
        return torch.minimum(low, low_), torch.maximum(high, high_)

    def p_above_0(self) -> NDArray[np.float64]:
        """The larger one-sided p-value that the number is no greater than 0."""
        return np.asarray(np.maximum(self.of_stories.p_above(0.0), self.of_types.p_above(0.0)))


def fit(
    model: str,
    vectors: Float[Tensor, "word part layer head d_head"],
    embedding: Float[Tensor, "word d_model"],
    tags: Int[Tensor, " word"],
    types: Sequence[str],
    seeds: Int[Tensor, " word"],
    heads_to_a_key: int = 1,
) -> ProbesResult:
    """The probes' balanced accuracies with their baselines. Words come in an order that depends on no batch."""
    words = chosen(tags, types, seeds)
    _, parts, layers, heads, d_head = vectors.shape
    read = vectors[torch.as_tensor(words.kept)].numpy()
    control = of_tokens(embedding[torch.as_tensor(words.kept)].numpy(), words, d_head)
    found = [
        [[accuracies(read[:, part, layer, head], words) for head in range(heads)] for layer in range(layers)]
        for part in progress.track(range(parts), "probing")
    ]

    def table(pick: Callable[[tuple[Accuracy, Accuracy]], Accuracy]) -> Accuracy:
        every = [
            pick(found[part][layer][head]) for part in range(parts) for layer in range(layers) for head in range(heads)
        ]
        return Accuracy.stacked(every, (parts, layers, heads))

    true, null, gain = table(lambda of: of[0]), table(lambda of: of[1]), table(lambda of: of[0] - control)
    return ProbesResult(
        model=model,
        words=len(words.kept),
        types=words.types,
        classes=words.classes,
        chance=1 / len(words.classes),
        embedding=float(control.value),
        heads_to_a_key=heads_to_a_key,
        accuracy=true.value.float(),
        low=true.interval[0].float(),
        high=true.interval[1].float(),
        shuffled=null.value.float(),
        gain=gain.value.float(),
        gain_low=gain.interval[0].float(),
        gain_high=gain.interval[1].float(),
        q_shuffled=torch.as_tensor(stats.benjamini_hochberg((true - null).p_above_0())).float(),
        q_embedding=torch.as_tensor(stats.benjamini_hochberg(gain.p_above_0())).float(),
    )


def chosen(tags: Int[Tensor, " word"], types: Sequence[str], seeds: Int[Tensor, " word"]) -> ProbedWords:
    """The words that are read: at most `OF_A_TYPE` of a type, of parts of speech with enough types in each half."""
    half_of = {word: int(below(torch.tensor(2), draw(torch.tensor(content_hash(word))))) for word in set(types)}
    often = Counter(zip(types, tags.tolist(), strict=True))
    main: dict[str, int] = {}
    for (word, tag), _ in sorted(often.items(), key=lambda item: (item[1], -item[0][1])):
        main[word] = tag  # the commonest last
    sides: dict[int, list[set[str]]] = defaultdict(lambda: [set(), set()])
    for word, tag in main.items():
        sides[tag][half_of[word]].add(word)
    classes = sorted(tag for tag, (one, other) in sides.items() if min(len(one), len(other)) >= TYPES)
    if len(classes) < 2:
        raise InputError(
            f"A probe needs two parts of speech with {2 * TYPES} words or more each; there are {len(classes)}. "
            "Give more stories."
        )
    seen: Counter[str] = Counter()
    kept = []
    for i, (word, tag) in enumerate(zip(types, tags.tolist(), strict=True)):
        if tag in classes and main[word] in classes and seen[word] < OF_A_TYPE:
            seen[word] += 1
            kept.append(i)
    read = [types[i] for i in kept]
    story = below(torch.tensor(2), draw(seeds[kept], torch.tensor(1))).numpy()
    corner = 2 * story + np.array([half_of[word] for word in read])
    number = {tag: i for i, tag in enumerate(classes)}
    true = np.array([number[int(tags[i])] for i in kept])
    others = [shuffled({word: number[main[word]] for word in seen}, seen, turn) for turn in range(SHUFFLES)]
    labels = [true, *(np.array([other[word] for word in read]) for other in others)]
    of_type = torch.tensor([content_hash(word) for word in read])
    groups = [below(torch.tensor(GROUPS), draw(one, torch.tensor(0))).numpy() for one in (seeds[kept], of_type)]
    return ProbedWords(np.array(kept), corner, np.stack(groups), labels, [pos.TAGS[tag] for tag in classes], len(seen))


def shuffled(tag_of: dict[str, int], often: Counter[str], turn: int) -> dict[str, int]:
    """Each word type with the part of speech of another of like frequency (1, 2-3, 4-7, ... times): a permutation that
    depends on the words and the turn alone."""
    bins: dict[int, list[str]] = defaultdict(list)
    for word in sorted(tag_of):
        bins[often[word].bit_length()].append(word)
    found = {}
    for words in bins.values():
        keys = {word: int(draw(torch.tensor(content_hash(word)), torch.tensor(turn + 2))) for word in words}
        for word, other in zip(words, sorted(words, key=keys.__getitem__), strict=True):
            found[word] = tag_of[other]
    return found


def accuracies(
    vectors: Float[np.ndarray, "word dim"], words: ProbedWords, dimensions: int | None = None
) -> tuple[Accuracy, Accuracy]:
    """Balanced accuracy on the opposite corner with the true labels, and the largest over the shuffled ones; with
    `dimensions` the vectors are cut to so many principal components of the corner that is fitted."""
    true, *others = (
        Accuracy(
            *(
                balanced(predicted(vectors, words.corner, labels, dimensions) == labels, labels, group)
                for group in words.groups
            )
        )
        for labels in words.labels
    )
    return true, max(others, key=lambda one: float(one.value))


def of_tokens(embedding: Float[np.ndarray, "word d_model"], words: ProbedWords, d_head: int) -> Accuracy:
    """Balanced accuracy of the embedding alone, whole or cut to the dimensions of a head, whichever is larger."""
    both = [accuracies(embedding, words, dimensions)[0] for dimensions in (None, d_head)]
    return max(both, key=lambda one: float(one.value))


def predicted(
    vectors: Float[np.ndarray, "word dim"], corner: Int[np.ndarray, " word"], labels: Labels, dimensions: int | None
) -> Labels:
    """Each word's label by the probe of the corner that shares neither its story's half nor its type's."""
    from sklearn.decomposition import PCA
    from sklearn.linear_model import RidgeClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    said = np.full(len(labels), -1)
    for own in range(4):
        fitted, judged = corner == own, corner == 3 - own
        if len(np.unique(labels[fitted])) < 2 or not judged.any():
            continue
        steps = [StandardScaler(), RidgeClassifier(alpha=RIDGE, class_weight="balanced")]
        if dimensions is not None and dimensions < min(vectors.shape[1], int(fitted.sum())):
            steps = [PCA(dimensions, svd_solver="full"), *steps]
        said[judged] = make_pipeline(*steps).fit(vectors[fitted], labels[fitted]).predict(vectors[judged])
    return said


def balanced(hit: Bool[np.ndarray, " word"], labels: Labels, group: Int[np.ndarray, " word"]) -> GroupEstimate:
    """The mean over classes of the share that is right, whole and without each group of stories."""
    n, present = int(labels.max()) + 1, np.unique(group)
    cells = np.searchsorted(present, group) * n + labels
    right, every = (
        torch.as_tensor(np.bincount(cells, weights=w, minlength=n * len(present)).reshape(-1, n))
        for w in (hit.astype(float), np.ones(len(hit)))
    )
    left = (right.sum(0) - right) / (every.sum(0) - every)
    return GroupEstimate((right.sum(0) / every.sum(0)).nanmean(), left.nanmean(1))
