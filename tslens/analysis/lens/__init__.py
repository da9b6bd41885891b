"""What would the model say after each layer? (logit lens and tuned lens)

`by_depth` answers over a corpus, `of_prompt` token by token for one text. The logit lens reads the residual stream
between blocks as if it were the last: final norm, then unembedding (nostalgebraist 2020, "interpreting GPT: the logit
lens"). The tuned lens first translates it (Belrose et al. 2023, arXiv 2303.08112): `translators` fits one, `lenses`
compares the two. `attribution` and `by_component` say which component writes the next token directly, in one text and
over a corpus; `residuals` says how long the stream is. Weights are as trained: no norm is folded in, nothing is
centred, and the final norm divides each residual by its own scale.
"""

from tslens.analysis.lens.attribution import attribution
from tslens.analysis.lens.attribution_result import AttributionResult, ByComponentResult
from tslens.analysis.lens.by_component import ByComponent, by_component
from tslens.analysis.lens.lenses import Lenses, lenses
from tslens.analysis.lens.lenses_result import LOGIT_LENS, TUNED_LENS, LensesResult
from tslens.analysis.lens.prompt import of_prompt
from tslens.analysis.lens.reducer import ByDepth, by_depth
from tslens.analysis.lens.refitted import Refitted
from tslens.analysis.lens.residuals import Residuals, residuals
from tslens.analysis.lens.residuals_result import ResidualsResult
from tslens.analysis.lens.result import ByDepthResult, OfPromptResult, settled
from tslens.analysis.lens.ridge import Translators
from tslens.analysis.lens.translators import TranslatorsResult
from tslens.analysis.lens.tuning import STEPS, translators

__all__ = [
    "LOGIT_LENS",
    "STEPS",
    "TUNED_LENS",
    "AttributionResult",
    "ByComponent",
    "ByComponentResult",
    "ByDepth",
    "ByDepthResult",
    "Lenses",
    "LensesResult",
    "OfPromptResult",
    "Refitted",
    "Residuals",
    "ResidualsResult",
    "Translators",
    "TranslatorsResult",
    "attribution",
    "by_component",
    "by_depth",
    "lenses",
    "of_prompt",
    "residuals",
    "settled",
    "translators",
]
