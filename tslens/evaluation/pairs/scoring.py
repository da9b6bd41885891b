"""Log-probabilities of the two texts of minimal pairs, under models and under n-gram models."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch

from tslens import progress
from tslens.errors import InputError
from tslens.evaluation.kept_lines import kept_log_probabilities
from tslens.evaluation.pairs.reading import PairSet
from tslens.evaluation.pairs.result import PairsResult
from tslens.models import LanguageModel, spec_of, tokenizer_of, training_record
from tslens.ngrams import KneserNey
from tslens.ngrams.words import sentences_of
from tslens.stories.pairs.phenomena import MinimalPair

AT_ONCE = 1_000
"""Texts whose n-grams are looked up together."""


@runtime_checkable
class NGram(Protocol):
    """An n-gram model, or anything else that scores a text by itself."""

    def log_probability(self, text: str) -> float:
        """Of the whole text, in nats."""


def score(
    models: Mapping[str, LanguageModel],
    pairs: PairSet,
    *,
    n_grams: Mapping[str, NGram] | None = None,
    precision: str = "float32",
    batch_tokens: int = 2048,
) -> PairsResult:
    """The log-probability of both texts of every pair, summed over the tokens after BOS.

    Models and n-gram models by their names in the tables. Pairs that are longer than the context of any of the models
    are left out for all, and counted. The log-probabilities under models are kept, paradigm by paradigm (see
    `kept_log_probabilities`). InputError if no pair is left, or if there is nothing to score by.
    """
    n_grams = n_grams or {}
    if not models and not n_grams:
        raise InputError("give a model to score the pairs with.")
    lines, kept = _encoded(models, pairs)
    texts = [text for pair in kept for text in (pair.good, pair.bad)]
    scores, unequal = [], []
    how: dict[str, Any] = {"precision": precision, "batch_tokens": batch_tokens}
    how["parts"] = [pair.paradigm for pair in kept for _ in range(2)]
    for name, model in models.items():
        chosen = lines[name]
        scores.append(kept_log_probabilities(model, chosen, [1] * len(chosen), what=f"pairs, {name}", **how))
        unequal.append(_unequal([len(line) for line in chosen]))
    for name, n_gram in n_grams.items():
        scores.append(_by_n_gram(n_gram, texts, f"pairs, {name}"))
        unequal.append(_unequal([len(text.split()) for text in texts]))
    both, paradigms = torch.stack(scores).view(len(scores), -1, 2), list(dict.fromkeys(pair.paradigm for pair in kept))
    return PairsResult(
        pairs=pairs.name,
        scorers=[*models, *n_grams],
        n_grams=list(n_grams),
        paradigms=paradigms,
        axes=[pairs.axes.get(name, "") for name in paradigms],
        goods=[pair.good for pair in kept],
        bads=[pair.bad for pair in kept],
        paradigm=torch.tensor([paradigms.index(pair.paradigm) for pair in kept]),
        item=torch.tensor([pair.item for pair in kept]),
        good=both[:, :, 0],
        bad=both[:, :, 1],
        unequal=torch.stack(unequal),
        identical=pairs.identical,
        unknown=pairs.unknown,
        too_long=len(pairs.pairs) - len(kept),
        trained_on_order=[name for name, model in models.items() if "contrastive" in _objective(model)],
    )


def _encoded(
    models: Mapping[str, LanguageModel], pairs: PairSet
) -> tuple[dict[str, list[list[int]]], list[MinimalPair]]:
    """The tokens of each pair's two texts by model, one after the other, and the pairs: those that fit all models."""
    texts = [text for pair in pairs.pairs for text in (pair.good, pair.bad)]
    lines = {name: tokenizer_of(model).encode(texts) for name, model in models.items()}
    fits = [True] * len(pairs.pairs)
    for name, model in models.items():
        context = spec_of(model, compressors=True).n_ctx
        fits = [fit and max(map(len, lines[name][2 * i : 2 * i + 2])) <= context for i, fit in enumerate(fits)]
    if not any(fits):
        raise InputError(f"every pair of {pairs.name} is longer than the context of a model; give shorter texts.")
    kept = [2 * i + side for i, fit in enumerate(fits) if fit for side in (0, 1)]
    return {name: [of[i] for i in kept] for name, of in lines.items()}, [pairs.pairs[i // 2] for i in kept[::2]]


def _by_n_gram(n_gram: NGram, texts: Sequence[str], what: str) -> torch.Tensor:
    """The log-probability of each text."""
    values: list[float] = []
    for few in progress.track([texts[i : i + AT_ONCE] for i in range(0, len(texts), AT_ONCE)], what):
        values += _together(n_gram, few) if isinstance(n_gram, KneserNey) else map(n_gram.log_probability, few)
    return torch.tensor(values, dtype=torch.float64)


def _together(n_gram: KneserNey, texts: Sequence[str]) -> list[float]:
    """The `log_probability` of each text; the words of all texts are looked up in one pass."""
    rows = [[n_gram.windows(sentence) for sentence in sentences_of(text)] for text in texts]
    flat = [np.zeros((0, len(n_gram.orders)), dtype=np.uint64), *(grams for of in rows for grams in of)]
    found = iter(np.split(n_gram.of_last_words(np.concatenate(flat)), np.cumsum([len(grams) for grams in flat])))
    next(found)
    return [float(sum(next(found).sum() for _ in of)) for of in rows]


def _objective(model: LanguageModel) -> str:
    recipe = training_record(model).get("recipe") or {}
    return str((recipe.get("objective") or {}).get("name", ""))


def _unequal(lengths: Sequence[int]) -> torch.Tensor:
    good, bad = torch.tensor(lengths).view(-1, 2).T
    found: torch.Tensor = good != bad
    return found
