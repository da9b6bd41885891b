"""What would the model say after each layer, token by token of one text?"""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tslens import forward
from tslens.analysis.lens.lenses_result import LOGIT_LENS, TUNED_LENS
from tslens.analysis.lens.result import OfPromptResult
from tslens.analysis.lens.translators import TranslatorsResult, check_fits
from tslens.analysis.lens.unembedding import ROWS, Unembedding, depth_names, hooks
from tslens.errors import InputError
from tslens.models import name_of, spec_of, tokenizer_of

if TYPE_CHECKING:
    from tslens.models import LanguageModel


def of_prompt(
    model: "LanguageModel",
    text: str,
    k: int = 5,
    *,
    translators: TranslatorsResult | None = None,
    precision: str = "float32",
) -> OfPromptResult:
    """The lens over one text: at every depth and position, the `k` likeliest next tokens, and the probability and rank
    of the true one. The logit lens, or with `translators` a tuned lens. `precision` is that of the model's own
    products; the lens computes in float32.

    Raises:
        InputError: the text is empty or longer than the model's context, `k` is not within the vocabulary, or the
            precision is unknown.
    """
    dtype = forward.resolve_dtype(precision, model)
    spec, tokenizer, unembedding = spec_of(model), tokenizer_of(model), Unembedding.of(model)
    ids = prompt_ids(model, text)
    check_fits(unembedding, translators, TUNED_LENS)
    if not 1 <= k <= spec.d_vocab:
        raise InputError(f"k is {k}; it must be from 1 to the vocabulary's {spec.d_vocab:,}.")
    device = next(model.parameters()).device
    tokens = torch.tensor(ids, device=device)
    with torch.inference_mode():
        seen = forward.activations(model, tokens[None], hooks(spec), dtype=dtype)
        residuals = [seen[name][0] for name in hooks(spec)]
        if translators is not None:
            residuals = [translators.of(unembedding, residual, depth) for depth, residual in enumerate(residuals)]
        depths = [_read(unembedding, residual, tokens, k) for residual in residuals]
    top_ids, top, true, rank, entropy = (torch.stack(parts).cpu().clone() for parts in zip(*depths, strict=True))
    return OfPromptResult(
        model=name_of(model),
        text=text,
        tokens=tokenizer.pieces(ids),
        depths=depth_names(spec),
        top_tokens=[[tokenizer.pieces(best) for best in row] for row in top_ids.tolist()],
        top_ids=top_ids,
        top_probability=top,
        true_probability=true,
        true_rank=rank,
        entropy=entropy,
        lens=LOGIT_LENS if translators is None else TUNED_LENS,
    )


def prompt_ids(model: "LanguageModel", text: str) -> list[int]:
    """The tokens of a prompt, BOS first. InputError if it is empty or longer than the context."""
    spec, ids = spec_of(model), tokenizer_of(model).encode([text])[0]
    if len(ids) < 2:
        raise InputError("The prompt is empty: there is no next token to read. Give at least one word.")
    if len(ids) > spec.n_ctx:
        raise InputError(
            f"The prompt is {len(ids)} tokens long with BOS, and this model's context is {spec.n_ctx}. "
            f"Cut it by at least {len(ids) - spec.n_ctx} tokens."
        )
    return ids


def _read(unembedding: Unembedding, residual: Tensor, tokens: Tensor, k: int) -> tuple[Tensor, ...]:
    """Top ids and probabilities, probability and rank of the true next token, and entropy, by position."""
    logp = torch.cat([unembedding.log_probabilities(rows) for rows in residual.split(ROWS)])
    top = logp.topk(k)
    true = logp[:-1].gather(1, tokens[1:, None])
    rank = 1 + (logp[:-1] > true).sum(1)
    return (
        top.indices,
        top.values.exp(),
        torch.nn.functional.pad(true[:, 0].exp(), (0, 1), value=torch.nan),
        torch.nn.functional.pad(rank, (0, 1)),
        -(logp.exp() * logp).nan_to_num(0.0).sum(-1),
    )
