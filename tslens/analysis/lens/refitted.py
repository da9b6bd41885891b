"""How many positions does a tuned lens settle that is fitted on whichever model is read, an untrained twin too?

The tuned lens of a model says nothing of its twins: each has its own translators. They are the closed form, on fewer
stories than the model's, because every twin costs a fit; the model beside them is fitted in the same way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from torch import Tensor

from tslens.analysis.lens.lenses import Lenses, LensSums
from tslens.analysis.lens.lenses_result import LOGIT_LENS, TUNED_LENS, LensesResult
from tslens.analysis.lens.tuning import translators
from tslens.analysis.lens.unembedding import hooks
from tslens.models import Spec
from tslens.scan import Batch

if TYPE_CHECKING:
    from tslens.models import LanguageModel


@dataclass
class RefittedSums:
    """The lenses with the translators of the model that is read, and their sums."""

    lenses: Lenses
    sums: LensSums


@dataclass(frozen=True)
class Refitted:
    """A reducer for `LensesResult`: the logit lens and a tuned lens that is fitted when the pass begins."""

    texts: Sequence[str] = field(repr=False)
    """Stories to fit on, none of which is read."""
    steps: int = 0
    """Steps of gradient descent after the closed form."""
    groups: int = 32
    """Groups of stories behind the intervals."""

    def hooks(self, spec: Spec) -> Sequence[str]:
        """The residual stream at every depth."""
        return hooks(spec)

    def start(self, model: "LanguageModel") -> RefittedSums:
        """Fit the translators. InputError for too few stories."""
        fitted = translators(model, self.texts, steps=self.steps)
        lenses = Lenses({LOGIT_LENS: None, TUNED_LENS: fitted}, self.groups)
        return RefittedSums(lenses, lenses.start(model))

    def update(self, state: RefittedSums, activations: Mapping[str, Tensor], batch: Batch) -> RefittedSums:
        """Add the tokens of a batch; InputError for a story of the fit."""
        return replace(state, sums=state.lenses.update(state.sums, activations, batch))

    def merge(self, a: RefittedSums, b: RefittedSums) -> RefittedSums:
        """Add the sums; both states have the same translators."""
        return replace(a, sums=a.lenses.merge(a.sums, b.sums))

    def finish(self, state: RefittedSums) -> LensesResult:
        """Means per token, with intervals over groups of stories."""
        return state.lenses.finish(state.sums)
