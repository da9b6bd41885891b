"""What does the model lose without a head? (the causal check of a role)"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens import forward, progress, stats
from tslens.analysis.heads.repeated import repeated_tokens
from tslens.errors import InputError
from tslens.models import Spec, name_of, spec_of, tokenizer_of
from tslens.result import Result
from tslens.scan import batches

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tslens.models import LanguageModel

ROWS = 512  # positions whose logits exist at a time


@dataclass(frozen=True, eq=False)
class AblationResult(Result):
    """The increase of the loss when a head is mean-ablated: its output is replaced by its mean over positions and rows.

    Intervals are 95% (Student's t over rows, paired).
    """

    frame_axes: ClassVar[tuple[str, ...]] = ("layer", "head")

    model: str
    """The model's name."""
    on: str
    """What was read: `repeated random tokens` or `stories`."""
    rows: int
    """Number of rows."""
    baseline: float
    """Loss of the full model, nats per token; on repeated random tokens over the second half only."""
    increase: Float[Tensor, "layer head"]
    """Loss without the head minus the baseline, nats per token."""
    low: Float[Tensor, "layer head"]
    """Lower end of its interval."""
    high: Float[Tensor, "layer head"]
    """Upper end of its interval."""
    q: Float[Tensor, "layer head"]
    """False discovery rate of the claim that the change is not 0 (two-sided, Benjamini-Hochberg over all heads)."""

    def figure(self) -> "Figure":
        """Heat map of the change of the loss by head."""
        from tslens import plots

        return plots.heatmap(
            self.increase,
            title=f"{self.model} on {self.on}: loss without the head",
            row_label="layer",
            column_label="head",
            colour_label="nats per token gained",
            centre=0.0,
        )


def ablation(
    model: "LanguageModel", stories: Iterable[str] | None = None, *, rows: int = 16, seed: int = 0
) -> AblationResult:
    """Ablate each head in turn and measure the loss: on the second half of repeated random tokens, where only
    induction helps, or on `stories` (the first `rows` of them).

    Mean ablation (after Wang et al. 2022, arXiv 2211.00593): zeros would give a residual stream that never occurs.

    Raises:
        InputError: fewer than two rows, which leave no interval.
    """
    tokens, scored = _repeated(model, rows, seed) if stories is None else _natural(model, stories, rows)
    if len(tokens) < 2:
        raise InputError(f"An interval needs 2 rows or more; there is {len(tokens)}. Give more stories.")
    spec, blocks = spec_of(model), _FromBlock.of(model)
    names = [f"blocks.{i}.{part}" for i in range(spec.n_layers) for part in ("hook_resid_pre", "attn.hook_z")]
    with torch.inference_mode():
        seen = forward.activations(model, tokens, names)
        before = blocks.losses(seen[names[0]], 0, None, tokens, scored)
        real = scored.clone()
        real[:, 0] = True
        after = torch.zeros(spec.n_layers, spec.n_heads, len(tokens), dtype=torch.float64)
        for layer in progress.track(range(spec.n_layers), "ablating"):
            mean = seen[f"blocks.{layer}.attn.hook_z"][real].mean(0)
            for head in range(spec.n_heads):
                start = seen[f"blocks.{layer}.hook_resid_pre"]
                after[layer, head] = blocks.losses(start, layer, (head, mean[head]), tokens, scored)
    gain = stats.paired_difference(after.numpy(), before.expand(after.shape).numpy(), axis=2)
    return AblationResult(
        model=name_of(model),
        on="repeated random tokens" if stories is None else "stories",
        rows=len(tokens),
        baseline=float(before.mean()),
        increase=torch.as_tensor(gain.estimate).float(),
        low=torch.as_tensor(gain.low).float(),
        high=torch.as_tensor(gain.high).float(),
        q=torch.as_tensor(stats.benjamini_hochberg(_p((after - before).numpy()))).float(),
    )


def _repeated(model: "LanguageModel", rows: int, seed: int) -> tuple[Tensor, Tensor]:
    """Repeated random tokens, scored from the second token of the second half on: the first cannot be predicted."""
    tokens = repeated_tokens(model, rows=rows, seed=seed).to(next(model.parameters()).device)
    scored = torch.zeros(tokens.shape, dtype=torch.bool, device=tokens.device)
    scored[:, (tokens.shape[1] - 1) // 2 + 2 :] = True
    return tokens, scored


def _natural(model: "LanguageModel", stories: Iterable[str], rows: int) -> tuple[Tensor, Tensor]:
    """The first stories as rows of one length, every token after BOS scored."""
    from itertools import islice

    context = spec_of(model).n_ctx
    parts = list(batches(islice(stories, rows), tokenizer_of(model), context=context, batch_tokens=rows * context))
    longest = max(part.tokens.shape[1] for part in parts)
    bos = int(parts[0].tokens[0, 0])
    tokens, scored = (
        torch.cat([torch.nn.functional.pad(x, (0, longest - x.shape[1]), value=fill) for x in of_parts])
        for of_parts, fill in (([part.tokens for part in parts], bos), ([part.mask for part in parts], False))
    )
    scored[:, 0] = False
    device = next(model.parameters()).device
    return tokens.to(device), scored.to(device)


@dataclass(frozen=True)
class _FromBlock:
    """The fused forward from a given block on, with one head's output replaced in that block."""

    model: "LanguageModel"
    spec: Spec
    layers: list[forward.Layer]
    attend: forward.Attention

    @classmethod
    def of(cls, model: "LanguageModel") -> "_FromBlock":
        spec = spec_of(model)
        return cls(model, spec, forward.layers(model, spec, pack=True), forward.fused_attention(spec))

    def losses(
        self,
        residual: Float[Tensor, "row pos d_model"],
        first: int,
        instead: tuple[int, Tensor] | None,
        tokens: Int[Tensor, "row pos"],
        scored: Bool[Tensor, "row pos"],
    ) -> Float[Tensor, " row"]:
        """Mean cross-entropy of the scored tokens of every row, nats, from the residual before block `first`."""

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            z = self.attend(layer, q, k, v)
            if instead is not None and layer == first:
                z = z.clone()
                z[:, :, instead[0]] = instead[1]
            return z

        positions = torch.arange(tokens.shape[1], device=tokens.device)
        cos_sin = forward.rotary_cos_sin(self.spec, positions) if self.spec.style == "llama" else None
        for i in range(first, self.spec.n_layers):
            residual = forward.block(self.spec, i, self.layers[i], residual, cos_sin, attend)
        counted = scored[:, 1:]
        rows = forward.final_norm(self.model, self.spec, residual[:, :-1][counted])
        losses = [
            torch.nn.functional.cross_entropy(forward.unembed(self.model, part), wanted, reduction="none")
            for part, wanted in zip(torch.split(rows, ROWS), torch.split(tokens[:, 1:][counted], ROWS), strict=True)
        ]
        total = torch.zeros(len(tokens), dtype=torch.float64, device=tokens.device)
        total.index_add_(0, counted.nonzero()[:, 0], torch.cat(losses).double())
        return (total / counted.sum(1).clamp(min=1)).cpu()


def _p(differences: Float[np.ndarray, "layer head row"]) -> np.ndarray:
    """Two-sided p-values that the mean difference is 0 (paired t)."""
    from scipy import stats as scipy_stats

    n = differences.shape[-1]
    error = differences.std(-1, ddof=1) / np.sqrt(n)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * scipy_stats.t.sf(np.abs(differences.mean(-1)) / error, n - 1)
    return np.where(error > 0, p, 1.0)
