"""Data of the page's table of neurons (`assets/neurons.js` draws it), as JSON: statistics, contexts as room allows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Int
from torch import Tensor

from tslens.analysis.neurons import HeldOutResult, InStoriesResult, ProfilesResult
from tslens.analysis.neurons.choice import PREDICTS, TAIL, UNTESTED
from tslens.analysis.neurons.held_out_result import ALIKE, TESTED, WORDS
from tslens.report.embed import NONE32, Words, as_numpy, flatten, pack, pack_floats

SHOWN = 20  # top tokens of a neuron in their contexts, at most
EFFECTS = 8  # tokens whose logits a neuron raises most, and as many that it lowers
RESTS = (10, 5, 3, 1)  # strongest contexts of a neuron that is not shown in full
REST = 0.7


@dataclass(frozen=True, eq=False)
class FoundNeurons:
    """What was found of a model's neurons."""

    profiles: ProfilesResult
    """Their labels say whether they predict on other stories."""
    tested: HeldOutResult
    """Labels made on one half of the stories and tested on the other."""
    whole: InStoriesResult | None = None
    """A few neurons over the stories shown in full, which are not cut for them; None where no story is shown."""

    @property
    def n(self) -> int:
        """Number of neurons."""
        return self.profiles.max.numel()

    @property
    def clear(self) -> Bool[Tensor, "layer neuron"]:
        """Neurons whose part of speech predicts, is that of all stories too, and that of most of their top tokens."""
        profiles, tested = self.profiles, self.tested
        of_label = (profiles.top_tags == profiles.label[..., None]).sum(-1)
        most = 2 * of_label > (profiles.top_tags >= 0).sum(-1)
        return tested.predicts & (tested.label >= 0) & tested.same_label(profiles) & most


@dataclass(frozen=True)
class Detail:
    """The amount of detail on neurons besides their statistics."""

    full: int
    """Number of best supported neurons with all their contexts, the samples and the promoted tokens."""
    rest: int
    """Number of strongest contexts of each other neuron."""


def neurons(answer: ProfilesResult, words: Words, detail: Detail) -> dict[str, Any]:
    """The table of all neurons, and their contexts as indices into one text that holds every token once.

    Contexts are in the order of neurons, `ranks` of them for a neuron in `full` and `rest` for another.
    """
    layers, width, _ = answer.top_tokens.shape
    ranks = shown_of_each(answer)
    window, rest = answer.top_contexts.shape[-1], min(detail.rest, ranks)
    full = np.sort(best_supported(answer)[: detail.full])
    kept = np.full((layers * width, 1), rest)
    kept[full] = ranks
    shown = (np.arange(ranks) < kept).reshape(layers, width, ranks)
    used = _used_samples(answer, full)
    fields_of_places = (("contexts", (-1, window)), ("story", -1), ("pos", -1))
    tops = (
        as_numpy(getattr(answer, f"top_{field}"))[:, :, :ranks][shown].reshape(shape)
        for field, shape in fields_of_places
    )
    samples = (as_numpy(getattr(answer, f"sample_{field}"))[used] for field, _ in fields_of_places)
    windows, stories, places = map(np.concatenate, zip(tops, samples, strict=True))
    text, middles = flatten(windows, stories, places)
    middles = np.where(middles < 0, NONE32, middles).astype(np.uint32)
    # The interval of `share` is left out: the page works it out from the share and `distinct`, the number of trials.
    fields = ("firing_rate", "max", "share", "lift", "q", "auroc", "auroc_low", "auroc_high")
    of_word = ("word_share", "word_auroc", "word_auroc_low")
    content: dict[str, Any] = {
        "layers": layers,
        "width": width,
        "ranks": ranks,
        "reach": window // 2,
        "rest": rest,
        "full": pack(full.astype(np.uint32)),
        "effects": min(EFFECTS, answer.promoted_tokens.shape[-1]),
        "tags": answer.tags,
        "label": pack(as_numpy(answer.label).ravel().astype(np.uint8)),  # -1 becomes 255
        "best": pack(as_numpy(answer.best).ravel().astype(np.uint8)),
        "distinct": pack(as_numpy(answer.distinct).ravel().astype(np.uint16)),
        "word": pack(words.of_ids(answer.word.flatten())),
        "by_word": pack(as_numpy(answer.by_word).ravel().astype(np.uint8)),
        "kinds": pack(different_tokens(answer).ravel().astype(np.uint16)),
        **{field: pack_floats(getattr(answer, field).flatten()) for field in fields + of_word},
        "corpus": pack(words.of_ids(text)),
        "tops": pack(middles[: shown.sum()]),
        "values": pack_floats(as_numpy(answer.top_values)[:, :, :ranks][shown]),
    }
    for name in ("promoted", "suppressed"):
        ids = as_numpy(getattr(answer, f"{name}_tokens")).reshape(layers * width, -1)[full, :EFFECTS]
        content[name] = pack(words.of_ids(ids.ravel()))
    content["samples"] = _samples(answer, full, used, middles[shown.sum() :])
    return content


def in_stories(answer: InStoriesResult | None, words: Words) -> dict[str, Any] | None:
    """A few neurons over whole stories (`assets/whole.js`): each activation as 128 and 127 steps either way, a neuron's
    largest magnitude being 127."""
    if answer is None:
        return None
    values = as_numpy(answer.value).astype(np.float64)
    most = np.maximum(np.abs(values).max(axis=1), 1e-9)
    return {
        "neurons": answer.chosen,
        "reasons": answer.reasons,
        "most": [float(f"{largest:.6g}") for largest in most],
        "lengths": list(map(len, answer.tokens)),
        "tokens": pack(words.of(token for story in answer.tokens for token in story)),
        "values": pack((128 + np.rint(127 * values / most[:, None])).astype(np.uint8)),
    }


def shown_of_each(answer: ProfilesResult) -> int:
    """Number of top tokens of a neuron that the page shows in their contexts."""
    return min(answer.top_tokens.shape[-1], SHOWN)


def label_tests(answer: ProfilesResult, tested: HeldOutResult) -> dict[str, Any]:
    """What other stories say of every label, and the measures of those that were tested, neuron by neuron."""
    names = ["", PREDICTS, TAIL, UNTESTED]
    flat = tested.same_label(answer).flatten().nonzero().flatten()
    at = {name: TESTED.index(name) for name in ("auroc", "precision", "recall", "base_rate")}
    shown = {name: tested.value[..., i] for name, i in at.items()}
    shown |= {"auroc_low": tested.low[..., at["auroc"]], "alike_low": tested.low[..., ALIKE]}
    shown |= {"words_low": tested.low[..., WORDS]}
    return {
        "names": names,
        "test": pack(np.array([names.index(test) for row in answer.tests for test in row], dtype=np.uint8)),
        "neurons": pack(as_numpy(flat).astype(np.uint32)),
        "positives": pack(as_numpy(tested.positives.flatten()[flat]).astype(np.uint32)),
        "labelled": tested.n_labelled,
        "tested": tested.n_tested,
        **{name: pack_floats(values.flatten()[flat]) for name, values in shown.items()},
    }


def best_supported(answer: ProfilesResult) -> Int[np.ndarray, " neuron"]:
    """Indices of all neurons over all layers, by the evidence for their labels: labelled ones first, by false discovery
    rate, then by the AUROC of the label's tokens against others."""
    part = as_numpy(answer.label).ravel() >= 0
    word = as_numpy(answer.by_word).ravel() & ~part
    q, area = (as_numpy(getattr(answer, name)).ravel() for name in ("q", "auroc"))
    word_q, word_area = (as_numpy(getattr(answer, f"word_{name}")).ravel() for name in ("q", "auroc"))
    q, area = np.where(word, word_q, q), np.where(word, word_area, area)
    return np.lexsort((-np.nan_to_num(area), np.nan_to_num(q, nan=1.0), ~(part | word)))


def different_tokens(answer: ProfilesResult) -> Int[np.ndarray, "layer neuron"]:
    """Number of distinct tokens among each neuron's top ones: with a single one, the label may be due to that token."""
    ordered = np.sort(as_numpy(answer.top_tokens), axis=-1)
    new = np.diff(ordered, axis=-1, prepend=-1) != 0
    return np.asarray(new.sum(-1))


def richest(neurons: int, ranks: int, room: int, size_of: Callable[[Detail], int]) -> Detail:
    """All neurons in full if they fit; otherwise a few contexts of each, and the best supported in full."""
    if size_of(Detail(neurons, 0)) <= room:
        return Detail(neurons, 0)
    rest = next((rest for rest in RESTS if rest < ranks and size_of(Detail(0, rest)) <= REST * room), 0)
    full, many = 0, neurons
    while many - full > 1 + neurons // 1024:
        half = (full + many) // 2
        full, many = (half, many) if size_of(Detail(half, rest)) <= room else (full, half)
    return Detail(full, rest)


def strongest(detail: Detail) -> str:
    """The number of contexts of a neuron that is not shown in full, in words."""
    if not detail.rest:
        return "no context"
    return "the strongest context" if detail.rest == 1 else f"the {detail.rest} strongest contexts"


def _used_samples(answer: ProfilesResult, full: np.ndarray) -> np.ndarray:
    """The tokens of the sample shown for any neuron in `full`, first those shown for all."""
    drawn = np.arange(answer.random_values.shape[-1] if full.size else 0)
    quantile = as_numpy(answer.quantile_samples.flatten(0, 1))[full].ravel()
    return np.asarray(np.union1d(drawn, quantile[quantile >= 0]).astype(np.int64))


def _samples(answer: ProfilesResult, full: np.ndarray, used: np.ndarray, places: np.ndarray) -> dict[str, Any]:
    indices = as_numpy(answer.quantile_samples.flatten(0, 1))[full]
    index = np.where(indices < 0, 0xFFFF, np.searchsorted(used, indices)).astype(np.uint16)
    return {
        "levels": answer.quantiles,
        "each": indices.shape[-1],
        "places": pack(places),
        "index": pack(index.ravel()),
        "values": pack_floats(as_numpy(answer.quantile_values.flatten(0, 1))[full].ravel()),
        "random": pack_floats(as_numpy(answer.random_values.flatten(0, 1))[full].ravel()),
        "drawn": answer.random_values.shape[-1],
    }
