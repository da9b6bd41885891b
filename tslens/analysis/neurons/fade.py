"""Does a neuron's label hold where the truth is known, and does the model write what the label says when it is steered?

FADE's four measures (Puri et al. 2025, arXiv 2502.16994) of every label that predicts (`held_out`). FADE has a language
model write texts for a concept and say which texts have it; here the story generator does both, because it knows the
part of speech of every word that it writes.

*Clarity* is the Gini coefficient, 2 AUROC - 1, of activations on the generator's tokens of the label against all tokens
of natural stories. *Responsiveness* is that of the generator's tokens of the label against its other tokens, *purity*
their average precision. As in `held_out` the word types that gave a neuron its part of speech do not test it, the
natural stories are of the half that gave no label, and FADE's absolute value is not taken.

*Faithfulness*: the activation is set, at every position of natural stories, to 0 and to multiples m of the neuron's own
large activation (its 99.9% quantile there), of either sign as in FADE, though few neurons go far below 0 by themselves.
s(m) is the share of next-token probability on tokens of the label: those of the word, or those whose commonest tag in
the natural stories is the part of speech. The measure is max(0, max s(m) - s(0)) / (1 - s(0)), as in FADE, where s is
the share of written texts in which a language model finds the concept. A neuron that fires on nouns need not write
nouns: this measures whether it does, and the strength says whether by firing or by its opposite.

Intervals are 95%, by the jackknife over stories; a story is left out with and without steering. Any neuron has some
AUROC, and the maximum over strengths is above 0 for any neuron: so the same is measured of neurons without a label, of
the same layer, with the same tokens and the same label. A measure counts if its interval is above all of theirs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from tslens import stats
from tslens.analysis.neurons.fade_evidence import (
    STRENGTHS,
    FadeEvidence,
    Place,
    ReadTokens,
    gathered,
    has,
    other_half,
)
from tslens.analysis.neurons.fade_result import MEASURES, FadeResult
from tslens.analysis.neurons.held_out_measures import AUROC, GROUPS, leaving_out, measured
from tslens.analysis.neurons.held_out_measures import MEASURES as OF_TEST
from tslens.analysis.neurons.held_out_result import HeldOutResult
from tslens.batching import chosen
from tslens.errors import InputError
from tslens.halves import GROUPS as PARTS
from tslens.models import name_of, spec_of, story_tokenizer_of
from tslens.pos.types import words
from tslens.progress import track
from tslens.result import read_on

if TYPE_CHECKING:
    from tslens.models import LanguageModel

FEWEST = 4  # stories, below which there is no interval
PURITY = OF_TEST.index("purity")
"""Where purity stands among the measures of a label on tokens."""


def fade(
    model: "LanguageModel",
    stories: Iterable[str],
    labels: HeldOutResult,
    *,
    rows: int = 64,
    prompts: int = 32,
    made: int = 64,
    controls: int = 19,
    context: int = 128,
    most: int = 200,
) -> FadeResult:
    """Clarity, responsiveness, purity and faithfulness of the labels that predict, at most `most`, the best first.

    Reads about `rows` natural stories of the half that gave no label, which a hash of their text chooses, and `made`
    generated ones, each to `context` tokens; steers in the first `prompts` natural ones, to 64 tokens; holds every
    neuron against `controls` others of its layer.

    Raises:
        InputError: fewer than four natural stories to read, labels of another model, or a compressor.
    """
    found = evidence(
        model, stories, labels, rows=rows, prompts=prompts, made=made, controls=controls, context=context, most=most
    )
    answer: FadeResult = read_on(judged(found), stories)
    return answer


def evidence(
    model: "LanguageModel",
    stories: Iterable[str],
    labels: HeldOutResult,
    *,
    rows: int = 64,
    prompts: int = 32,
    made: int = 64,
    controls: int = 19,
    context: int = 128,
    most: int = 200,
) -> FadeEvidence:
    """What `fade` judges, for other judgements of it."""
    spec = spec_of(model)
    if labels.model != name_of(model) or labels.label.shape != (spec.n_layers, spec.mlp_width):
        raise InputError(f"The labels are not those of the neurons of {name_of(model)}. Give the model's own.")
    context = min(context, spec.n_ctx)
    natural = other_half(chosen(stories, story_tokenizer_of(model), rows=2 * rows, context=context), rows)
    if len(natural.tokens) < FEWEST:
        raise InputError(
            f"An interval needs {FEWEST} stories or more that gave no label; there are {len(natural.tokens)}. "
            "Give more stories: 100 or more say something."
        )
    places = _predicting(labels)[:most]
    return gathered(model, natural, labels, places, prompts=prompts, made=made, controls=controls, context=context)


def _predicting(labels: HeldOutResult) -> list[Place]:
    """The neurons whose label predicts, the best first."""
    places = [(layer, neuron) for layer, neuron in labels.predicts.nonzero().tolist()]
    return sorted(places, key=lambda place: (-float(labels.low[place][AUROC]), place))


def judged(found: FadeEvidence, half: Sequence[int] | None = None) -> FadeResult:
    """The measures from all stories, or from those of a half (see `halves`): groups of stories by their place."""
    n, drawn = len(found.places), max([len(_rivals(found, place)) for place in found.places], default=0)
    value, low, high = (np.full((n, len(MEASURES)), np.nan) for _ in range(3))
    controls = np.full((n, max(drawn, 1), len(MEASURES)), np.nan)
    strength, positives = np.full(n, np.nan), np.zeros(n, dtype=np.int64)
    word_of = words(found.labels.pieces).numpy()
    natural, made = (_part(read, half) for read in (found.natural, found.made))
    rows = _in(np.arange(len(found.scored)), half)
    for i, place in enumerate(track(found.places, "judging labels")):
        rivals = _rivals(found, place)
        sides = _sides(found, i, word_of, natural, made)
        positives[i] = sides[1].positive.sum()
        for j, part in enumerate(_on_tokens(sides, i, rivals, float(found.labels.threshold[place]))):
            value[i, j], low[i, j], high[i, j], controls[i, : len(rivals), j] = part
        mass = found.mass[..., found.columns.index(found.concepts[i])][:, :, rows]
        value[i, -1], low[i, -1], high[i, -1], strength[i] = _faithful(mass[i], found.scored[rows])
        controls[i, : len(rivals), -1] = [_faithful(mass[k], found.scored[rows])[0] for k in rivals]
    labels = found.labels
    return FadeResult(
        model=labels.model,
        labels=[labels.label_of(*place) for place in found.places],
        by_word=torch.tensor([by_word for by_word, _ in found.concepts], dtype=torch.bool),
        layer=torch.tensor([layer for layer, _ in found.places], dtype=torch.int64),
        neuron=torch.tensor([neuron for _, neuron in found.places], dtype=torch.int64),
        value=torch.from_numpy(value).float(),
        low=torch.from_numpy(low).float(),
        high=torch.from_numpy(high).float(),
        controls=torch.from_numpy(controls).float(),
        strength=torch.from_numpy(strength).float(),
        positives=torch.from_numpy(positives),
        natural=len(np.unique(natural.row)),
        made=len(np.unique(made.row)),
        prompts=int(rows.sum()),
    )


def _rivals(found: FadeEvidence, place: Place) -> list[int]:
    """The units that a place is held against: neurons of its layer without a label."""
    return [len(found.places) + i for i, (layer, _) in enumerate(found.others) if layer == place[0]]


def _in(rows: Int[np.ndarray, " item"], half: Sequence[int] | None) -> Bool[np.ndarray, " item"]:
    return np.ones(len(rows), dtype=bool) if half is None else np.isin(rows % PARTS, half)


def _part(read: ReadTokens, half: Sequence[int] | None) -> ReadTokens:
    """The tokens of the stories of a half; rows become groups of stories, for the jackknife."""
    kept = _in(read.row, half)
    number = np.unique(read.row[kept], return_inverse=True)[1]
    return ReadTokens(read.ids[kept], read.tags[kept], number, read.values[:, kept])


@dataclass(frozen=True)
class Separation:
    """Tokens that a label should tell apart from others by the activations."""

    values: Float[np.ndarray, "unit token"]
    positive: Bool[np.ndarray, " token"]
    group: Int[np.ndarray, " token"]
    """The group of stories of each token."""


def _sides(
    found: FadeEvidence, i: int, word_of: Int[np.ndarray, " d_vocab"], natural: ReadTokens, made: ReadTokens
) -> tuple[Separation, Separation]:
    """For clarity the generator's tokens of a label among those of natural stories, for the others among its own."""
    concept, tokens = found.concepts[i], found.labels.label_tokens[found.places[i]].numpy()
    own = np.zeros(len(word_of), dtype=bool)
    if not concept[0]:
        own[word_of[tokens[tokens >= 0]]] = True
    of_made, of_natural = word_of[made.ids], word_of[natural.ids]
    positive = has(concept, made.tags, of_made) & ~own[of_made]
    plain, others = ~own[of_natural], ~own[of_made]
    both = np.concatenate([made.values[:, positive], natural.values[:, plain]], axis=1)
    group = np.concatenate([made.row[positive], natural.row[plain]]) % GROUPS
    clear = Separation(both, np.arange(both.shape[1]) < positive.sum(), group)
    return clear, Separation(made.values[:, others], positive[others], made.row[others] % GROUPS)


def _on_tokens(
    sides: tuple[Separation, Separation], own: int, rivals: Sequence[int], threshold: float
) -> list[tuple[float, float, float, list[float]]]:
    """Clarity, responsiveness and purity of a unit, with their intervals, and those of its rivals."""
    answers = []
    for side, measures in zip(sides, ([AUROC], [AUROC, PURITY]), strict=True):
        values, positive = side.values, side.positive
        scores = measured(values[own], positive, side.group, threshold)
        alone, enough = np.zeros(len(positive), dtype=int), not np.isnan(scores.value[AUROC])
        others = [leaving_out(values[k], positive, alone, threshold)[0] for k in rivals] if enough else []
        for at in measures:
            scale, shift = (2, -1) if at == AUROC else (1, 0)  # a Gini coefficient from an AUROC
            ends = (scale * float(part[at]) + shift for part in (scores.value, scores.low, scores.high))
            of_others = [scale * float(other[at]) + shift for other in others] or [np.nan] * len(rivals)
            value, low, high = ends
            answers.append((value, low, high, of_others))
    return answers


def _faithful(
    mass: Float[np.ndarray, "strength row"], scored: Int[np.ndarray, " row"]
) -> tuple[float, float, float, float]:
    """What the best strength gains over 0, of all that is left to gain, with its interval; and that strength."""

    def gains(total: np.ndarray, positions: np.ndarray) -> np.ndarray:
        share = total / positions
        return np.asarray((share[1:] - share[0]) / (1 - share[0]))

    if len(scored) < 2:
        return (np.nan,) * 4
    whole = gains(mass.sum(1), scored.sum())
    without = gains(mass.sum(1, keepdims=True) - mass, scored.sum() - scored)
    value = max(float(whole.max()), 0.0)
    interval = stats.jackknife(value, without.max(0).clip(min=0))
    best = STRENGTHS[1 + int(whole.argmax())] if value > 0 else 0.0
    return value, max(interval.low, 0.0), min(interval.high, 1.0), best
