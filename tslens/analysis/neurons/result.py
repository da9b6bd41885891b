"""The result for neurons: what each fires on and writes, with its table and its files."""

import dataclasses
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens.analysis.neurons import printed
from tslens.analysis.neurons.choice import PREDICTS, RARE, UNRESOLVED
from tslens.analysis.neurons.view import Profile
from tslens.errors import InputError
from tslens.plots.text import commonest, listed, shown
from tslens.result import CountedResult

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SILENT = "neurons that never fire"
"""The label under which neurons are counted whose activation is above 0 on no token."""


@dataclasses.dataclass(frozen=True, eq=False)
class ProfilesResult(CountedResult):
    """Every MLP neuron of every layer: its top tokens beside quantile and random samples, its statistics, the part of
    speech (or the one word) it prefers with evidence (see `labels`), and its direct effect on the logits.

    Activations are `blocks.L.mlp.hook_post`. Lists and averages exclude padding, and BOS unless it was asked for.
    The top tokens alone mislead (Bolukbasi et al. 2021, arXiv 2104.07143): read them beside the samples.
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("layer", "neuron")
    essential: ClassVar[tuple[str, ...]] = ("layer", "neuron", "label", "q", "auroc", "top tokens", "firing_rate")

    firing_rate: Float[Tensor, "layer neuron"]
    """Share of tokens with an activation above 0."""
    mean: Float[Tensor, "layer neuron"]
    """Mean activation over tokens."""
    max: Float[Tensor, "layer neuron"]
    """Largest activation."""

    label: Int[Tensor, "layer neuron"]
    """Index into `tags` of the part of speech the neuron is labelled with, -1 where there is none."""
    best: Int[Tensor, "layer neuron"]
    """Index into `tags` of the part of speech that stands out most among the distinct top words, labelled or not."""
    share: Float[Tensor, "layer neuron"]
    """Share of `best` among the different top words: those of the top tokens, or where these are fewer than ten and
    decide nothing, those of the random sample with the largest activations."""
    share_low: Float[Tensor, "layer neuron"]
    """Lower bound of the share, Wilson 95%."""
    share_high: Float[Tensor, "layer neuron"]
    """Upper bound of the share, Wilson 95%."""
    lift: Float[Tensor, "layer neuron"]
    """`share` divided by the base rate of `best`."""
    q: Float[Tensor, "layer neuron"]
    """False discovery rate (Benjamini-Hochberg over all neurons) that words of `best` rank so high in the random
    sample, under tags permuted among words of like frequency."""
    auroc: Float[Tensor, "layer neuron"]
    """AUROC with which the activation separates tokens of `best` from others in the random sample: 0.5 is chance."""
    auroc_low: Float[Tensor, "layer neuron"]
    """Lower bound of the AUROC, 95% over stories; NaN where the sample has fewer than 10 tokens of `best`."""
    auroc_high: Float[Tensor, "layer neuron"]
    """Upper bound of the AUROC."""
    distinct: Int[Tensor, "layer neuron"]
    """Number of different top words: the trials behind `share`."""
    by_word: Bool[Tensor, "layer neuron"]
    """Whether the neuron has no part of speech and is labelled with `word` instead."""
    word: Int[Tensor, "layer neuron"]
    """The commonest word of the top tokens, as a token id (space and capitals aside); -1 where there is none."""
    word_share: Float[Tensor, "layer neuron"]
    """Share of `word` among the top tokens; a context that recurs token for token counts once."""
    word_q: Float[Tensor, "layer neuron"]
    """False discovery rate that `word_auroc` is above 0.5, over the neurons whose top tokens are nearly all one word;
    NaN for others, and where the sample has fewer than 10 tokens of the word."""
    word_auroc: Float[Tensor, "layer neuron"]
    """AUROC with which the activation separates tokens of `word` from others in the random sample; NaN where the word
    is less than 90% of the top tokens, or the sample has none."""
    word_auroc_low: Float[Tensor, "layer neuron"]
    """Lower bound of `word_auroc`, 95% over stories."""
    drawn_words: Int[Tensor, "layer neuron drawn"]
    """The sample's words that gave the part of speech where too few top words did, as token ids; -1: no more."""
    tag_share: Float[Tensor, "layer neuron tag"]
    """Share of each part of speech among the different top words."""
    tag_base: Float[Tensor, " tag"]
    """Base rate of each part of speech: the larger of its shares of the sample's tokens and of its distinct words."""

    top_values: Float[Tensor, "layer neuron rank"]
    """Largest activations, descending except for rounding differences; NaN where the corpus has fewer tokens. Places of
    stories that are the same up to there count once."""
    top_tokens: Int[Tensor, "layer neuron rank"]
    """Their token ids (-1 where there is none)."""
    top_tags: Int[Tensor, "layer neuron rank"]
    """Their parts of speech, as indices into `tags` (-1 where there is none)."""
    top_story: Int[Tensor, "layer neuron rank"]
    """Row of the story in `story_hashes` (-1 where there is none)."""
    top_pos: Int[Tensor, "layer neuron rank"]
    """Position in the story; BOS is 0."""
    top_contexts: Int[Tensor, "layer neuron rank window"]
    """Token ids of the context, with the token itself in the middle; -1 outside the story."""

    story_hashes: Int[Tensor, " story"]
    """Hash of the text of every story referred to here (`tslens.stories.identity.content_hash`)."""
    story_occurrences: Int[Tensor, " story"]
    """Number of earlier stories with the same text."""

    sample_tokens: Int[Tensor, " sample"]
    """Tokens drawn at random from the corpus, the same for all neurons, in random order."""
    sample_tags: Int[Tensor, " sample"]
    """Their parts of speech, as indices into `tags`."""
    sample_story: Int[Tensor, " sample"]
    """Row of the story in `story_hashes`."""
    sample_pos: Int[Tensor, " sample"]
    """Position in the story; BOS is 0."""
    sample_contexts: Int[Tensor, "sample window"]
    """Token ids of the context, as in `top_contexts`."""
    random_values: Float[Tensor, "layer neuron random"]
    """Activations on the first tokens of the sample: unselected examples."""
    quantile_values: Float[Tensor, "layer neuron quantile example"]
    """Activations around each quantile (`quantiles`) of the neuron over the sample, descending."""
    quantile_samples: Int[Tensor, "layer neuron quantile example"]
    """The tokens of the sample that `quantile_values` belong to."""

    promoted_tokens: Int[Tensor, "layer neuron effect"]
    """Tokens whose logits the neuron raises most when it fires."""
    promoted_values: Float[Tensor, "layer neuron effect"]
    """Change of those logits per unit of activation, before the division by the final norm's scale, descending."""
    suppressed_tokens: Int[Tensor, "layer neuron effect"]
    """Tokens whose logits the neuron lowers most."""
    suppressed_values: Float[Tensor, "layer neuron effect"]
    """Change of those logits, ascending."""

    quantiles: list[float]
    """Levels of `quantile_values`, descending."""
    tags: list[str]
    """Universal parts of speech; X is no word: a line break, BOS."""
    pieces: list[str]
    """The vocabulary as displayed text, by token id."""
    model: str
    """The model's name."""
    precision: str
    """Precision of the forward pass."""
    n_tokens: int
    """Tokens that were read, BOS excluded."""
    n_stories: int
    """Stories that were read."""
    tests: list[list[str]] = dataclasses.field(default_factory=list, kw_only=True)
    """By layer and neuron what other stories say of its label (`HeldOutResult.qualify`): `predicts`, `tail selector` or
    `untested`, empty where it has none. Empty where labels were not tested."""
    held_out: list[list[list[float]]] = dataclasses.field(default_factory=list, kw_only=True)
    """By layer and neuron the numbers of that test, by `printed.HELD_OUT`; empty where the label was not tested."""
    rare_words: list[list[int]] | None = dataclasses.field(default=None, kw_only=True)
    """Layer and number of unlabelled neurons that fire on a word too rare to label them; None where not asked."""
    rare_beside: str = dataclasses.field(default="", kw_only=True)
    """How many they are beside untrained twins, in words; empty where these were not asked."""
    chosen: list[list[int]] | None = dataclasses.field(default=None, kw_only=True)
    """Layer and number of the neurons that the summary shows (`choice.choose`); None for all."""
    of_word: str = dataclasses.field(default="", kw_only=True)
    """The word by whose share of their top tokens they are in order; if empty, the best supported come first."""

    @property
    def called(self) -> str:
        """What the neurons are, in a few words, before the model's name."""
        return "MLP neurons of"

    def layer_of(self, layer: int) -> str:
        """The name of a layer."""
        return str(layer)

    @cached_property
    def _of_rare_words(self) -> frozenset[tuple[int, ...]]:
        return frozenset(map(tuple, self.rare_words or ()))

    def label_of(self, layer: int, neuron: int) -> str:
        """The neuron's `name_of`, and unless it predicts where the neuron fires: `NOUN, tail selector`."""
        test = self.tests[layer][neuron] if self.tests else ""
        said = RARE if (layer, neuron) in self._of_rare_words else test
        return f"{self.name_of(layer, neuron)}{f', {said}' if said not in ('', PREDICTS) else ''}"

    def name_of(self, layer: int, neuron: int) -> str:
        """The part of speech the neuron is labelled with, or one word (`token: and`), or `unresolved`."""
        label = int(self.label[layer, neuron])
        if label < 0 and (self.by_word[layer, neuron] or (layer, neuron) in self._of_rare_words):
            return f"token: {shown(self.pieces[int(self.word[layer, neuron])])}"
        return self.tags[label] if label >= 0 else UNRESOLVED

    @property
    def is_labelled(self) -> Bool[Tensor, "layer neuron"]:
        """Whether a neuron is labelled, with a part of speech or with one word."""
        return (self.label >= 0) | self.by_word

    def counts(self) -> dict[str, int]:
        """The number of neurons labelled with any and with each part of speech, with one word, and that never fire."""
        of_tag = {f"{tag} neurons": int((self.label == i).sum()) for i, tag in enumerate(self.tags)}
        others = {"one-word neurons": int(self.by_word.sum()), SILENT: int((self.firing_rate == 0).sum())}
        return {"part-of-speech neurons": sum(of_tag.values())} | of_tag | others

    @property
    def label_tokens(self) -> Int[Tensor, "layer neuron token"]:
        """The tokens that gave each neuron's label, whose words cannot test it; -1 where there are no more."""
        return torch.cat([self.top_tokens, self.drawn_words], dim=-1)

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row per neuron: its statistics, label and evidence, and its commonest top tokens as text."""
        frame = super().to_frame(field)
        if field is not None:
            return frame
        frame["label"] = [self.label_of(*place) for place in zip(frame["layer"], frame["neuron"], strict=True)]
        frame = frame.assign(**printed.tested(self))
        frame["best"] = [self.tags[i] for i in frame["best"]]
        frame["word"] = [shown(self.pieces[i]) if i >= 0 else "" for i in frame["word"]]
        frame["top tokens"] = [commonest(row, self.pieces) for row in self.top_tokens.flatten(0, 1).tolist()]
        frame["promotes"] = [listed(row, self.pieces) for row in self.promoted_tokens.flatten(0, 1).tolist()]
        return frame

    def summary(self) -> "pd.DataFrame":
        """The main columns of the chosen neurons, the best supported first."""
        return printed.table(self)

    def headline(self) -> str:
        """How many neurons have a label, by label, and how many of the labels predict."""
        return printed.headline(self)

    def write_tables(self, folder: Path) -> None:
        """Write `tops.csv`: per neuron and rank the token, five tokens either side, and the hash of the story."""
        from tslens.analysis.neurons.tops_table import write

        write(self, folder / "tops.csv")

    def neuron(self, layer: int, neuron: int) -> Profile:
        """One neuron with its examples in context; InputError if there is no such neuron."""
        layers, width = self.label.shape
        if not (0 <= layer < layers and 0 <= neuron < width):
            raise InputError(
                f"There is no neuron {neuron} in layer {layer}: "
                f"layers run from 0 to {layers - 1}, neurons from 0 to {width - 1}."
            )
        return Profile(self, layer, neuron)

    def __str__(self) -> str:
        return printed.text(self)

    def figure(self) -> "Figure":
        """By layer, how many neurons have a label and how often neurons fire; the labelled ones with their AUROC."""
        from tslens.analysis.neurons.figure import draw

        return draw(self)
