"""How much sooner does the tuned lens know the answer than the logit lens, over a corpus and by part of speech?"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import pos
from tslens.analysis.lens.lenses_result import LOGIT_LENS, TUNED_LENS, LensesResult
from tslens.analysis.lens.means import Means, means
from tslens.analysis.lens.reducer import groups_of_rows, measured, predicted_rows
from tslens.analysis.lens.tags import tags_of_rows
from tslens.analysis.lens.translators import TranslatorsResult, check_fits
from tslens.analysis.lens.unembedding import Unembedding, depth_names, hooks, likeliest
from tslens.errors import InputError
from tslens.models import Spec, story_tokenizer_of
from tslens.scan import BATCH_TOKENS, Batch, scan
from tslens.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tslens.models import LanguageModel

MEASURES = ("loss", "kl", "agreement", "gain")


@dataclass
class LensSums:
    """The model's unembedding and tokenizer, and sums over tokens by group of stories and part of speech."""

    unembedding: Unembedding
    tokenizer: Tokenizer
    stories: int
    tokens: Float[Tensor, "group tag"]
    sums: Float[Tensor, "group tag measure lens depth"]
    predicted: Float[Tensor, " d_vocab"]
    """The model's own probability of each token, added up over positions."""
    likeliest: Int[Tensor, " d_vocab"]
    """Positions where each token is the model's likeliest."""
    negative_entropy: float = 0.0
    """Of the model's own predictions, added up; nats."""


@dataclass(frozen=True)
class Lenses:
    """A reducer for `LensesResult`: several lenses on the same tokens.

    Refuses a story that a tuned lens was fitted on, by the hash of its text.
    """

    lenses: Mapping[str, TranslatorsResult | None]
    """Each lens by its name, None for the logit lens; a gain is over the first."""
    groups: int = 32
    """Groups of stories behind the intervals (delete-a-group jackknife)."""
    every: int = 1
    """Of so many positions of a story one is read (see `reducer.predicted`)."""

    def hooks(self, spec: Spec) -> Sequence[str]:
        """The residual stream at every depth."""
        return hooks(spec)

    def start(self, model: "LanguageModel") -> LensSums:
        """Empty sums, the model's unembedding and its tokenizer. InputError if a lens does not fit the model."""
        unembedding = Unembedding.of(model)
        for name, lens in self.lenses.items():
            check_fits(unembedding, lens, name)
        shape = (self.groups, len(pos.TAGS))
        sums = torch.zeros(*shape, len(MEASURES), len(self.lenses), unembedding.spec.n_layers + 1, dtype=torch.float64)
        none = torch.zeros(unembedding.spec.d_vocab, dtype=torch.float64)
        tokens = torch.zeros(shape, dtype=torch.float64)
        return LensSums(unembedding, story_tokenizer_of(model), 0, tokens, sums, none, none.long())

    def update(self, state: LensSums, activations: Mapping[str, Tensor], batch: Batch) -> LensSums:
        """Add the tokens of a batch."""
        self._refuse_fitted(batch)
        unembedding, names = state.unembedding, hooks(state.unembedding.spec)
        rows, targets = predicted_rows(activations, names, batch, self.every)
        read = [
            residual if lens is None else lens.of(unembedding, residual, depth)
            for lens in self.lenses.values()
            for depth, residual in enumerate(rows)
        ]
        groups = groups_of_rows(batch, self.groups, self.every)
        cell = groups * len(pos.TAGS) + tags_of_rows(batch, state.tokenizer, self.every)
        sums, shape = state.sums.flatten(0, 1), (len(self.lenses), len(names))
        for part, found, final in measured(unembedding, read, targets):
            parts = found.unflatten(2, shape)
            gain = parts[:, 1, :1] - parts[:, 1]
            sums.index_add_(0, cell[part], torch.cat([parts, gain[:, None]], dim=1).double().cpu())
            self._add_final(state, final.double().cpu())
        state.tokens.flatten().index_add_(0, cell, torch.ones(len(cell), dtype=torch.float64))
        state.stories += len(batch.texts)
        return state

    def _add_final(self, state: LensSums, final: Float[Tensor, "row d_vocab"]) -> None:
        probabilities = final.exp()
        state.predicted += probabilities.sum(0)
        state.negative_entropy += float(torch.linalg.vecdot(probabilities, final).sum())
        state.likeliest += torch.bincount(likeliest(final), minlength=len(state.likeliest))

    def _refuse_fitted(self, batch: Batch) -> None:
        for name, lens in self.lenses.items():
            if lens is not None and (known := torch.isin(batch.hashes, lens.story_hashes)).any():
                raise InputError(
                    f"The {name} was fitted on {int(known.sum())} of the {len(batch.texts)} stories just read, such as "
                    f"number {int(batch.indices[known][0])}: they cannot judge it. Give others, or fit it on others."
                )

    def merge(self, a: LensSums, b: LensSums) -> LensSums:
        """Add the sums."""
        fields = ("stories", "tokens", "sums", "predicted", "likeliest", "negative_entropy")
        return LensSums(a.unembedding, a.tokenizer, **{name: getattr(a, name) + getattr(b, name) for name in fields})

    def finish(self, state: LensSums) -> LensesResult:
        """Means per token, with intervals over groups of stories."""
        whole = means(state.sums.sum(1), state.tokens.sum(1)[:, None, None, None])
        tagged = means(state.sums, state.tokens[:, :, None, None, None])
        fields: dict[str, Any] = {}
        for i, name in enumerate(MEASURES):
            fields |= Means(*(part[i] for part in whole)).named(name)
            fields |= Means(*(part[:, i].movedim(0, -1) for part in tagged)).named(f"tag_{name}")
        tokens, constant = state.tokens.sum(), state.predicted / state.predicted.sum()
        fitted = [lens for lens in self.lenses.values() if lens is not None]
        return LensesResult(
            model=state.unembedding.model,
            stories=state.stories,
            tokens=int(tokens),
            null_kl=float(state.negative_entropy / tokens - torch.xlogy(constant, constant).sum()),
            null_agreement=float(state.likeliest.max() / tokens),
            lenses=list(self.lenses),
            depths=depth_names(state.unembedding.spec),
            tags=list(pos.TAGS),
            tag_tokens=state.tokens.sum(0).long(),
            fitted_on=fitted[0].corpus if fitted else "",
            translators=fitted[0].how if fitted else [],
            **fields,
        )


def lenses(
    model: "LanguageModel",
    stories: Iterable[str],
    translators: TranslatorsResult,
    *,
    groups: int = 32,
    context: int | None = None,
    batch_tokens: int = BATCH_TOKENS,
    precision: str = "float32",
) -> LensesResult:
    """Logit lens and tuned lens side by side over a corpus (see `Lenses` and `scan`).

    Raises:
        InputError: there is no story, none with two tokens, or one that the tuned lens was fitted on.
    """
    asked = Lenses({LOGIT_LENS: None, TUNED_LENS: translators}, groups)
    return scan(model, stories, asked, context=context, batch_tokens=batch_tokens, precision=precision)
