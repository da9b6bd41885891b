"""Which word classes does a head write? (direct effect on the logits, by the class of the word that follows)

Where a word of a class follows, a head that writes the class raises the logits of its words. The head's output is read
through the final norm, whose scale is that of the whole residual (direct logit attribution, Elhage et al. 2021), in the
direction of the story's own words: the mean over those of the class less the mean over the others. The word that
follows is left out of both: a head that copies or knows this one word writes no class. Null places are those of the
same story that an equally frequent word of another class follows; so a head that raises a class everywhere, as a bias
does, writes nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import forward, pos, stats
from tslens.analysis.heads.evidence import ratio
from tslens.analysis.heads.kinds_result import NO_TWINS, Control, WritesResult
from tslens.analysis.heads.kinds_weights import matched
from tslens.analysis.heads.kinds_words import CLASSES, marks_of, words_of
from tslens.analysis.heads.null import FREQUENCIES
from tslens.forward.blocks import final_gain
from tslens.models import Spec, name_of, spec_of, story_tokenizer_of
from tslens.result import read_on
from tslens.scan import BATCH_TOKENS, Batch, scan
from tslens.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tslens.models import LanguageModel


@dataclass
class WritesState:
    """The weights that write and read, and sums so far."""

    model: str
    spec: Spec
    tokenizer: Tokenizer
    output: list[Float[Tensor, "head d_head d_model"]]
    """Of each layer's heads."""
    reading: Float[Tensor, "token d_model"]
    """The direction of each token's logit among residuals that are divided by the final norm's scale."""
    stories: Int[Tensor, " group"]
    queries: Float[Tensor, "group kind"]
    """Places that a word of the class follows, and that have a null place."""
    excess: Float[Tensor, "group layer head kind"]


@dataclass(frozen=True)
class Writes:
    """A reducer for `WritesResult`: the word classes that each head writes."""

    control: Control = NO_TWINS
    """What untrained twins score (`tslens.twins.control`); without any no head writes a class."""
    groups: int = 16
    """Groups of stories behind the intervals."""

    def __post_init__(self) -> None:
        self.control.threshold(len(CLASSES))  # refuses those of other kinds

    @property
    def texts(self) -> list[str]:
        """Stories to be scanned with others: none."""
        return []

    def hooks(self, spec: Spec) -> Sequence[str]:
        """What each head writes, and the last residual."""
        return [*(f"blocks.{i}.attn.hook_z" for i in range(spec.n_layers)), _last(spec)]

    def start(self, model: "LanguageModel") -> WritesState:
        """Empty sums, and the weights."""
        spec, gain = spec_of(model), final_gain(model)[0].detach().float()
        tokenizer = story_tokenizer_of(model)
        reading = forward.centred(spec, model.unembed.W_U.detach().float().T * gain)
        queries = torch.zeros(self.groups, len(CLASSES), dtype=torch.float64)
        excess = torch.zeros(self.groups, spec.n_layers, spec.n_heads, len(CLASSES), dtype=torch.float64)
        output = [block.attn.W_O.detach().float() for block in model.blocks]
        none = torch.zeros(self.groups, dtype=torch.long)
        return WritesState(name_of(model), spec, tokenizer, output, reading, none, queries, excess)

    def update(self, state: WritesState, activations: Mapping[str, Tensor], batch: Batch) -> WritesState:
        """Add the stories of a batch, one after the other."""
        groups = batch.groups(self.groups).tolist()
        for row, (text, tagged) in enumerate(zip(batch.texts, pos.tag_texts(batch.texts), strict=True)):
            n = int(batch.mask[row].sum())
            words, offsets = words_of(text, tagged), state.tokenizer.offsets(text)[:n]
            classes = marks_of(words, offsets).classes
            begins = torch.tensor(pos.align(text, tagged, offsets)[1])
            cut = {name: found[0] for name, found in forward.of_story(activations, row, n).items()}
            state.stories[groups[row]] += 1
            add_story(state, groups[row], cut, batch.tokens[row, :n], torch.where(begins, classes, -1))
        return state

    def merge(self, a: WritesState, b: WritesState) -> WritesState:
        """Add the sums."""
        sums = {name: getattr(a, name) + getattr(b, name) for name in ("stories", "queries", "excess")}
        return replace(a, **sums)

    def finish(self, state: WritesState) -> WritesResult:
        """Scores, intervals, q, and the classes that exceed the thresholds."""
        there = state.stories > 0
        found = ratio(state.excess[there], state.queries[there][:, None, None])
        (low, high), p = found.interval, found.p_above(0.0)
        score, low, high, p_ = (torch.as_tensor(x).movedim(-1, 0) for x in (found.value, low, high, p))
        return WritesResult(
            model=state.model,
            stories=int(state.stories.sum()),
            groups=int(there.sum()),
            roles=[],
            of_twins=list(self.control.named),
            queries=state.queries.sum(0).float(),
            threshold=self.control.threshold(len(CLASSES)),
            score=score.float().contiguous(),
            low=low.float().contiguous(),
            high=high.float().contiguous(),
            q=torch.as_tensor(stats.benjamini_hochberg(p_.numpy())).float(),
        )


def _last(spec: Spec) -> str:
    return f"blocks.{spec.n_layers - 1}.hook_resid_post"


def add_story(
    state: WritesState,
    group: int,
    activations: Mapping[str, Tensor],
    tokens: Int[Tensor, " pos"],
    classes: Int[Tensor, " pos"],
) -> None:
    """Add one story. `classes` are those of the words that tokens begin; -1 where a token begins none."""
    at = (classes[1:] >= 0).nonzero().flatten()  # a word follows
    kinds, which = tokens[1:][at].unique(return_inverse=True)
    mixture = class_mixtures(which, classes[1:][at], len(kinds))
    same = torch.bincount(which, minlength=len(kinds))[which]
    frequency = torch.bucketize(same, torch.tensor(FREQUENCIES))
    of_class = torch.arange(len(CLASSES))[:, None] == classes[1:][at]
    known = mixture.isfinite().all(1).T  # the class and the rest have another word
    weights = torch.zeros(len(CLASSES), len(at))
    for row, (members, pool) in enumerate(zip(of_class & known, ~of_class & known, strict=True)):
        places, values = matched(members, pool, frequency, len(FREQUENCIES) + 1)
        weights[row, places] = values
    last = activations[_last(state.spec)]
    scale = forward.norm_scale(state.spec, last)[:-1, 0][at.to(last.device)]
    read = state.reading[kinds.to(last.device)]
    weighted = (mixture.nan_to_num() * weights.T[:, None]).to(last.device)
    for layer, output in enumerate(state.output):
        z = activations[f"blocks.{layer}.attn.hook_z"][:-1][at.to(last.device)] / scale[:, None, None]
        on_words = torch.einsum("nhd,hdw->nhw", z, output @ read.T)
        state.excess[group, layer] += torch.einsum("nhw,nwc->hc", on_words, weighted).double().cpu()
    state.queries[group] += (weights > 0).sum(1).double()


def class_mixtures(
    which: Int[Tensor, " place"], classes: Int[Tensor, " place"], words: int
) -> Float[Tensor, "place word kind"]:
    """For each place and class the mixture of the story's words: those of the class (weights add up to 1) less those of
    other classes, by how often they stand in the story, without the place's own word. NaN where either has no other."""
    counts = torch.zeros(words, len(CLASSES) + 1)
    counts.index_put_((which, classes), torch.ones(len(which)), accumulate=True)
    own = counts[:, : len(CLASSES)]
    both = torch.stack([own, counts.sum(1, keepdim=True) - own])[:, None]  # [side 1 word kind]
    left = both * ~torch.nn.functional.one_hot(which, words).bool()[None, :, :, None]
    inside, outside = left / left.sum(2, keepdim=True)
    mixture: Tensor = inside - outside
    return mixture


def writes(
    model: "LanguageModel",
    stories: Iterable[str],
    *,
    control: Control = NO_TWINS,
    groups: int = 16,
    context: int | None = None,
    batch_tokens: int = BATCH_TOKENS,
    precision: str = "float32",
) -> WritesResult:
    """Which word classes every head writes directly, over stories.

    Without `control` (`tslens.twins.control` reads the model's twins) the answer has scores and no labels. The other
    options are those of `scan`.

    Raises:
        InputError: no stories, or a compressor.
    """
    reducer = Writes(control, groups)
    found = scan(model, stories, reducer, context=context, batch_tokens=batch_tokens, precision=precision)
    answer: WritesResult = read_on(found, stories)
    return answer
