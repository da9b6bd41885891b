"""Which component writes the next token, at each position of one text? (direct logit attribution)"""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tslens import forward
from tslens.analysis.lens.attribution_result import AttributionResult
from tslens.analysis.lens.components import Components, component_hooks, component_names, rows_of
from tslens.analysis.lens.prompt import prompt_ids
from tslens.errors import InputError
from tslens.models import name_of, spec_of, story_tokenizer_of

if TYPE_CHECKING:
    from tslens.models import LanguageModel

MEAN, NOTHING = "the mean of all tokens", "nothing"


def attribution(
    model: "LanguageModel",
    text: str,
    *,
    target: str | None = None,
    contrast: str | None = None,
    centred: bool = True,
    precision: str = "float32",
) -> AttributionResult:
    """What each component adds to the logit of the next token, at each position of a text.

    The token asked about is the true next one (at the last position the model's likeliest), or `target` at every
    position. Its logit is taken less that of `contrast`, or less the mean logit of all tokens, or with `centred=False`
    as it is. `target` and `contrast` are text that is one token, its space included.

    Raises:
        InputError: the text is empty or longer than the context, or `target` or `contrast` is not one token.
    """
    dtype, device = forward.resolve_dtype(precision, model), next(model.parameters()).device
    spec, tokenizer, ids = spec_of(model), story_tokenizer_of(model), prompt_ids(model, text)
    asked, other = (None if word is None else _one_token(model, word) for word in (target, contrast))
    with torch.inference_mode():
        parts = Components.of(model)
        names = component_hooks(spec)
        tokens = torch.tensor([ids], device=device)
        seen = forward.activations(model, tokens, names, dtype=dtype)
        writes = rows_of(seen, names, torch.ones_like(tokens, dtype=torch.bool))
        targets = _targets(parts, writes, tokens[0], asked)
        if other is not None:
            reference = parts.columns[other]
        else:
            reference = parts.vocabulary_mean() * float(centred)
        directions = parts.directions(targets, reference)
        found, logit = parts.contributions(writes, directions), parts.logits(writes, directions)
    return AttributionResult(
        model=name_of(model),
        text=text,
        tokens=tokenizer.pieces(ids),
        targets=tokenizer.pieces(targets.tolist()),
        against=MEAN if other is None and centred else NOTHING if other is None else tokenizer.pieces([other])[0],
        components=component_names(spec),
        contribution=found.T.cpu().clone(),
        logit=logit.cpu().clone(),
        remainder=float((found.sum(1) - logit).abs().max()),
    )


def _targets(parts: Components, writes: dict[str, Tensor], tokens: Tensor, asked: int | None) -> Tensor:
    """The token asked about at each position."""
    if asked is not None:
        return torch.full_like(tokens, asked)
    last = writes[f"blocks.{parts.unembedding.spec.n_layers - 1}.hook_resid_post"][-1:]
    return torch.cat([tokens[1:], parts.unembedding.log_probabilities(last).argmax(-1)])


def _one_token(model: "LanguageModel", word: str) -> int:
    """The token that a text is; InputError if it is several, or none."""
    tokenizer = story_tokenizer_of(model)
    ids = tokenizer.encode([word], bos=False)[0]
    if len(ids) != 1:
        raise InputError(
            f"{word!r} is {len(ids)} tokens of {name_of(model)}: {', '.join(map(repr, tokenizer.pieces(ids)))}. "
            "Give one, with the space before it, such as ' ball'."
        )
    return ids[0]
