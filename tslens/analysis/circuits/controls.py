"""Controls of a circuit: what the same search gives where there is nothing to find, and what a random set keeps."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens import stats
from tslens.analysis.circuits.accuracy import both_margins
from tslens.analysis.circuits.clusters import over_clusters
from tslens.analysis.circuits.nodes import Circuits, node_names, screen
from tslens.analysis.circuits.search import Scale, search
from tslens.models import story_tokenizer_of
from tslens.stories.pairs import Pairs

if TYPE_CHECKING:
    from tslens.models import LanguageModel


@dataclass(frozen=True)
class Found:
    """A circuit that was found on one half of some pairs, and what it keeps on each half."""

    members: Bool[Tensor, " node"]
    order: Float[Tensor, " node"]
    """Each node's score by the screen, on the half it was found on."""
    on: Circuits
    """The half that it was found on."""
    held: Circuits
    """The half that it is measured on."""

    @property
    def keeps(self) -> float:
        """Its faithfulness on the half it was found on."""
        return Scale.of(self.on).faithfulness(self.on.margins(self.members))

    def faithfulness(self) -> stats.Interval:
        """Its faithfulness on the other half, with a 95% interval over templates (`clusters`); NaN where there is
        nothing to keep."""
        return self.share(self.held.margins(self.members))

    def share(self, margins: Float[Tensor, " pair"]) -> stats.Interval:
        """The share of the effect on the other half that is left with these margins, with the interval of
        `faithfulness`."""
        n = len(self.members)
        if Scale.of(self.on).flat or Scale.of(self.held).flat:
            missing = float("nan")
            return stats.Interval(missing, missing, missing, 0.95, "nothing to keep")
        nothing, whole = (self.held.margins(torch.full((n,), value)) for value in (False, True))
        rows = torch.stack([margins - nothing, whole - nothing], dim=1).numpy()
        return over_clusters(rows, self.template, lambda part: part[:, 0].mean() / part[:, 1].mean())

    def effect(self) -> stats.Interval:
        """m(model) - m(nothing) on the other half, with its interval over templates: what there is to explain, in
        logits."""
        n = len(self.members)
        whole, nothing = (self.held.margins(torch.full((n,), value)) for value in (True, False))
        return over_clusters((whole - nothing).numpy(), self.template)

    @property
    def template(self) -> Int[np.ndarray, " pair"]:
        """The template of every pair of the other half."""
        return np.asarray(self.held.runs.pairs.template)


def found_on(model: "LanguageModel", pairs: Pairs, on: Tensor, held: Tensor) -> Found:
    """The search on one half of the pairs, with the other half to measure it on."""
    first, second = Circuits.of(model, pairs[on]), Circuits.of(model, pairs[held])
    order = screen(model, pairs[on]).mean(0)
    return Found(search(first, order), order, first, second)


def as_control(kind: str, model: "LanguageModel", pairs: Pairs, on: Tensor, held: Tensor) -> dict[str, Any]:
    """A row about what the same search finds on these pairs: size, faithfulness on both halves, and the effect that
    there was to explain."""
    found = found_on(model, pairs, on, held)
    kept, effect = found.faithfulness(), found.effect()
    right = float((both_margins(model, pairs).sign() + 1).mean() / 2)
    return {
        "control": kind,
        "size": int(found.members.sum()),
        "accuracy": right,
        "keeps": found.keeps,
        "faithfulness": kept.estimate,
        "low": kept.low,
        "high": kept.high,
        "effect": effect.estimate,
        "effect_low": effect.low,
        "effect_high": effect.high,
    }


def nonsense(model: "LanguageModel", pairs: Pairs, seed: int) -> Pairs:
    """The same prompts with answers that have nothing to do with them: each answer is exchanged for a random word that
    stands in no prompt, the same one throughout (Drori 2026: pruned circuits "solve" such tasks)."""
    tokenizer = story_tokenizer_of(model)
    pieces = tokenizer.pieces(range(tokenizer.size))
    used = set(pairs.clean.flatten().tolist()) | set(pairs.corrupt.flatten().tolist())
    answers = torch.cat([pairs.right, pairs.wrong]).unique()
    used |= set(answers.tolist())
    free = [i for i, piece in enumerate(pieces) if piece[:1] == " " and piece[1:].isalpha() and i not in used]
    if len(free) < len(answers):  # a vocabulary of a few hundred tokens has few whole words
        free = [i for i in range(tokenizer.size) if i not in used]
    drawn = torch.randperm(len(free), generator=torch.Generator().manual_seed(seed))[: len(answers)]
    words = torch.tensor(free)[drawn]
    return replace(
        pairs,
        task=f"nonsense {seed}",
        right=words[torch.searchsorted(answers, pairs.right)],
        wrong=words[torch.searchsorted(answers, pairs.wrong)],
    )


def random_sets(found: Found, n: int, seed: int) -> Float[Tensor, " set"]:
    """The faithfulness, on the other half, of `n` random sets with as many heads and as many MLPs as the circuit."""
    scale = Scale.of(found.held)
    mlp = torch.tensor([name.startswith("MLP") for name in node_names(found.held.runs.spec)])
    generator = torch.Generator().manual_seed(seed)
    kept = []
    for _ in range(n):
        members = torch.zeros_like(found.members)
        for kind in (mlp, ~mlp):
            places = kind.nonzero().flatten()
            order = torch.randperm(len(places), generator=generator)
            members[places[order[: int((found.members & kind).sum())]]] = True
        kept.append(scale.faithfulness(found.held.margins(members)))
    return torch.tensor(kept)


def donors(found: Found, n: int, seed: int) -> tuple[stats.Interval, stats.Interval]:
    """The faithfulness, on the other half, where the nodes outside see another pair's corrupt prompt (of the same
    template and length): the mean over `n` drawn donors, and with every pair's worst donor (adversarial ablation). The
    intervals are over templates."""
    seen = [found.held.margins(found.members)]
    for i in range(n):
        order = donor_order(found.held.runs.pairs, torch.Generator().manual_seed(1_000_003 * seed + i))
        seen.append(found.held.donated(order).margins(found.members))
    margins = torch.stack(seen)
    drawn = margins[1:] if n else margins
    return found.share(drawn.mean(0)), found.share(margins.amin(0))


def donor_order(pairs: Pairs, generator: torch.Generator) -> Int[Tensor, " pair"]:
    """For every pair a random other one of the same template and length; itself where there is none."""
    order = torch.arange(len(pairs))
    kinds = torch.stack([pairs.template, pairs.length], dim=1).unique(dim=0)
    for template, length in kinds.tolist():
        group = ((pairs.template == template) & (pairs.length == length)).nonzero().flatten()
        shuffled = group[torch.randperm(len(group), generator=generator)]
        order[shuffled] = shuffled.roll(1)  # a cycle: nobody is its own donor
    return order


def jaccard(sets: list[Bool[Tensor, " node"]]) -> stats.Interval:
    """The mean overlap (intersection over union) of every two of these sets, with its jackknife interval over sets,
    within 0 and 1. The samples that they were found on have the same templates."""
    members = torch.stack(sets).double()
    both = members @ members.T
    sizes = members.sum(1)
    overlap = (both / (sizes[:, None] + sizes - both).clamp(min=1)).numpy()
    n = len(sets)
    mean = (overlap.sum() - np.trace(overlap)) / (n * (n - 1))
    without = [np.delete(np.delete(overlap, i, 0), i, 1) for i in range(n)]
    if n < 3:
        return stats.Interval(float(mean), float("nan"), float("nan"), 0.95, "two sets")
    found = stats.jackknife(mean, [(rest.sum() - np.trace(rest)) / ((n - 1) * (n - 2)) for rest in without])
    return replace(found, low=max(found.low, 0.0), high=min(found.high, 1.0))


def jaccard_by_chance(sizes: list[int], n: int, seed: int, draws: int = 200) -> float:
    """The mean overlap of random sets of these sizes, of `n` nodes."""
    generator = torch.Generator().manual_seed(seed)
    drawn = [[torch.rand(n, generator=generator).argsort().argsort() < size for size in sizes] for _ in range(draws)]
    return float(np.mean([jaccard(sets).estimate for sets in drawn]))
