"""What would the model say after each layer? (logit lens)

`by_depth` answers over a corpus, `of_prompt` token by token for one text. The residual stream between blocks is read as
if it were the last: final norm, then unembedding (nostalgebraist 2020, "interpreting GPT: the logit lens"). Weights are
as trained: no norm is folded in, nothing is centred, and the final norm divides each residual by its own scale.
"""

from tslens.analysis.lens.prompt import of_prompt
from tslens.analysis.lens.reducer import ByDepth, by_depth
from tslens.analysis.lens.result import ByDepthResult, OfPromptResult

__all__ = ["ByDepth", "ByDepthResult", "OfPromptResult", "by_depth", "of_prompt"]
