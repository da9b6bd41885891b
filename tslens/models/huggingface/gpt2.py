"""GPT-2 as Hugging Face has it."""

from functools import partial
from reprlib import repr as shortened
from typing import Any

from tslens.models.hooked import spec_of_config
from tslens.models.hooked_spec import GELU_TANH, HookedSpec
from tslens.models.huggingface import rope
from tslens.models.huggingface.family import (
    MATRIX,
    Family,
    Stored,
    linear,
    mlp,
    norm,
    of_layers,
    unembedding,
)
from tslens.models.spec import Spec

LAYER = [
    *norm("ln_1", "ln1"),
    Stored("attn.c_attn.weight", "d (w h e) -> w h d e", ("attn.W_Q", "attn.W_K", "attn.W_V")),
    Stored("attn.c_attn.bias", "(w h e) -> w h e", ("attn.b_Q", "attn.b_K", "attn.b_V")),
    *linear("attn.c_proj", "(h e) d -> 1 h e d", "attn.W_O", "attn.b_O"),
    *norm("ln_2", "ln2"),
    *mlp("mlp.c_fc", "mlp.c_proj", MATRIX),
]


def around(layer: list[Stored], spec: Spec) -> list[Stored]:
    """All tensors of a model with these in each layer, as GPT-2 and GPT-Neo call them."""
    embeddings = [Stored("wte.weight", MATRIX, ("embed.W_E",)), Stored("wpe.weight", MATRIX, ("pos_embed.W_pos",))]
    return [*embeddings, *of_layers(spec, "h", layer), *norm("ln_f", "ln_final"), *unembedding(spec)]


ACTIVATIONS = {**dict.fromkeys(GELU_TANH, "gelu_new"), "gelu": "gelu", "relu": "relu", "silu": "silu"}
"""TransformerLens's names of activations."""


def _refused(config: Any) -> dict[str, bool]:
    return {
        f"activation {shortened(config.activation_function)}": config.activation_function not in ACTIVATIONS,
        f"over {rope.LONGEST:,} positions with {shortened(config.activation_function)} or scores scaled by layer": (
            _is_slow(config) and config.n_positions > rope.LONGEST
        ),
        "cross-attention": config.add_cross_attention,
    }


def _is_slow(config: Any) -> bool:
    """Whether TransformerLens's own forward has to run it."""
    return config.scale_attn_by_inverse_layer_idx or config.activation_function not in GELU_TANH


def _spec(config: Any) -> Spec:
    """Ours where it says all; TransformerLens's with another activation, or scores that are scaled by layer."""
    return _slow_spec(config) if _is_slow(config) else _fast_spec(config)


def _slow_spec(config: Any) -> Spec:
    fast = _fast_spec(config)
    return spec_of_config(
        {
            "n_layers": fast.n_layers,
            "d_model": fast.d_model,
            "n_ctx": fast.n_ctx,
            "d_head": fast.d_head,
            "n_heads": fast.n_heads,
            "d_mlp": fast.mlp_width,
            "d_vocab": fast.d_vocab,
            "act_fn": ACTIVATIONS[config.activation_function],
            "eps": fast.eps,
            "normalization_type": "LN",
            "use_attn_scale": fast.scaled,
            "scale_attn_by_inverse_layer_idx": config.scale_attn_by_inverse_layer_idx,
        },
        tied=fast.tied,
    )


def _fast_spec(config: Any) -> Spec:
    return Spec(
        d_model=config.n_embd,
        n_layers=config.n_layer,
        n_heads=config.n_head,
        d_vocab=config.vocab_size,
        n_ctx=config.n_positions,
        d_mlp=config.n_inner,
        tied=config.tie_word_embeddings,
        scaled=config.scale_attn_weights,
        eps=config.layer_norm_epsilon,
    )


def _fields(spec: Spec) -> dict[str, Any]:
    return {
        "n_embd": spec.d_model,
        "n_layer": spec.n_layers,
        "n_head": spec.n_heads,
        "vocab_size": spec.d_vocab,
        "n_positions": spec.n_ctx,
        "n_inner": spec.d_mlp,
        "tie_word_embeddings": spec.tied,
        "scale_attn_weights": spec.scaled,
        "layer_norm_epsilon": spec.eps,
        **(_slow_fields(spec) if isinstance(spec, HookedSpec) else {}),
    }


def _slow_fields(spec: HookedSpec) -> dict[str, Any]:
    """What a shape of the slow path has beyond; an activation that GPT-2 does not have stays its own, which is no
    shape of the same function."""
    return {
        "n_inner": spec.mlp_width,
        "activation_function": spec.config["act_fn"],
        "scale_attn_weights": spec.config["use_attn_scale"],
        "scale_attn_by_inverse_layer_idx": spec.config["scale_attn_by_inverse_layer_idx"],
    }


GPT2 = Family(
    "GPT2LMHeadModel",
    "GPT2Config",
    "transformer.",
    _refused,
    _spec,
    partial(around, LAYER),
    _fields,
    buffers=r"h\.\d+\.attn\.(bias|masked_bias)",
)
