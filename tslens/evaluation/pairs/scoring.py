"""Log-probabilities of the two texts of minimal pairs, under models and under n-gram models."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import torch

from tslens.errors import InputError
from tslens.evaluation.kept_lines import kept_log_probabilities
from tslens.evaluation.pairs.reading import PairSet
from tslens.evaluation.pairs.result import PairsResult
from tslens.models import LanguageModel, objective_of, spec_of, tokenizer_of
from tslens.stories.pairs.phenomena import MinimalPair


@runtime_checkable
class NGram(Protocol):
    """An n-gram model, or anything else that scores texts by itself."""

    def log_probabilities(self, texts: Sequence[str]) -> Sequence[float]:
        """Of each whole text, in nats."""


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
    for n_gram in n_grams.values():
        scores.append(torch.tensor(n_gram.log_probabilities(texts), dtype=torch.float64))
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
        trained_on_order=[
            name for name, model in models.items() if "contrastive" in objective_of(model).get("name", "")
        ],
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


def _unequal(lengths: Sequence[int]) -> torch.Tensor:
    good, bad = torch.tensor(lengths).view(-1, 2).T
    found: torch.Tensor = good != bad
    return found
