"""The result of testing labels on other stories: what each label predicts, with its table and its figure."""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens.analysis.neurons.choice import PREDICTS, TAIL, UNRESOLVED, UNTESTED
from tslens.analysis.neurons.held_out_measures import AUROC, MEASURES
from tslens.analysis.neurons.result import ProfilesResult
from tslens.plots.text import shown
from tslens.pos.types import words
from tslens.result import CountedResult

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TESTED = (*MEASURES, "auroc_alike", "auroc_words")
ALIKE, WORDS = TESTED.index("auroc_alike"), TESTED.index("auroc_words")
LEAST = 0.7
"""Lower end of the AUROC's interval below which a label says what is in a neuron's tail, and does not predict it."""
CHANCE = 0.5
NEAR = 1e-3  # two activations that differ by rounding may change places with the batches, and move an AUROC


@dataclasses.dataclass(frozen=True, eq=False)
class HeldOutResult(CountedResult):
    """Labels made from one half of the stories, tested on the other half (see `held_out` for the method).

    A label of a part of speech is tested on words other than those that gave it. Intervals are 95%, by the
    jackknife over ten groups of stories. NaN where a neuron has no label, or too few tokens test it.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("layer", "neuron")
    axis_names: ClassVar[Mapping[str, tuple[str, ...]]] = {"measure": TESTED}

    label: Int[Tensor, "layer neuron"]
    """Index into `tags` of the part of speech that one half of the stories gives, -1 where there is none."""
    by_word: Bool[Tensor, "layer neuron"]
    """Whether the label is `word` instead."""
    word: Int[Tensor, "layer neuron"]
    """The commonest word of the top tokens, as a token id; -1 where there is none."""
    label_tokens: Int[Tensor, "layer neuron token"]
    """The tokens that gave the label, whose word types test no part of speech: the top list, and where it has too few
    words those of the random sample; -1 where there are no more."""
    value: Float[Tensor, "layer neuron measure"]
    """On the other half: the AUROC with which the activation separates tokens of the label from others; precision and
    recall of the tokens above `threshold`; purity, the average precision; the base rate of the label's tokens, the
    precision and purity of a random activation; `auroc_alike`, the AUROC over pairs of tokens whose words are about as
    frequent (in four bins an octave): a neuron that prefers rare words separates nouns from other tokens, and not from
    these; and `auroc_words`, the mean of that AUROC over the words of the label, its interval over words: a neuron of
    one frequent word is told from one of many."""
    low: Float[Tensor, "layer neuron measure"]
    """Lower end of its interval."""
    high: Float[Tensor, "layer neuron measure"]
    """Upper end of its interval."""
    auroc_same_words: Float[Tensor, "layer neuron"]
    """The AUROC on other stories with the words that gave the label left in."""
    auroc_rarity: Float[Tensor, "layer neuron"]
    """The AUROC with which rarity alone separates the tokens of the label."""
    q: Float[Tensor, "layer neuron"]
    """False discovery rate that the AUROC is at most 0.5 (Benjamini-Hochberg over all labels)."""
    threshold: Float[Tensor, "layer neuron"]
    """The 90% quantile of the activation on random tokens of the half that gave the label."""
    tokens: Int[Tensor, "layer neuron"]
    """Tokens that tested the label."""
    positives: Int[Tensor, "layer neuron"]
    """Those of them that are of the label."""
    positive_words: Int[Tensor, "layer neuron"]
    """The number of different words among those."""

    tags: list[str]
    """Universal parts of speech."""
    pieces: list[str]
    """The vocabulary as displayed text, by token id."""
    model: str
    """The model's name."""
    n_labelled: int
    """Stories that gave the labels."""
    n_tested: int
    """Stories that tested them."""
    n_tokens: int
    """Tokens of these, at most as many as were asked for."""

    @property
    def predicts(self) -> Bool[Tensor, "layer neuron"]:
        """Whether the label predicts: `least` is above 0.7, and of a part of speech the interval over words lies above
        one half: its words in general excite the neuron, and not one that is frequent."""
        return (self.least > LEAST + NEAR) & (self.by_word | (self.low[..., WORDS] > CHANCE + NEAR))

    @property
    def least(self) -> Float[Tensor, "layer neuron"]:
        """The lower end of the label's AUROC; of a part of speech also of that among words of like frequency, whichever
        is smaller. NaN where it is untested."""
        low, alike = self.low[..., AUROC], self.low[..., ALIKE]
        both = torch.minimum(low, alike).where(~self.low[..., WORDS].isnan(), torch.nan)
        return torch.where(self.by_word, low, both)

    @property
    def responsiveness(self) -> Float[Tensor, "layer neuron"]:
        """The Gini coefficient 2 AUROC - 1: 1 is perfect, 0 chance."""
        return 2 * self.value[..., AUROC] - 1

    def layer_of(self, layer: int) -> str:
        """The name of a layer."""
        return str(layer)

    def label_of(self, layer: int, neuron: int) -> str:
        """The label, with its qualifier: `NOUN`, `NOUN, tail selector`, `token: and, untested`, or `unresolved`."""
        at = (layer, neuron)
        if self.label[at] >= 0:
            name = self.tags[int(self.label[at])]
        elif self.by_word[at]:
            name = f"token: {shown(self.pieces[int(self.word[at])])}"
        else:
            return UNRESOLVED
        test = self.test_of(layer, neuron)
        return name if test == PREDICTS else f"{name}, {test}"

    def test_of(self, layer: int, neuron: int) -> str:
        """What other stories say of the label: `predicts`, `tail selector`, or `untested`."""
        if self.least[layer, neuron].isnan():
            return UNTESTED
        return PREDICTS if self.predicts[layer, neuron] else TAIL

    def qualify(self, profiles: ProfilesResult) -> ProfilesResult:
        """The profiles on all stories, each label with what this test says of it: `untested` where the half of them
        that gives labels gave another, or none."""
        labelled, same = (profiles.label >= 0) | profiles.by_word, self.same_label(profiles)
        layers, width = labelled.shape
        held = torch.cat([self.value[..., :1], self.low[..., :1], self.value[..., 1:3]], -1)
        known = labelled & same & ~held.isnan().any(-1)
        return dataclasses.replace(
            profiles,
            tests=[
                [(self.test_of(i, j) if same[i, j] else UNTESTED) if labelled[i, j] else "" for j in range(width)]
                for i in range(layers)
            ],
            held_out=[
                [row if there else [] for row, there in zip(*of_layer, strict=True)]
                for of_layer in zip(held.tolist(), known.tolist(), strict=True)
            ],
        )

    def same_label(self, profiles: ProfilesResult) -> Bool[Tensor, "layer neuron"]:
        """Whether the label that was tested is the one that the profiles give, space and capitals of a word aside."""
        word_of = words(self.pieces)
        one, other = (word_of[answer.word.clamp(min=0)] for answer in (self, profiles))
        part = (self.label >= 0) & (self.label == profiles.label)
        return part | (self.by_word & profiles.by_word & (one == other))

    def counts(self) -> dict[str, int]:
        """The number of neurons whose label predicts: of all parts of speech, of each, and of one word."""
        of_tag = {
            f"{tag} neurons that predict": int((self.predicts & (self.label == i)).sum())
            for i, tag in enumerate(self.tags)
        }
        words = int((self.predicts & self.by_word).sum())
        total = {"part-of-speech neurons that predict": sum(of_tag.values())}
        return total | of_tag | {"one-word neurons that predict": words}

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row per neuron: its label with the qualifier, and each measure with its interval."""
        frame = super().to_frame(field)
        if field is not None:
            return frame
        places = list(zip(frame["layer"], frame["neuron"], strict=True))
        frame["predicts"] = [bool(self.predicts[at]) for at in places]
        frame["label"] = [self.label_of(*at) for at in places]
        frame["word"] = [shown(self.pieces[i]) if i >= 0 else "" for i in frame["word"]]
        for i, name in enumerate(TESTED):
            for end, values in (("", self.value), ("_low", self.low), ("_high", self.high)):
                frame[f"{name}{end}"] = values[..., i].flatten().numpy()
        return frame

    def summary(self) -> "pd.DataFrame":
        """The labelled neurons, the best predicted first."""
        columns = ["layer", "neuron", "label", "auroc", "auroc_low", "auroc_high", "auroc_same_words"]
        columns += [f"{name}{end}" for name in ("auroc_alike", "auroc_words") for end in ("", "_low", "_high")]
        columns += ["auroc_rarity"]
        columns += [f"{name}{end}" for name in ("precision", "recall", "purity") for end in ("", "_low", "_high")]
        columns += ["base_rate", "positives", "positive_words", "tokens", "q"]
        frame = self.to_frame().assign(least=self.least.flatten().numpy())
        frame = frame[frame["label"] != UNRESOLVED].sort_values("least", ascending=False, kind="stable")
        return frame[columns].reset_index(drop=True)

    def said(self) -> str:
        """How many labels predict, in words."""
        if not self.n_tested:
            return "No label is tested: one half of the stories has no token. 100 stories or more say something"
        kinds = [("a part of speech", self.label >= 0), ("one word", self.by_word)]
        said = " and ".join(
            f"{int((self.predicts & kind).sum())} of {int(kind.sum())} labels of {name}" for name, kind in kinds
        )
        return (
            f"{said} predict on {self.n_tested:,} other stories (the AUROC's interval is above {LEAST}, of parts of "
            f"speech also among words of like frequency, and over words above {CHANCE})"
        )

    def headline(self) -> str:
        """How many labels predict."""
        return f"{self.said()}. The labels are from {self.n_labelled:,} stories, one half of those read."

    def figure(self) -> "Figure":
        """The labelled neurons: AUROC on other stories, and precision in the top decile beside the base rate."""
        from tslens.analysis.neurons.held_out_figure import draw

        return draw(self)
