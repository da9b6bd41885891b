"""What does the model lose without a labelled neuron, on the tokens of its label and elsewhere? (the causal check)

A neuron's activation is replaced at every position by its mean over all positions that are read (mean ablation; Wang et
al. 2022, arXiv 2211.00593). The loss of the token that follows is compared between tokens of the label and other
tokens of the same stories whose next token is as frequent. *Served* means that the model loses more on the former.

Ablating any neuron of a layer may cost more on some part of speech. So for every labelled neuron an unlabelled one of
the same layer, drawn by a hash, is ablated too and measured on the same tokens.

What lies before the neuron is computed once: replacing an activation moves the residual stream after its block along
one direction, and only the blocks above run again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tslens import forward, stats
from tslens.analysis.neurons.halved import tags_in
from tslens.analysis.neurons.mean_ablation_result import COUNTED, MeanAblationResult, counted
from tslens.analysis.neurons.result import ProfilesResult
from tslens.batching import Batch, chosen, contrast_weights
from tslens.draws import below, draw
from tslens.errors import InputError
from tslens.halves import FEWEST as FOR_HALVES
from tslens.halves import halves, twice
from tslens.models import name_of, spec_of, story_tokenizer_of
from tslens.pos.types import words
from tslens.progress import track

if TYPE_CHECKING:
    from tslens.models import LanguageModel

FEWEST = 4  # stories, below which there is no interval
LEAST_ERROR = 1e-6  # losses are float32: what varies by less is not known to vary

Place = tuple[int, int]
Weights = tuple[Float[Tensor, "row pos"], Float[Tensor, "row pos"]]
"""Of the tokens of a label, and of the others that they are compared with."""


def mean_ablation(
    model: "LanguageModel",
    stories: Iterable[str],
    profiles: ProfilesResult,
    *,
    rows: int = 32,
    context: int = 128,
    most: int = 200,
    controls: bool = True,
) -> MeanAblationResult:
    """Ablate labelled neurons, and with `controls` as many unlabelled ones, and measure the loss on stories.

    Reads the `rows` stories that a hash of their text chooses, each to `context` tokens, and ablates the `most`
    labelled neurons with the highest AUROC.

    Raises:
        InputError: fewer than four stories, profiles of another model, no labelled neuron, or a compressor.
    """
    if profiles.model != name_of(model):
        raise InputError(f"The labels are those of {profiles.model}, not of {name_of(model)}. Give the model's own.")
    tokenizer, context = story_tokenizer_of(model), min(context, spec_of(model).n_ctx)
    read = chosen(stories, tokenizer, rows=rows, context=context)
    if len(read.tokens) < FEWEST:
        raise InputError(f"An interval needs {FEWEST} stories or more; there are {len(read.tokens)}. Give more.")
    places = _labelled(profiles)[:most]
    if not places:
        raise InputError("No neuron has a label, so there is nothing to check. Labels need 100 stories or more.")
    served = _served(model, read, profiles, places)
    others = _controls(profiles, places) if controls else []
    baseline, increase = _increases(model, read, [*places, *others])
    scored, own = read.mask[:, 1:] & read.mask[:, :-1], increase[: len(places)]
    found = {name: torch.from_numpy(part).float() for name, part in _estimates(scored, own, served).items()}
    by_word = profiles.by_word[tuple(zip(*places, strict=True))]
    return MeanAblationResult(
        model=name_of(model),
        rows=len(read.tokens),
        tokens=int(read.mask[:, 1:].sum()),
        baseline=baseline,
        layer=torch.tensor([layer for layer, _ in places]),
        neuron=torch.tensor([neuron for _, neuron in places]),
        labels=[profiles.name_of(*place) for place in places],
        by_word=by_word,
        control=torch.tensor([neuron for _, neuron in others or places]),
        served=torch.stack([on.sum() for on, _ in served]).float(),
        **found | _of_controls(scored, increase[len(places) :], served),
        of_halves=_on_halves(scored, own, served, by_word),
    )


def _of_controls(
    scored: Bool[Tensor, "row pos"], increase: Float[Tensor, "control row pos"], served: Sequence[Weights]
) -> dict[str, Any]:
    """The contrasts of the unlabelled neurons on the same tokens; NaN where none was ablated."""
    ends = ("contrast", "contrast_low", "contrast_q")
    if not len(increase):
        return {f"control_{name}": torch.full((len(served),), torch.nan) for name in ends}
    found = _estimates(scored, increase, served)
    return {f"control_{name}": torch.from_numpy(found[name]).float() for name in ends}


def _on_halves(
    scored: Bool[Tensor, "row pos"],
    increase: Float[Tensor, "place row pos"],
    served: Sequence[Weights],
    by_word: Bool[Tensor, " place"],
) -> list[dict[str, int]]:
    """The counts on halves of the rows, which are in the order of their hashes, each row read twice (`halves.twice`);
    none of too few rows."""
    counts = []
    for groups in halves() if len(scored) >= FOR_HALVES else ():
        half = twice(len(scored), groups)
        found = _estimates(scored[half], increase[:, half], [(on[half], off[half]) for on, off in served])
        counts.append(counted(by_word, *(torch.from_numpy(found[name]) for name in COUNTED)))
    return counts


def _labelled(profiles: ProfilesResult) -> list[Place]:
    """The labelled neurons, those with the highest AUROC first."""
    area = torch.where(profiles.by_word, profiles.word_auroc, profiles.auroc)
    places = profiles.is_labelled.nonzero().tolist()
    return sorted(((layer, neuron) for layer, neuron in places), key=lambda place: (-float(area[place]), place))


def _controls(profiles: ProfilesResult, places: Sequence[Place]) -> list[Place]:
    """For each neuron an unlabelled one of its layer, drawn by its place; itself where the layer has none."""
    named = profiles.is_labelled
    found = []
    for layer, neuron in places:
        others = (~named[layer]).nonzero().flatten()
        drawn = draw(torch.tensor(layer), torch.tensor(neuron))
        found.append((layer, int(others[below(torch.tensor(len(others)), drawn)]) if len(others) else neuron))
    return found


def _served(model: "LanguageModel", read: Batch, profiles: ProfilesResult, places: Sequence[Place]) -> list[Weights]:
    """For each neuron the weights of the tokens of its label, and of the others, by the position that is predicted."""
    tags = tags_in(read, story_tokenizer_of(model))[:, :-1]
    word_of = words(profiles.pieces)
    word = word_of[read.tokens[:, :-1]]
    scored, following = read.mask[:, 1:] & read.mask[:, :-1], read.tokens[:, 1:]
    kept: dict[tuple[int, int], tuple[Tensor, Tensor]] = {}
    found = []
    for place in places:
        label, one = int(profiles.label[place]), int(profiles.word[place])
        key = (label, -1 if label >= 0 else int(word_of[one]))
        if key not in kept:
            has = tags == label if label >= 0 else word == key[1]
            has = has.clone()
            has[:, 0] = False  # BOS has no label
            kept[key] = contrast_weights(following, scored, has)
        found.append(kept[key])
    return found


def _increases(
    model: "LanguageModel", read: Batch, places: Sequence[Place]
) -> tuple[float, Float[Tensor, "place row pos"]]:
    """The mean loss of the whole model, and what each scored token's loss gains without each neuron."""
    device = next(model.parameters()).device
    tokens, real = read.tokens.to(device), read.mask.to(device)
    scored = real[:, 1:] & real[:, :-1]
    with torch.inference_mode():
        run = forward.EditedForward.of(model)
        used = sorted({layer for layer, _ in places})
        names = [f"blocks.{layer}.{part}" for layer in used for part in ("mlp.hook_post", "hook_resid_post")]
        last, seen = run(run.embedded(tokens), keep=names)
        full = run.losses(last, tokens, scored)
        more = torch.zeros(len(places), *scored.shape, dtype=torch.float64)
        for i, (layer, neuron) in enumerate(track(places, "ablating neurons")):
            post = seen[f"blocks.{layer}.mlp.hook_post"]
            change = forward.neuron_change(model, layer, post, neuron, post[..., neuron][real].mean())
            after, _ = run(seen[f"blocks.{layer}.hook_resid_post"] + change, first=layer + 1)
            more[i][scored.cpu()] = (run.losses(after, tokens, scored) - full).cpu()
    return float(full.mean()), more


@dataclass(frozen=True)
class _Estimate:
    """A number for each neuron with its interval and its two-sided q."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    q: np.ndarray

    @classmethod
    def of(cls, value: np.ndarray, without: np.ndarray) -> "_Estimate":
        interval = stats.jackknife(value, without)
        p = [stats.jackknife_p(s * value, s * without, 0.0, least_error=LEAST_ERROR) for s in (1, -1)]
        q = stats.benjamini_hochberg((2 * np.minimum(*p)).clip(max=1))
        return cls(value, interval.low, interval.high, q)


def _estimates(
    scored: Bool[Tensor, "row pos"], increase: Float[Tensor, "place row pos"], served: Sequence[Weights]
) -> dict[str, np.ndarray]:
    """Increases overall, on the tokens of the label and on others, and their contrast, with the rows as units."""
    overall = _ratio((increase * scored).sum(-1), scored.double().sum(-1).expand(len(increase), -1))
    weight = torch.stack([on.sum(-1) for on, _ in served])
    on, off = (
        _ratio(torch.stack([(row * pair[i]).sum(-1) for row, pair in zip(increase, served, strict=True)]), weight)
        for i in (0, 1)
    )
    whole, contrast = _Estimate.of(*overall), _Estimate.of(on[0] - off[0], on[1] - off[1])
    return {
        "increase": whole.value,
        "low": whole.low,
        "high": whole.high,
        "q": whole.q,
        "on_served": on[0],
        "on_others": off[0],
        "contrast": contrast.value,
        "contrast_low": contrast.low,
        "contrast_high": contrast.high,
        "contrast_q": contrast.q,
    }


def _ratio(over: Float[Tensor, "place row"], under: Float[Tensor, "place row"]) -> tuple[np.ndarray, np.ndarray]:
    """The sum over rows of `over` divided by that of `under`, and the same without each row; NaN where that is 0."""

    def divide(a: Tensor, b: Tensor) -> np.ndarray:
        return torch.where(b > 0, a / b, torch.nan).numpy()

    a, b = over.sum(1), under.sum(1)
    return divide(a, b), divide(a[:, None] - over, b[:, None] - under).T
