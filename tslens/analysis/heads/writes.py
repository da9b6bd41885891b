"""Which word classes does a head write? (direct effect on the logits, by the class of the word that follows)

Where a word of a class follows, a head that writes the class raises the logits of its words. The head's output is read
through the final norm, whose scale is that of the whole residual (direct logit attribution, Elhage et al. 2021), in the
direction of the story's own words: the mean over those of the class less the mean over the others. The word that
follows is left out of both: a head that copies or knows this one word writes no class. Null places are those of the
same story that an equally frequent word of another class follows; so a head that raises a class everywhere, as a bias
does, writes nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import forward, pos, stats
from tslens.analysis.heads.control import NO_TWINS, Control
from tslens.analysis.heads.evidence import on_halves, ratio
from tslens.analysis.heads.kinds_result import WritesResult
from tslens.analysis.heads.kinds_weights import matched
from tslens.analysis.heads.kinds_words import CLASSES, TokenMarks, marks_of, words_of
from tslens.analysis.heads.null import FREQUENCIES
from tslens.analysis.heads.writes_types import FollowingSums
from tslens.forward.blocks import final_gain
from tslens.models import Spec, name_of, spec_of, story_tokenizer_of
from tslens.result import read_on
from tslens.scan import BATCH_TOKENS, Batch, scan
from tslens.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tslens.models import LanguageModel


def classes_of(
    tokenizer: Tokenizer, batch: Batch, known: dict[tuple[str, int], Int[Tensor, " _"]]
) -> list[Int[Tensor, " _"]]:
    """For each story the class of the word that each token begins, -1 where it begins none; those in `known`, by text
    and tokens, are taken from there, and the others put there."""
    named = list(zip(batch.texts, batch.mask.sum(1).tolist(), strict=True))
    new = [(text, n) for text, n in named if (text, n) not in known]
    for (text, n), tagged in zip(new, pos.tag_stories([text for text, _ in new]), strict=True):
        offsets = tokenizer.offsets(text)[:n]
        known[text, n] = begun(marks_of(words_of(text, tagged), offsets), tagged, offsets)
    return [known[key] for key in named]


def begun(marks: TokenMarks, tagged: Sequence[pos.Tagged], offsets: Sequence[tuple[int, int]]) -> Int[Tensor, " key"]:
    """The class of the word that each token begins, -1 where it begins none."""
    return torch.where(torch.tensor(pos.align(tagged, offsets)[1]), marks.classes, -1)


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
    following: FollowingSums
    """What the heads write before each word."""


@dataclass(frozen=True)
class Writes:
    """A reducer for `WritesResult`: the word classes that each head writes."""

    control: Control = NO_TWINS
    """What untrained twins score (`tslens.twins.control`); without any no head writes a class."""
    groups: int = 16
    """Groups of stories behind the intervals."""
    known: dict[tuple[str, int], Tensor] | None = field(default=None, repr=False, compare=False)
    """Classes of a story's tokens, by text and tokens, for other scans of the same few stories with the same tokenizer
    (`tslens.twins.control`); None: they are forgotten after the batch."""

    def __post_init__(self) -> None:
        self.control.threshold(len(CLASSES))  # refuses those of other kinds

    @property
    def texts(self) -> list[str]:
        """Stories to be scanned with others: none."""
        return []

    def hooks(self, spec: Spec) -> Sequence[str]:
        """What each head writes, and the last residual."""
        outputs = [f"blocks.{i}.attn.hook_z" for i in range(spec.n_layers)]
        return [*outputs, *forward.scale_hooks(spec, "attn"), _last(spec)]

    def start(self, model: "LanguageModel") -> WritesState:
        """Empty sums, and the weights."""
        spec, gain = spec_of(model), final_gain(model)[0].detach().float()
        tokenizer = story_tokenizer_of(model)
        reading = forward.centred(spec.final_norm, model.unembed.W_U.detach().float().T * gain)
        queries = torch.zeros(self.groups, len(CLASSES), dtype=torch.float64)
        excess = torch.zeros(self.groups, spec.n_layers, spec.n_heads, len(CLASSES), dtype=torch.float64)
        output = [forward.written(model, layer, "attn").weight for layer in range(spec.n_layers)]
        none = torch.zeros(self.groups, dtype=torch.long)
        following = FollowingSums.empty(spec, tokenizer.size)
        return WritesState(name_of(model), spec, tokenizer, output, reading, none, queries, excess, following)

    def update(self, state: WritesState, activations: Mapping[str, Tensor], batch: Batch) -> WritesState:
        """Add the stories of a batch, one after the other."""
        groups = batch.groups(self.groups).tolist()
        for row, classes in enumerate(classes_of(state.tokenizer, batch, {} if self.known is None else self.known)):
            n = len(classes)
            cut = {name: found[0] for name, found in forward.of_story(activations, row, n).items()}
            state.stories[groups[row]] += 1
            add_story(state, groups[row], cut, batch.tokens[row, :n], classes)
        return state

    def merge(self, a: WritesState, b: WritesState) -> WritesState:
        """Add the sums."""
        sums = {name: getattr(a, name) + getattr(b, name) for name in ("stories", "queries", "excess")}
        return replace(a, **sums, following=a.following.plus(b.following))

    def finish(self, state: WritesState) -> WritesResult:
        """Scores, intervals, q, the classes that exceed the thresholds, and on halves how many heads have one."""
        unasked = torch.full((len(CLASSES), *state.excess.shape[1:3]), torch.nan)
        whole = self._scored(state, unasked)
        pieces = state.tokenizer.pieces(range(state.tokenizer.size))
        p_of_words = state.following.p(whole.sure > 0, state.output, state.reading, pieces)
        halves = on_halves(state, lambda half: self._scored(half, p_of_words).having) if self.control.thresholds else []
        return replace(whole, p_of_words=p_of_words, of_halves=halves)

    def _scored(self, state: WritesState, p_of_words: Float[Tensor, "kind layer head"]) -> WritesResult:
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
            of_turned=list(self.control.turned),
            queries=state.queries.sum(0).float(),
            threshold=self.control.threshold(len(CLASSES)),
            score=score.float().contiguous(),
            low=low.float().contiguous(),
            high=high.float().contiguous(),
            q=torch.as_tensor(stats.benjamini_hochberg(p_.numpy())).float(),
            p_of_words=p_of_words,
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
    counts, left = class_counts(which, classes[1:][at], len(kinds))
    same = torch.bincount(which, minlength=len(kinds))[which]
    frequency = torch.bucketize(same, torch.tensor(FREQUENCIES))
    of_class = torch.arange(len(CLASSES))[:, None] == classes[1:][at]
    known = (left > 0).all(0).T  # the class and the rest have another word
    weights = torch.zeros(len(CLASSES), len(at))
    for row, (members, pool) in enumerate(zip(of_class & known, ~of_class & known, strict=True)):
        places, values = matched(members, pool, frequency, len(FREQUENCIES) + 1)
        weights[row, places] = values
    last = activations[_last(state.spec)]
    at, which = at.to(last.device), which.to(last.device)
    scale = forward.norm_scale(state.spec.final_norm, state.spec.eps, last)[:-1][at]
    after = [activations[name][:-1][at] for name in forward.scale_hooks(state.spec, "attn")]
    read = state.reading[kinds.to(last.device)]
    share = (weights.T / left.clamp(min=1) * torch.tensor([1.0, -1.0])[:, None, None]).to(last.device)
    counts = counts.to(last.device)
    state.following.read(kinds[which].cpu(), classes[1:][classes[1:] >= 0])
    on_own = (share * counts[:, which]).sum(0)
    for layer, output in enumerate(state.output):
        z = activations[f"blocks.{layer}.attn.hook_z"][:-1][at] / (scale * after[layer] if after else scale)[:, None]
        if len(at):
            state.following.add(layer, z, kinds[which.cpu()].cpu())
        written = output @ read.T  # [head d_head word]
        by_class = torch.einsum("hdw,swc->shdc", written, counts) * torch.einsum("nhd,snc->shdc", z, share)
        own = torch.einsum("nhd,hdn->nh", z, written[:, :, which])
        state.excess[group, layer] += (by_class.sum((0, 2)) - own.T @ on_own).double().cpu()
    state.queries[group] += (weights > 0).sum(1).double()


def class_counts(
    which: Int[Tensor, " place"], classes: Int[Tensor, " place"], words: int
) -> tuple[Float[Tensor, "side word kind"], Float[Tensor, "side place kind"]]:
    """For each class how often each of the story's words stands in it, and in the others; and for each place the sums
    of both over words, without the place's own word: 0 where there is no other. A mean over the words of a side but
    this one is a sum over all of them less the word's own part, divided by what is left."""
    counts = torch.zeros(words, len(CLASSES) + 1)
    counts.index_put_((which, classes), torch.ones(len(which)), accumulate=True)
    own = counts[:, : len(CLASSES)]
    both = torch.stack([own, counts.sum(1, keepdim=True) - own])
    return both, both.sum(1, keepdim=True) - both[:, which]


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
