"""Does position or content decide where a head attends? (words swapped, positions shifted)

Two interventions on stories. *Swaps* replace words and keep every position: attention that position decides stays,
attention that content decides does not. A *shift* keeps every word, and what each word sees, and moves all positions
but that of BOS by the same number: attention that depends on the distance or on content stays, attention that depends
on the place in the story does not. The shift leaves a gap after BOS. Dropping the first words instead would take
content away, and putting other words before would add keys that compete, so that content and position would change
together.

*Change* is the share of the attention's nats, KL from uniform attention, that the mean attention under other words
does not explain (`explained.py`): the unit of the roles that it is held against. Position decides where it is below one
third, content where it is above two thirds, twice the share of the other.

A shift changes all positions by one number, so there is no mean over copies. With P a query's attention in the story,
P' in the copy, over n keys::

    shift = sum of n |P - P'|^2 / sum of n (|P - U|^2 + |P' - U|^2)

``n |P - U|^2`` is the chi-square divergence from uniform attention. P and P' that are equal give 0; independent draws
of any distribution whose mean is U give 1, and P = mean + w (what the place adds) gives the share of the divergence
that the place adds, whatever the shape of the attention.

Both are taken over all keys, and over those but BOS: many heads rest on BOS while they have nothing to read, so that a
head which leaves BOS only where a word calls it is half decided by position over all keys, and by content over the
others.

*Beside* is the change at unswapped keys, seen from unswapped queries, where half of the words are replaced: the sum of
``|P - P'|`` over that of ``|P - U|``. It says how far a pair of words depends on the words beside it. It decides
nothing here: in the first layer the score of an unswapped pair depends on the pair and its positions alone, so a head
there hardly changes at these keys even if it attends to nothing but content.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tslens import forward, progress, stats
from tslens.analysis.heads.evidence import MIN_GROUPS, GroupEstimate, ratio
from tslens.analysis.heads.explained import MIXES, OtherCopies, group_of, mixed, nats, unexplained
from tslens.analysis.heads.replaced import SWAPS, Copies, Lexicon, Text, copies_of, texts_of
from tslens.analysis.heads.sums import FIRST
from tslens.analysis.heads.swaps_result import KEYS, LITTLE, MUCH, SwapsResult, verdicts
from tslens.batching import WHOLE, identified
from tslens.draws import below, draw
from tslens.errors import InputError
from tslens.models import Spec, name_of, spec_of, story_tokenizer_of

if TYPE_CHECKING:
    from tslens.models import LanguageModel

WHOLE_COPIES = 4
"""Copies in which every word is replaced, of each kind of swap."""
SHIFTS = 4
"""Shifts of each story."""
LEAST_SHIFT = 8
"""Tokens."""
_SHIFT = 7  # what a draw is for


@dataclass(frozen=True)
class Changes:
    """What a story's attention changed by, and what it could have changed by: sums over queries."""

    left: Float[Tensor, "mix keys swap layer head"]
    """Nats of KL that a mean over copies in which every word is replaced leaves."""
    possible: Float[Tensor, "keys layer head"]
    """Nats of KL from uniform attention."""
    beside: Float[Tensor, "part swap layer head"]
    """Change and distance from uniform at unswapped pairs where half are."""
    shifted: Float[Tensor, "part keys layer head"]
    """Change and divergence from uniform where positions are shifted."""


def swaps(
    model: "LanguageModel", stories: Iterable[str], *, limit: int = 100, copies: int = 16, context: int = 128
) -> SwapsResult:
    """Does position or content decide where each head attends? Swaps and shifts of every story.

    It reads the `limit` stories that a hash of their text chooses, of each the first `context` tokens, at most three
    quarters of the model's context, which leaves room for shifts. Of each kind of swap, `copies` of a story have half
    of their words replaced and 4 more have all replaced; 4 copies are shifted. The words come from these stories.

    Raises:
        InputError: fewer than four stories, no copy, or a compressor, whose positions are pairs of tokens.
    """
    spec, tokenizer = spec_of(model), story_tokenizer_of(model)
    if copies < 1:
        raise InputError(f"copies={copies} leaves nothing to compare; give 1 or more.")
    context = min(context, spec.n_ctx - spec.n_ctx // 4)
    read = sorted(identified(stories, WHOLE), key=lambda story: (story.hash, story.occurrence))[:limit]
    if len(read) < MIN_GROUPS:
        raise InputError(f"An interval needs {MIN_GROUPS} stories or more; there are {len(read)}. Give more stories.")
    seeds = draw(torch.tensor([s.hash for s in read]), torch.tensor([s.occurrence for s in read])).tolist()
    texts = texts_of([story.text for story in read], tokenizer, context)
    lexicon = Lexicon.of(texts)
    made = [copies_of(text, lexicon, seed, copies, WHOLE_COPIES) for text, seed in zip(texts, seeds, strict=True)]
    with torch.inference_mode():
        run = forward.EditedForward.of(model)
        others = OtherCopies.read(run, [of_text.tokens[:, copies:] for of_text in made])
        work = list(zip(texts, made, seeds, strict=True))
        found = [
            changes(run, text, of_text, others, group_of(i), seed)
            for i, (text, of_text, seed) in enumerate(progress.track(work, "swapping words"))
        ]
    return _result(model, found, texts, lexicon, copies, context)


def changes(
    run: forward.EditedForward, text: Text, made: Copies, others: OtherCopies, group: int, seed: int
) -> Changes:
    """What one story's attention changes by; its group is left out of the others."""
    spec, device = run.spec, next(run.model.parameters()).device
    shape, copies = (spec.n_layers, spec.n_heads), len(made.swapped) - WHOLE_COPIES
    left = torch.zeros(len(MIXES), len(KEYS), len(SWAPS), *shape, dtype=torch.float64)
    possible = torch.zeros(len(KEYS), *shape, dtype=torch.float64)
    beside = torch.zeros(2, len(SWAPS), *shape, dtype=torch.float64)
    own: list[Tensor] = []
    stays = ~made.swapped[:copies].to(device)
    stays = stays[:, :, None] & stays[:, None, :]  # [copy query key]

    def see_story(layer: int, pattern: Tensor) -> None:
        own.append(pattern[0])
        possible[:, layer] = nats(own[layer], _uniform(spec, layer, len(text.tokens), device))

    run.patterns(text.tokens[None].to(device), see_story)
    for kind in range(len(SWAPS)):

        def see(layer: int, pattern: Tensor, kind: int = kind) -> None:
            uniform = _uniform(spec, layer, len(text.tokens), device)
            left[:, :, kind, layer] = mixed(own[layer], pattern[copies:], others.mean(group, kind, layer, uniform))
            beside[:, kind, layer] = distances(own[layer], pattern[:copies], uniform, stays)

        run.patterns(made.tokens[kind].to(device), see)
    return Changes(left, possible, beside, _shifted(run, text, own, seed))


def _shifted(
    run: forward.EditedForward, text: Text, own: Sequence[Tensor], seed: int
) -> Float[Tensor, "part keys layer head"]:
    """Change and divergence where all positions but that of BOS move; NaN where the context has no room, or the model
    knows distances alone."""
    spec, n = run.spec, len(text.tokens)
    found = torch.zeros(2, len(KEYS), spec.n_layers, spec.n_heads, dtype=torch.float64)
    room = 0 if spec.positions == "scores" else spec.n_ctx - n - LEAST_SHIFT + 1
    device = next(run.model.parameters()).device
    for i in range(SHIFTS if room > 0 else 0):
        by = LEAST_SHIFT + int(
            below(torch.tensor(room), draw(torch.tensor(seed), torch.tensor(_SHIFT), torch.tensor(i)))
        )
        positions = torch.arange(n, device=device)
        positions[1:] += by

        def see(layer: int, pattern: Tensor) -> None:
            found[:, :, layer] += divergences(own[layer], pattern, _uniform(spec, layer, n, device))

        run.patterns(text.tokens[None].to(device), see, positions)
    return found


def _uniform(spec: Spec, layer: int, n: int, device: torch.device) -> Float[Tensor, "query key"]:
    """Uniform attention over the keys that each query sees."""
    seen = forward.causal_mask(n, forward.window_of(spec, layer), device).float()
    return seen / seen.sum(-1, keepdim=True)


def divergences(
    story: Float[Tensor, "head query key"],
    copies: Float[Tensor, "copy head query key"],
    uniform: Float[Tensor, "query key"],
) -> Float[Tensor, "part keys head"]:
    """Of the sums in `shift`, the upper and the lower one, over copies and queries (from the third on), by `KEYS`."""
    n = (1 / uniform.amax(-1))[FIRST:].double()
    before, after, even = story[:, FIRST:], copies[:, :, FIRST:], uniform[FIRST:]

    def by_keys(difference: Tensor) -> Tensor:
        squares = difference.square_()
        rest = squares[..., 1:].sum(-1).double()  # a row in single precision, for speed
        return torch.stack([(rest + squares[..., 0]) @ n, rest @ n])

    from_uniform = by_keys(before - even) * len(copies) + by_keys(after - even).sum(1)
    return torch.stack([by_keys(after - before).sum(1), from_uniform]).cpu()


def distances(
    story: Float[Tensor, "head query key"],
    copies: Float[Tensor, "copy head query key"],
    uniform: Float[Tensor, "query key"],
    stays: Bool[Tensor, "copy query key"],
) -> Float[Tensor, "part head"]:
    """Sums of ``|P - P'|`` and of ``|P - U|`` over the pairs that stay as they were."""
    pairs = (stays & (uniform > 0))[:, None, FIRST:].float()
    before, after, even = story[:, FIRST:], copies[:, :, FIRST:], uniform[FIRST:]
    changed = torch.linalg.vector_norm((before - after).mul_(pairs), 1, dim=-1).double().sum((0, 2))
    from_uniform = ((before - even).abs_() * pairs.sum(0)).sum(-1).double().sum(1)
    return torch.stack([changed, from_uniform]).cpu()


def decided_p(change: GroupEstimate) -> np.ndarray:
    """p-values that the change lies between one third and two thirds (two-sided)."""
    below = GroupEstimate(-change.value, -change.without).p_above(-LITTLE)
    return np.asarray((2 * np.minimum(change.p_above(MUCH), below)).clip(max=1))


def _result(
    model: "LanguageModel", found: Sequence[Changes], texts: Sequence[Text], lexicon: Lexicon, copies: int, context: int
) -> SwapsResult:
    swapped = unexplained([one.left for one in found], [one.possible for one in found])
    beside, shifted = (
        ratio(sums[:, 0], sums[:, 1])
        for sums in (torch.stack([getattr(one, name) for one in found]) for name in ("beside", "shifted"))
    )
    q = torch.as_tensor(stats.benjamini_hochberg(decided_p(swapped)))
    replaced = sum(len(place.word) for text in texts for place in text.places if lexicon.replaceable(place))
    return SwapsResult(
        model=name_of(model),
        stories=len(texts),
        copies=copies,
        context=context,
        replaced=replaced / sum(len(text.tokens) - 1 for text in texts),
        change=swapped.value.float(),
        low=swapped.interval[0].float(),
        high=swapped.interval[1].float(),
        q=q.float(),
        beside=beside.value.float(),
        beside_low=beside.interval[0].float(),
        beside_high=beside.interval[1].float(),
        shift=shifted.value.float(),
        shift_low=shifted.interval[0].float(),
        shift_high=shifted.interval[1].float(),
        verdict_code=verdicts(swapped.value, q),
    )
