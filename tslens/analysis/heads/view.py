"""Where does every head attend in this text?"""

from typing import TYPE_CHECKING

import torch

from tslens import forward
from tslens.analysis.heads.pattern import PatternResult
from tslens.analysis.heads.repeated import patterns
from tslens.errors import InputError
from tslens.models import name_of, spec_of, tokenizer_of

if TYPE_CHECKING:
    from tslens.models import LanguageModel


def pattern(model: "LanguageModel", text: str, *, precision: str = "float32") -> PatternResult:
    """The attention of every head over one text, BOS first. `precision` is that of the model's matrix products.

    Raises:
        InputError: the text is empty or longer than the model's context, or the precision is unknown.
    """
    dtype = forward.resolve_dtype(precision, model)
    spec, tokenizer = spec_of(model), tokenizer_of(model)
    ids = tokenizer.encode([text])[0]
    if len(ids) < 2:
        raise InputError("The text is empty: there is nothing to attend to. Give at least one word.")
    if len(ids) > spec.n_ctx:
        raise InputError(
            f"The text is {len(ids)} tokens long with BOS, and this model's context is {spec.n_ctx}. "
            f"Cut it by at least {len(ids) - spec.n_ctx} tokens."
        )
    weights = patterns(model, torch.tensor([ids]), dtype=dtype)[:, 0].clone()
    return PatternResult(model=name_of(model), text=text, tokens=tokenizer.pieces(ids), pattern=weights.cpu())
