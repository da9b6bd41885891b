"""The spec of a HookedTransformer, read from its configuration and weights."""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tslens.errors import InputError
from tslens.models.bounds import refuse_wild
from tslens.models.hooked_spec import GELU_TANH, NORMED_WHOLE, POST_NORMED, HookedSpec, hooked_spec
from tslens.models.spec import Spec
from tslens.models.tied import is_tied

if TYPE_CHECKING:
    from tslens.models.protocols import LanguageModel

# What the answer rests on in a configuration. TransformerLens's modules read most of it once, when they are made.
READ_ONCE = (
    *("n_layers", "d_model", "n_heads", "n_key_value_heads", "d_head", "d_mlp", "d_vocab", "d_vocab_out", "n_ctx"),
    *("act_fn", "gated_mlp", "eps", "final_rms", "attn_only", "parallel_attn_mlp", "post_embedding_ln", "num_experts"),
    *("attention_dir", "attn_types", "use_local_attn", "window_size", "use_attn_scale", "attn_scale", "clip_qkv"),
    *("scale_attn_by_inverse_layer_idx", "use_qk_norm", "use_logn_attn", "use_attention_sinks"),
    *("attn_scores_soft_cap", "output_logits_soft_cap", "use_normalization_before_and_after"),
    *("positional_embedding_type", "rotary_dim", "rotary_base", "rotary_base_local", "rotary_scaling_factor"),
    *("rotary_adjacent_pairs", "use_NTK_by_parts_rope", "use_yarn_rope", "use_dynamic_ntk_rope", "train_seq_length"),
    "original_architecture",
)
READ_ANEW = ("normalization_type", "dtype")  # what TransformerLens itself changes: folding norms, model.to


def read(model: "LanguageModel") -> Spec:
    """The spec that would build this model; a `HookedSpec` where the fast forward does not cover the model.

    Raises:
        InputError: the weights are not finite or not float32, or the model predicts no next token of its own.
    """
    c = model.cfg
    dtypes = {c.dtype, *(p.dtype for p in model.parameters())} - {torch.float32}
    if dtypes:
        raise InputError(
            f"This model has weights in {min(map(str, dtypes))}, and tslens reads float32: "
            "model.to(torch.float32) brings them back; its products run in bfloat16 with precision='bfloat16'."
        )
    if not c.n_layers:
        raise InputError("This model has no layer, so that there is nothing to analyse. Give one with 1 or more.")
    refuse_wild(model.named_parameters())
    return shape_with(model, dict(model.named_parameters()))


def shape_with(model: "LanguageModel", weights: Mapping[str, Tensor]) -> Spec:
    """As `read`, of a model with these weights, which may be on the meta device itself."""
    spec = shape_of(model)
    if isinstance(spec, HookedSpec):
        return spec
    shaped = spec.parameter_shapes()
    outside = [name for name, _ in model.named_parameters() if name not in shaped]
    if biased := [name for name in outside if name in weights and bool(weights[name].detach().any())]:
        style = "GPT-2" if spec.style == "gpt2" else "Llama"
        return hooked_spec(model, [f"{biased[0]!r}, which a {style}-style model does not have"], outside)
    return spec


def shape_of(model: "LanguageModel") -> Spec:
    """As `read`, by the configuration and the modules alone: no weight is read."""
    found = _beyond(model)
    return hooked_spec(model, found) if found else _spec_from_cfg(model)


def _beyond(model: "LanguageModel") -> list[str]:
    """Features of this model that no spec can describe."""
    c = model.cfg
    unknown = {
        "attention direction": c.attention_dir != "causal",
        "attention only": c.attn_only,
        "parallel attention and MLP": c.parallel_attn_mlp,
        f"activation {c.act_fn!r}": not c.attn_only
        and (c.act_fn not in (*GELU_TANH, "silu") or (c.act_fn == "silu") != bool(c.gated_mlp)),
        f"normalisation {c.normalization_type!r}": c.normalization_type not in ("LN", "RMS"),
        f"positions {c.positional_embedding_type!r}": c.positional_embedding_type not in ("standard", "rotary"),
        "partial rotary": c.positional_embedding_type == "rotary" and c.rotary_dim != c.d_head,
        "scores scaled by layer": c.scale_attn_by_inverse_layer_idx,
        "query/key norm": c.use_qk_norm or c.original_architecture in NORMED_WHOLE,
        "attention scale": any(abs(s - (c.d_head**0.5 if c.use_attn_scale else 1.0)) > 1e-6 for s in scales(model)),
        "attention scaled by position": c.use_logn_attn,
        "clipped queries and keys": c.clip_qkv is not None,
        "norm after the embedding": c.post_embedding_ln,
        "several rotary bases": c.rotary_base_local is not None,
        f"rotary positions divided by {c.rotary_scaling_factor:g}": c.rotary_scaling_factor != 1.0,
        "soft caps": c.attn_scores_soft_cap > 0 or c.output_logits_soft_cap > 0,
        "attention sinks (patterns are without their share)": c.use_attention_sinks,
        "experts (their neurons are not read)": bool(c.num_experts) and not c.attn_only,
        "norms after attention and MLP": c.use_normalization_before_and_after or c.original_architecture in POST_NORMED,
        "rescaled rotary": c.use_NTK_by_parts_rope or c.use_yarn_rope,
        f"rotary positions that are rescaled beyond {c.train_seq_length or c.n_ctx} tokens": c.use_dynamic_ntk_rope,
        "head width": c.d_head * c.n_heads != c.d_model,
        "output vocabulary": c.d_vocab_out != c.d_vocab,
    }
    if c.normalization_type == "LN":
        unknown["final norm of another kind"] = c.final_rms
        unknown["grouped heads with a layer norm"] = c.n_key_value_heads is not None
        unknown["layer norm with rotary positions or a gated MLP"] = (
            c.positional_embedding_type == "rotary" or c.gated_mlp
        )
    elif c.normalization_type == "RMS":
        unknown["RMS norm with learned positions or a plain MLP"] = c.positional_embedding_type != "rotary" or not (
            c.gated_mlp or c.attn_only
        )
    return [what for what, bad in unknown.items() if bad]


def _spec_from_cfg(model: "LanguageModel") -> Spec:
    c = model.cfg
    locals_ = tuple(i for i, kind in enumerate(c.attn_types or []) if kind == "local") if c.use_local_attn else ()
    spec = Spec(
        d_model=c.d_model,
        n_layers=c.n_layers,
        n_heads=c.n_heads,
        d_vocab=c.d_vocab,
        n_ctx=c.n_ctx,
        style="gpt2" if c.normalization_type == "LN" else "llama",
        n_key_value_heads=c.n_key_value_heads,
        tied=is_tied(model),
        scaled=c.use_attn_scale,
        window=c.window_size if locals_ else None,
        local_layers=locals_,
        rotary_adjacent=c.rotary_adjacent_pairs,
        rotary_base=float(c.rotary_base),
        eps=c.eps,
    )
    return spec if spec.mlp_width == c.d_mlp else dataclasses.replace(spec, d_mlp=c.d_mlp)


def scales(model: "LanguageModel") -> list[float]:
    """The divisor of the attention scores of each layer."""
    return [block.attn.attn_scale for block in model.blocks if hasattr(block, "attn")]
