"""What does a head do on repeated random tokens, where only repetition predicts the next token?

After Elhage et al. 2021 ("A Mathematical Framework for Transformer Circuits") and Olsson et al. 2022 (arXiv
2209.11895): in a row `BOS r1 ... rL r1 ... rL` of random tokens only the first half predicts the second.
"""

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import forward
from tslens.copying import copying
from tslens.errors import InputError
from tslens.forward.trunk import NoLogits
from tslens.models import spec_of, tokenizer_of, weights

if TYPE_CHECKING:
    from tslens.models import LanguageModel

ROWS = 16  # of random tokens in a batch


@dataclass(frozen=True)
class RepetitionScores:
    """Attention mass on repeated random tokens, row by row, and the mass that uniform attention would put there."""

    previous: Float[Tensor, "row layer head"]
    duplicate: Float[Tensor, "row layer head"]
    induction: Float[Tensor, "row layer head"]
    previous_uniform: Float[Tensor, " layer"]
    duplicate_uniform: Float[Tensor, " layer"]
    induction_uniform: Float[Tensor, " layer"]
    copies: bool = True
    """Whether the model copies at all (`tslens.copying`): else the masses are no evidence of a role. False for a
    compressor's trunk, which has no logits to show it."""


SCORED = 4
_scored: dict[bytes, RepetitionScores] = {}
"""The scores of the last models, the oldest first; a score per row and head, no weights."""


def repeated_tokens(
    model: "LanguageModel", *, rows: int = 32, length: int = 48, seed: int = 0
) -> Int[Tensor, "row pos"]:
    """Rows of BOS and `length` different random tokens, twice; fewer tokens where the context is shorter.

    InputError where context or vocabulary leave no room for two different tokens twice.
    """
    spec, bos = spec_of(model), tokenizer_of(model).bos
    length = min(length, (spec.n_ctx - 1) // 2, tokenizer_of(model).size - 1)
    if length < 2:
        raise InputError(f"A context of {spec.n_ctx} has no room for BOS and two tokens twice; it takes 5.")
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.rand(rows, tokenizer_of(model).size - 1, generator=generator).argsort(dim=1)[:, :length]
    drawn += drawn >= bos
    return torch.cat([torch.full((rows, 1), bos), drawn, drawn], dim=1)


def patterns(
    model: "LanguageModel", tokens: Int[Tensor, "row pos"], *, dtype: torch.dtype = torch.float32
) -> Float[Tensor, "layer row head query key"]:
    """The attention of every layer over rows of one length; `dtype` is that of the model's matrix products."""
    spec = spec_of(model)
    hooks = [name for i in range(spec.n_layers) for name in forward.score_hooks(spec, i)]
    with torch.inference_mode():
        seen = forward.activations(model, tokens.to(next(model.parameters()).device), hooks, dtype=dtype)
        return torch.stack([forward.scores(spec, i, seen).softmax(-1) for i in range(spec.n_layers)])


def repetition_scores(model: "LanguageModel", *, rows: int = 32, length: int = 48, seed: int = 0) -> RepetitionScores:
    """The attention of every head on repeated random tokens.

    Several reducers ask for them, so those of the last `SCORED` models are kept, by a hash of all that decides them.

    `previous` is over all queries but the first two; `duplicate` and `induction` over the second half, where the
    token's first occurrence lies `length` back and the one after it `length - 1`.
    """
    tokens = repeated_tokens(model, rows=rows, length=length, seed=seed)
    key = hashlib.blake2b(repr((spec_of(model), type(model.unembed), tokens.tolist())).encode())
    for name, value in weights(model).items():
        key.update(name.encode())
        key.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    if (digest := key.digest()) not in _scored:
        while len(_scored) >= SCORED:
            del _scored[next(iter(_scored))]
        _scored[digest] = _scores_on(model, tokens)
    return _scored[digest]


def _copies(model: "LanguageModel", tokens: Int[Tensor, "row pos"]) -> bool:
    losses = forward.token_losses(model, tokens.to(next(model.parameters()).device))
    return copying(losses, spec_of(model).d_vocab).copies


def _scores_on(model: "LanguageModel", tokens: Int[Tensor, "row pos"]) -> RepetitionScores:
    """The scores on these rows."""
    length = (tokens.shape[1] - 1) // 2
    offsets = {"previous": (1, 2), "duplicate": (length, length + 1), "induction": (length - 1, length + 1)}
    found: dict[str, list[Tensor]] = {name: [] for name in offsets}
    for start in range(0, len(tokens), ROWS):
        pattern = patterns(model, tokens[start : start + ROWS]).cpu()
        for name, (offset, first) in offsets.items():
            on_keys = torch.diagonal(pattern, -offset, -2, -1)[..., first - offset :]
            found[name].append(on_keys.mean(-1).transpose(0, 1).double())
    spec, at = spec_of(model), torch.arange(1, tokens.shape[1] + 1).double()
    uniform = {}
    for name, (offset, first) in offsets.items():
        windows = [forward.window_of(spec, i) or spec.n_ctx for i in range(spec.n_layers)]
        share = [((at.clamp(max=w) > offset) / at.clamp(max=w))[first:].mean() for w in windows]
        uniform[name] = torch.stack(share)
    return RepetitionScores(
        **{name: torch.cat(rows_) for name, rows_ in found.items()},
        **{f"{k}_uniform": v for k, v in uniform.items()},
        copies=not isinstance(model.unembed, NoLogits) and _copies(model, tokens),
    )
