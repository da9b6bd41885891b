"""The fast forward: a HookedTransformer's own parameters through fused kernels.

The hooked forward is for looking inside; this one is for training, generation and scanning. Both read the same
parameters, and a test holds them together in value and in gradient for every configuration that `models.Spec` can say.
Any activation that TransformerLens names can be asked for; only those asked for are kept.
"""

from tslens.forward.attention import Attend, attention_scores, causal_mask, fused_attend, query_key_hooks, window_of
from tslens.forward.blocks import Layer, block, layers, norm, rotary
from tslens.forward.hooks import check_hooks, hook_names
from tslens.forward.losses import cross_entropy, each_loss, loss, row_losses, targets_of, token_losses
from tslens.forward.product import Product, precision
from tslens.forward.run import activations, embed, logits, residual, unembed

__all__ = [
    "Attend",
    "Layer",
    "Product",
    "activations",
    "attention_scores",
    "block",
    "causal_mask",
    "check_hooks",
    "cross_entropy",
    "each_loss",
    "embed",
    "fused_attend",
    "hook_names",
    "layers",
    "logits",
    "loss",
    "norm",
    "precision",
    "query_key_hooks",
    "residual",
    "rotary",
    "row_losses",
    "targets_of",
    "token_losses",
    "unembed",
    "window_of",
]
