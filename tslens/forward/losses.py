"""Cross-entropy losses that never hold all logits at once."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from tslens.forward.run import residual, unembed
from tslens.models import logit_cap, output_bias

if TYPE_CHECKING:
    from tslens.models import LanguageModel

LOGITS = {"cpu": 2**21}  # that exist at a time, on a CPU no more than its cache holds
LOGITS_ELSEWHERE = 2**26
FEWEST = 128  # rows of them, however large the vocabulary


class _ChunkedCrossEntropy(torch.autograd.Function):
    """Summed cross-entropy of a linear head without ever holding all logits.

    The gradient is formed while each chunk's logits exist, so nothing is recomputed and neither logits nor
    log-softmax are saved for backward (as in Liger Kernel, Hsu et al. 2024, arXiv 2410.10989).
    """

    @staticmethod
    def forward(ctx: Any, final: Tensor, weight: Tensor, targets: Tensor, masked: bool, dtype: torch.dtype) -> Tensor:
        w = weight.to(dtype)
        needs = any(ctx.needs_input_grad[:2])
        total = final.new_zeros((), dtype=torch.float32)
        d_final = torch.empty_like(final) if needs else None
        d_weight = torch.zeros(weight.shape, dtype=torch.float32, device=weight.device) if needs else None
        for part in _chunks(final, w.shape[1]):
            rows, wanted = final[part].to(dtype), targets[part]
            scores = (rows @ w).float()
            probability = scores.softmax(dim=-1)
            picked = wanted.clamp(min=0)[:, None]
            # log-sum-exp without a second exponential: the largest probability is exp(largest score - log-sum-exp)
            lse = scores.amax(-1, keepdim=True) - probability.amax(-1, keepdim=True).log()
            nll = lse - scores.gather(1, picked)
            total += (nll * (wanted >= 0)[:, None] if masked else nll).sum()
            if d_final is not None and d_weight is not None:
                grad = probability.scatter_add_(1, picked, probability.new_full(picked.shape, -1.0))
                if masked:
                    grad.mul_((wanted >= 0)[:, None])
                low = grad.to(dtype)
                d_final[part] = low @ w.T
                d_weight += rows.T @ low
        ctx.save_for_backward(d_final, d_weight)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        d_final, d_weight = ctx.saved_tensors
        return d_final * grads[0], d_weight * grads[0], None, None, None


def _chunks(rows: Tensor, vocabulary: int) -> Iterator[slice]:
    size = max(FEWEST, LOGITS.get(rows.device.type, LOGITS_ELSEWHERE) // vocabulary)
    return (slice(start, start + size) for start in range(0, rows.shape[0], size))


def cross_entropy(
    w_u: Float[Tensor, "d_model d_vocab"],
    final: Float[Tensor, "place d_model"],
    targets: Int[Tensor, " place"],
    masked: bool,
    dtype: torch.dtype,
) -> Float[Tensor, ""]:
    """Summed cross-entropy in nats of normalised residuals under the unembedding `w_u`, a few logits at a time.
    If `masked`, targets of -1 do not count."""
    total: Tensor = _ChunkedCrossEntropy.apply(final, w_u, targets, masked, dtype)  # type: ignore[no-untyped-call]
    return total


def loss(
    model: "LanguageModel",
    tokens: Int[Tensor, "batch pos"],
    mask: Bool[Tensor, "batch pos"] | None = None,
    *,
    dtype: torch.dtype = torch.float32,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
    """Summed cross-entropy in nats of each token given the earlier ones, and the number of predictions.

    `mask` is False on padding, which does not count. Divide for the mean. `dropout` as in `residual`.
    """
    final, targets = _predictions(model, tokens, mask, dtype, dropout)
    total = _summed(model, final.flatten(0, 1), targets.flatten(), mask is not None, dtype)
    return total, (targets >= 0).sum()


def row_losses(
    model: "LanguageModel",
    tokens: Int[Tensor, "batch pos"],
    mask: Bool[Tensor, "batch pos"] | None = None,
    *,
    dtype: torch.dtype = torch.float32,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, " batch"], Int[Tensor, " batch"]]:
    """As `loss`, for each row, for an objective that is no plain sum. Holds one gradient of the unembedding per row."""
    final, targets = _predictions(model, tokens, mask, dtype, dropout)
    sums = [_summed(model, row, wanted, mask is not None, dtype) for row, wanted in zip(final, targets, strict=True)]
    return torch.stack(sums), (targets >= 0).sum(1)


def _summed(
    model: "LanguageModel", final: Float[Tensor, "place d_model"], targets: Tensor, masked: bool, dtype: torch.dtype
) -> Float[Tensor, ""]:
    """`cross_entropy` under the model's unembedding; a bias is one more dimension, which is 1 everywhere. Capped logits
    are held as a whole, a few at a time without gradients."""
    if logit_cap(model):
        found = [
            F.cross_entropy(unembed(model, final[part], dtype), targets[part], reduction="sum", ignore_index=-1)
            for part in _chunks(final, model.cfg.d_vocab)
        ]
        return torch.stack(found).sum()
    weight, bias = model.unembed.W_U, output_bias(model)
    if bias is not None:
        weight, final = torch.cat([weight, bias[None]]), F.pad(final, (0, 1), value=1.0)
    return cross_entropy(weight, final, targets, masked, dtype)


def _predictions(
    model: "LanguageModel", tokens: Tensor, mask: Tensor | None, dtype: torch.dtype, dropout: float = 0.0
) -> tuple[Float[Tensor, "batch pos_minus_1 d_model"], Int[Tensor, "batch pos_minus_1"]]:
    """The normalised residuals that predict, and their targets."""
    return residual(model, tokens[:, :-1], dtype=dtype, dropout=dropout)[0], targets_of(tokens, mask)


def targets_of(tokens: Tensor, mask: Tensor | None) -> Int[Tensor, "batch pos_minus_1"]:
    """The target token at each position; -1 where there is none."""
    return tokens[:, 1:] if mask is None else tokens[:, 1:].masked_fill(~mask[:, 1:], -1)


def token_losses(
    model: "LanguageModel",
    tokens: Int[Tensor, "batch pos"],
    *,
    dtype: torch.dtype = torch.float32,
    ends: Sequence[int] = (),
) -> Float[Tensor, "batch pos_minus_1"]:
    """Cross-entropy in nats of each token but the first, without gradients; of one of several `ends` of a story, that
    of any of them: models end stories with the one that they were trained on, whichever their tokenizer names."""
    with torch.no_grad():
        return per_token_loss(model, *_predictions(model, tokens, None, dtype), dtype, ends)


def per_token_loss(
    model: "LanguageModel",
    final: Float[Tensor, "batch pos d_model"],
    targets: Int[Tensor, "batch pos"],
    dtype: torch.dtype,
    ends: Sequence[int] = (),
) -> Float[Tensor, "batch pos"]:
    """Cross-entropy in nats of each target from normalised residuals, a few logits at a time, without gradients.
    `ends` as in `token_losses`."""
    rows, wanted, parts = final.flatten(0, 1), targets.flatten(), []
    for part in _chunks(rows, model.unembed.W_U.shape[1]):
        scores = unembed(model, rows[part], dtype)
        parts.append(F.cross_entropy(scores, wanted[part], reduction="none"))
        if len(ends) > 1 and bool((at := torch.isin(wanted[part], wanted.new_tensor(ends))).any()):
            parts[-1][at] = scores[at].logsumexp(-1) - scores[at][:, list(ends)].logsumexp(-1)
    return torch.cat(parts).view(targets.shape)
