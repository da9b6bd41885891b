"""Which components write the next token directly, over a corpus and by part of speech? (direct logit attribution)"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import pos
from tslens.analysis.lens.attribution_result import ByComponentResult
from tslens.analysis.lens.components import Components, component_hooks, component_names, rows_of
from tslens.analysis.lens.means import Means, means
from tslens.analysis.lens.reducer import groups_of_rows
from tslens.analysis.lens.tags import tags_of_rows
from tslens.models import Spec, story_tokenizer_of
from tslens.scan import BATCH_TOKENS, Batch, scan
from tslens.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tslens.models import LanguageModel

MEASURES = ("contribution", "null", "specific")


@dataclass
class ComponentSums:
    """The weights that write and read, the tokenizer, and sums over tokens by group of stories and part of speech."""

    parts: Components
    tokenizer: Tokenizer
    stories: int
    tokens: Float[Tensor, "group tag"]
    sums: Float[Tensor, "group tag measure component"]
    remainder: float = 0.0


@dataclass(frozen=True)
class ByComponent:
    """A reducer for `ByComponentResult`: no logits of the whole vocabulary are needed."""

    groups: int = 32
    """Groups of stories behind the intervals (delete-a-group jackknife)."""

    def hooks(self, spec: Spec) -> Sequence[str]:
        """Every write to the residual stream, and the last residual."""
        return component_hooks(spec)

    def start(self, model: "LanguageModel") -> ComponentSums:
        """Empty sums, and the weights."""
        parts, shape = Components.of(model), (self.groups, len(pos.TAGS))
        sums = torch.zeros(*shape, len(MEASURES), len(component_names(parts.unembedding.spec)), dtype=torch.float64)
        return ComponentSums(parts, story_tokenizer_of(model), 0, torch.zeros(shape, dtype=torch.float64), sums)

    def update(self, state: ComponentSums, activations: Mapping[str, Tensor], batch: Batch) -> ComponentSums:
        """Add the tokens of a batch."""
        parts, names = state.parts, component_hooks(state.parts.unembedding.spec)
        device = activations[names[0]].device
        at = batch.mask[:, 1:].to(device)
        writes = rows_of(activations, names, at)
        mean, found = parts.vocabulary_mean(), []
        for targets in (batch.tokens[:, 1:], half_away(batch)):
            directions = parts.directions(targets.to(device)[at], mean)
            found.append(parts.contributions(writes, directions))
            wrong = found[-1].sum(1) - parts.logits(writes, directions)
            state.remainder = max(state.remainder, float(wrong.abs().max())) if len(wrong) else state.remainder
        cell = groups_of_rows(batch, self.groups) * len(pos.TAGS) + tags_of_rows(batch, state.tokenizer)
        measured = torch.stack([*found, found[0] - found[1]], dim=1)
        state.sums.flatten(0, 1).index_add_(0, cell, measured.double().cpu())
        state.tokens.flatten().index_add_(0, cell, torch.ones(len(cell), dtype=torch.float64))
        state.stories += len(batch.texts)
        return state

    def merge(self, a: ComponentSums, b: ComponentSums) -> ComponentSums:
        """Add the sums."""
        sums, tokens = a.sums + b.sums, a.tokens + b.tokens
        return ComponentSums(a.parts, a.tokenizer, a.stories + b.stories, tokens, sums, max(a.remainder, b.remainder))

    def finish(self, state: ComponentSums) -> ByComponentResult:
        """Means per token, with intervals over groups of stories."""
        whole = means(state.sums.sum(1), state.tokens.sum(1)[:, None, None])
        tagged = means(state.sums, state.tokens[:, :, None, None])
        fields: dict[str, Any] = {}
        for i, name in enumerate(MEASURES):
            fields |= Means(*(part[i] for part in whole)).named(name)
            fields |= Means(*(part[:, i].T for part in tagged)).named(f"tag_{name}")
        unembedding = state.parts.unembedding
        return ByComponentResult(
            model=unembedding.model,
            stories=state.stories,
            tokens=int(state.tokens.sum()),
            components=component_names(unembedding.spec),
            tags=list(pos.TAGS),
            tag_tokens=state.tokens.sum(0).long(),
            logit=float(whole.mean[0].sum()),
            remainder=state.remainder,
            **fields,
        )


def half_away(batch: Batch) -> Int[Tensor, "batch pos"]:
    """For each position the true next token of the position half a story later, in a circle: the story's own tokens,
    each once, each in another place (where the story has two)."""
    counted = batch.mask[:, 1:].sum(1, keepdim=True).clamp(min=1)
    places = torch.arange(batch.tokens.shape[1] - 1)
    return batch.tokens[:, 1:].gather(1, (places + counted // 2) % counted)


def by_component(
    model: "LanguageModel",
    stories: Iterable[str],
    *,
    groups: int = 32,
    context: int | None = None,
    batch_tokens: int = BATCH_TOKENS,
    precision: str = "float32",
) -> ByComponentResult:
    """Direct logit attribution by component over a corpus (see `ByComponent` and `scan`).

    Raises:
        InputError: there is no story, or none with two tokens.
    """
    asked = ByComponent(groups)
    return scan(model, stories, asked, context=context, batch_tokens=batch_tokens, precision=precision)
