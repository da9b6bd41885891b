"""The fast forward: a HookedTransformer's own parameters through fused kernels.

The hooked forward is for inspection; this one is for training, generation and scanning. Both read the same parameters,
and a test compares their values and gradients for every configuration that `models.Spec` can describe. Any activation
that TransformerLens names can be requested; only requested ones are kept. What the fast forward does not cover takes
the slow path (`forward.hooked`) behind the same functions.
"""

from tslens.forward.attention import (
    Attention,
    attention_scores,
    causal_mask,
    fused_attention,
    of_story,
    score_hooks,
    scores,
    window_of,
)
from tslens.forward.blocks import (
    Layer,
    block,
    centred,
    final_norm,
    gain_of,
    layers,
    norm,
    norm_scale,
    rotary_cos_sin,
    run_blocks,
)
from tslens.forward.edited import EditedForward
from tslens.forward.hooks import check_hooks, hook_names
from tslens.forward.linear import FusedLinear
from tslens.forward.losses import cross_entropy, loss, per_token_loss, row_losses, targets_of, token_losses
from tslens.forward.precision import PRECISIONS, bf16_speedup, check_precision, dtype_for, resolve_dtype
from tslens.forward.run import activations, capped, embed, logits, residual, unembed
from tslens.forward.stream import WriteMap, embeddings, head_changes, neuron_change, norm_before, scale_hooks, written

__all__ = [
    "PRECISIONS",
    "Attention",
    "EditedForward",
    "FusedLinear",
    "Layer",
    "WriteMap",
    "activations",
    "attention_scores",
    "bf16_speedup",
    "block",
    "capped",
    "causal_mask",
    "centred",
    "check_hooks",
    "check_precision",
    "cross_entropy",
    "dtype_for",
    "embed",
    "embeddings",
    "final_norm",
    "fused_attention",
    "gain_of",
    "head_changes",
    "hook_names",
    "layers",
    "logits",
    "loss",
    "neuron_change",
    "norm",
    "norm_before",
    "norm_scale",
    "of_story",
    "per_token_loss",
    "residual",
    "resolve_dtype",
    "rotary_cos_sin",
    "row_losses",
    "run_blocks",
    "scale_hooks",
    "score_hooks",
    "scores",
    "targets_of",
    "token_losses",
    "unembed",
    "window_of",
    "written",
]
