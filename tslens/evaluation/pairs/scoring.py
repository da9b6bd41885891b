"""Log-probabilities of the two texts of minimal pairs, under models and under n-gram models."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import torch

from tslens import progress
from tslens.errors import InputError
from tslens.evaluation.lines import log_probabilities
from tslens.evaluation.pairs.reading import PairSet
from tslens.evaluation.pairs.result import PairsResult
from tslens.models import LanguageModel, spec_of, tokenizer_of, training_record


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
    are left out for all, and counted; InputError if that leaves none, or if there is nothing to score by.
    """
    n_grams = n_grams or {}
    if not models and not n_grams:
        raise InputError("give a model to score the pairs with.")
    texts = [text for pair in pairs.pairs for text in (pair.good, pair.bad)]
    lines = {name: tokenizer_of(model).encode(texts) for name, model in models.items()}
    fits = torch.ones(len(pairs.pairs), dtype=torch.bool)
    for name, model in models.items():
        longest = torch.tensor([len(line) for line in lines[name]]).view(-1, 2).amax(1)
        fits &= longest <= spec_of(model, compressors=True).n_ctx
    if not fits.any():
        raise InputError(f"every pair of {pairs.name} is longer than the context of a model; give shorter texts.")
    kept = [2 * i + side for i in fits.nonzero().flatten().tolist() for side in (0, 1)]
    scores, unequal = [], []
    for name, model in models.items():
        chosen = [lines[name][i] for i in kept]
        found = log_probabilities(
            model, chosen, [1] * len(chosen), precision=precision, batch_tokens=batch_tokens, what=f"pairs, {name}"
        )
        scores.append(found)
        unequal.append(_unequal([len(line) for line in chosen]))
    for name, n_gram in n_grams.items():
        chosen_texts = [texts[i] for i in kept]
        values = [n_gram.log_probability(text) for text in progress.track(chosen_texts, f"pairs, {name}")]
        scores.append(torch.tensor(values, dtype=torch.float64))
        unequal.append(_unequal([len(text.split()) for text in chosen_texts]))
    both = torch.stack(scores).view(len(scores), -1, 2)
    chosen_pairs = [pairs.pairs[i] for i in fits.nonzero().flatten().tolist()]
    paradigms = list(dict.fromkeys(pair.paradigm for pair in chosen_pairs))
    places = {name: i for i, name in enumerate(paradigms)}
    return PairsResult(
        pairs=pairs.name,
        scorers=[*models, *n_grams],
        n_grams=list(n_grams),
        paradigms=paradigms,
        axes=[pairs.axes.get(name, "") for name in paradigms],
        goods=[pair.good for pair in chosen_pairs],
        bads=[pair.bad for pair in chosen_pairs],
        paradigm=torch.tensor([places[pair.paradigm] for pair in chosen_pairs]),
        item=torch.tensor([pair.item for pair in chosen_pairs]),
        good=both[:, :, 0],
        bad=both[:, :, 1],
        unequal=torch.stack(unequal),
        identical=pairs.identical,
        unknown=pairs.unknown,
        too_long=len(pairs.pairs) - len(chosen_pairs),
        trained_on_order=[name for name, model in models.items() if "contrastive" in _objective(model)],
    )


def _objective(model: LanguageModel) -> str:
    recipe = training_record(model).get("recipe") or {}
    return str((recipe.get("objective") or {}).get("name", ""))


def _unequal(lengths: Sequence[int]) -> torch.Tensor:
    good, bad = torch.tensor(lengths).view(-1, 2).T
    return good != bad
