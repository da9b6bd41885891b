"""What would the model say after each layer? (logit lens)

The residual stream between blocks is read as if it were the last: final norm, then unembedding (nostalgebraist 2020,
"interpreting GPT: the logit lens"). Weights are as trained: no norm is folded in, nothing is centred, and the final
norm measures each residual by its own scale.
"""

from tslens.analysis.lens.by_depth import Depth
from tslens.analysis.lens.of_prompt import prompt
from tslens.analysis.lens.result import LensByDepth, LensOfPrompt

__all__ = ["Depth", "LensByDepth", "LensOfPrompt", "prompt"]
