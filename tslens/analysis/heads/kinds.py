"""Which keys does a head choose by their content?

The scan gives the attention; what the keys are comes from the instrument that knows it: tags, sentences and quotations
of the stories (`kinds_words`), the truth of generated stories for the character that a pronoun stands for, and repeated
random tokens, beside the stories, for duplicates and induction (`repeated`). A head's score for a kind is the attention
mass on its keys less that on null keys (`kinds_weights`), a mean over the queries that have such keys.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tslens import forward, pos, stats
from tslens.analysis.heads.control import NO_TWINS, Control
from tslens.analysis.heads.evidence import GroupEstimate, on_halves, ratio
from tslens.analysis.heads.kinds_places import PlaceSums
from tslens.analysis.heads.kinds_result import KindsResult
from tslens.analysis.heads.kinds_state import KindsState, MarkedStory, add_story
from tslens.analysis.heads.kinds_types import TypeSums
from tslens.analysis.heads.kinds_weights import DUPLICATE, INDUCTION, KINDS, ROWS
from tslens.analysis.heads.kinds_words import CLASSES, StoryWords, marks_of, words_of, words_of_made
from tslens.analysis.heads.repeated import RepetitionScores, repetition_scores
from tslens.analysis.heads.result import RolesResult
from tslens.errors import InputError
from tslens.models import Spec, name_of, spec_of, story_tokenizer_of
from tslens.result import read_on
from tslens.scan import BATCH_TOKENS, Batch, scan
from tslens.stories.generator import MadeStory, generate
from tslens.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tslens.models import LanguageModel

MADE, MADE_SEED = 50, 4242
"""Generated stories whose pronouns are read, and their seed."""
MEMORY = 8_000_000
"""Pairs of tokens whose weights are remembered: half a gigabyte."""

NULLS = ROWS + ROWS
"""The kind of each null: of each row of weights, and of the same beyond what the place explains."""
OF_KIND = [[null for null, kind in enumerate(NULLS) if kind == number] for number in range(len(KINDS))]
"""The nulls of each kind."""


@dataclass(frozen=True)
class Kinds:
    """A reducer for `KindsResult`: the kinds of keys that each head chooses.

    A generated story of `texts` counts for pronouns alone, every other story for all other kinds.
    """

    control: Control = NO_TWINS
    """What untrained twins score (`tslens.twins.control`); without any no head has a kind."""
    made: int = 0
    """Generated stories whose pronouns are read, where the scan meets them: those of `texts`."""
    groups: int = 16
    """Groups of stories behind the intervals."""
    seed: int = 0
    """Seed of the random tokens that are repeated."""
    known: dict[tuple[str, int, bool], MarkedStory] | None = field(default=None, repr=False, compare=False)
    """Stories of one tokenizer, by text, tokens and whether they are generated, for other scans that read them too
    (`tslens.twins.control`). Each scan adds its own up to `MEMORY`; None: a story is forgotten after its batch."""

    def __post_init__(self) -> None:
        self.control.threshold(len(KINDS))  # refuses those of other kinds

    @cached_property
    def truth(self) -> dict[str, MadeStory]:
        """The generated stories by their text."""
        return {story.text: story for story in generate(self.made, MADE_SEED)}

    @property
    def texts(self) -> list[str]:
        """The generated stories, to be scanned with others."""
        return list(self.truth)

    def hooks(self, spec: Spec) -> Sequence[str]:
        """Queries and keys of every layer, as they enter the dot product."""
        return [name for i in range(spec.n_layers) for name in forward.score_hooks(spec, i)]

    def start(self, model: "LanguageModel") -> KindsState:
        """Empty sums, and the scores on repeated random tokens, which need no stories."""
        spec, scores = spec_of(model), repetition_scores(model, seed=self.seed)
        queries = torch.zeros(self.groups, spec.n_layers, len(ROWS), dtype=torch.float64)
        excess = torch.zeros(self.groups, spec.n_layers, spec.n_heads, len(ROWS), dtype=torch.float64)
        none = torch.zeros(self.groups, dtype=torch.long)
        tokenizer = story_tokenizer_of(model)
        sums = TypeSums.empty(spec, tokenizer.size), PlaceSums.empty(spec, self.groups)
        return KindsState(name_of(model), spec, tokenizer, scores, none, queries, excess, *sums)

    def update(self, state: KindsState, activations: Mapping[str, Tensor], batch: Batch) -> KindsState:
        """Add the stories of a batch, one after the other: a story's weights are large."""
        groups = batch.groups(self.groups).tolist()
        for row, story in enumerate(self._marked(state.tokenizer, batch)):
            add_story(state, groups[row], forward.of_story(activations, row, len(story.tokens)), story)
        return state

    def _marked(self, tokenizer: Tokenizer, batch: Batch) -> Iterator[MarkedStory]:
        known = {} if self.known is None else self.known
        lengths = batch.mask.sum(1).tolist()
        named = [(text, n, text in self.truth) for text, n in zip(batch.texts, lengths, strict=True)]
        new = [key[0] for key in named if key not in known]
        words = dict(zip(new, self._words(new), strict=True))
        for row, (text, n, _) in enumerate(named):
            story = known.get(named[row])
            if story is None:
                story = MarkedStory(batch.tokens[row, :n], marks_of(words[text], tokenizer.offsets(text)[:n]))
                if self.known is not None and sum(n * n for _, n, _ in known) < MEMORY:
                    known[named[row]] = story
            yield story

    def _words(self, texts: Sequence[str]) -> list[StoryWords]:
        tagged = iter(pos.tag_stories([text for text in texts if text not in self.truth]))
        return [
            words_of_made(self.truth[text]) if text in self.truth else words_of(text, next(tagged)) for text in texts
        ]

    def merge(self, a: KindsState, b: KindsState) -> KindsState:
        """Add the sums; both states have the same scores on random tokens."""
        a.stories, a.queries, a.excess = a.stories + b.stories, a.queries + b.queries, a.excess + b.excess
        a.types, a.places = a.types.plus(b.types), a.places.plus(b.places)
        return a

    def finish(self, state: KindsState) -> KindsResult:
        """Scores, intervals, q, and the kinds that exceed the thresholds."""
        return finish(state, self.control)


def finish(state: KindsState, control: Control = NO_TWINS) -> KindsResult:
    """The `KindsResult` of these sums, with the number of heads that have a kind on halves of the stories."""
    state = _beside_places(state)
    whole = _scored(state, control)
    halves = on_halves(state, lambda half: _scored(half, control)) if control.thresholds else []
    asked = torch.stack([one.sure > 0 for one in (whole, *halves)]).any(0)
    p_of_words = torch.full(asked.shape, torch.nan)
    p_of_words[-len(CLASSES) :] = state.types.p(
        state.tokenizer.pieces(range(state.tokenizer.size)), asked[-len(CLASSES) :]
    )
    having = [replace(half, p_of_words=p_of_words).having for half in halves]
    return replace(whole, p_of_words=p_of_words, of_halves=having)


def _beside_places(state: KindsState) -> KindsState:
    """The sums beside the same less what the place explains."""
    excess = torch.cat([state.excess, state.excess - state.places.explained()], -1)
    return replace(state, queries=torch.cat([state.queries] * 2, -1), excess=excess)


def _scored(state: KindsState, control: Control) -> KindsResult:
    """Of a kind's nulls, the one that it exceeds least counts. The words of classes are not asked."""
    there = state.stories > 0
    found = ratio(state.excess[there], state.queries[there][:, :, None])
    low, high = ends(found)
    p = -smallest(-torch.as_tensor(found.p_above(0.0)))
    p[[DUPLICATE, INDUCTION]] = torch.maximum(p[[DUPLICATE, INDUCTION]], _repeated_p(state.scores))
    least = smallest(state.queries.sum((0, 1))) / state.spec.n_layers
    return KindsResult(
        model=state.model,
        stories=int(state.stories.sum()),
        groups=int(there.sum()),
        roles=[],
        of_twins=list(control.named),
        of_turned=list(control.turned),
        queries=least.float(),
        score=smallest(found.value).float(),
        low=low.float(),
        high=high.float(),
        q=torch.as_tensor(stats.benjamini_hochberg(p.numpy())).float(),
        p_of_words=torch.full(p.shape, torch.nan),
        threshold=control.threshold(len(KINDS)),
    )


def smallest(values: Float[Tensor, "*axes row"]) -> Float[Tensor, "kind *axes"]:
    """Of the rows of each kind, one for each of its nulls, the smallest value."""
    return torch.stack([values[..., rows].amin(-1) for rows in OF_KIND])


def ends(found: GroupEstimate) -> tuple[Float[Tensor, "kind *axes"], Float[Tensor, "kind *axes"]]:
    """Both ends of the 95% interval of each kind's excess, the smallest over its nulls.

    The smallest of the lower ends is too high only if that of the smallest excess is. The smallest of the upper ends is
    too low if any of them is, so each has its share of the 2.5% (Bonferroni).
    """
    from scipy.stats import t

    low, high = found.interval
    nulls, freedom = torch.bincount(torch.tensor(NULLS))[torch.tensor(NULLS)].numpy(), len(found.without) - 1
    wider = torch.from_numpy(t.isf(0.025 / nulls, freedom) / t.isf(0.025, freedom))
    return smallest(low), smallest(found.value + wider * (high - found.value))


def _repeated_p(scores: RepetitionScores) -> Float[Tensor, "kind layer head"]:
    """p-values that duplicates and induction get no more mass on repeated random tokens than uniform attention gives;
    NaN where the model does not copy, so that repeated tokens are no evidence."""
    pairs = ((scores.duplicate, scores.duplicate_uniform), (scores.induction, scores.induction_uniform))
    found = [score - uniform[:, None] for score, uniform in pairs]
    p = [GroupEstimate(one.mean(0), (one.sum(0) - one) / (len(one) - 1)).p_above(0.0) for one in found]
    return torch.as_tensor(np.stack(p)) if scores.copies else torch.full((2, *found[0].shape[1:]), torch.nan)


def kinds(
    model: "LanguageModel",
    stories: Iterable[str],
    *,
    roles: RolesResult | None = None,
    control: Control = NO_TWINS,
    made: int = MADE,
    groups: int = 16,
    seed: int = 0,
    context: int | None = None,
    batch_tokens: int = BATCH_TOKENS,
    precision: str = "float32",
) -> KindsResult:
    """Which kinds of keys every head chooses, over stories and over `made` generated ones for what pronouns stand for.

    Without `control` (`tslens.twins.control` reads the model's twins) the answer has scores and no labels. With `roles`
    it says which content-dependent heads have no kind. The other options are those of `Kinds` and `scan`.

    Raises:
        InputError: no stories, roles of another model, thresholds of other kinds, or a compressor.
    """
    spec = spec_of(model)
    if roles is not None and (roles.model != name_of(model) or roles.role_code.shape != (spec.n_layers, spec.n_heads)):
        raise InputError(f"Roles of {roles.model} say nothing of {name_of(model)}. Give the roles of this model.")
    reducer = Kinds(control, made, groups, seed)
    both = chain(stories, reducer.texts)
    found = scan(model, both, reducer, context=context, batch_tokens=batch_tokens, precision=precision)
    if found.stories <= len(reducer.texts):
        raise InputError("There is no story to scan: the source is empty or everything was filtered out.")
    answer: KindsResult = read_on(replace(found, roles=[] if roles is None else roles.roles), stories)
    return answer
