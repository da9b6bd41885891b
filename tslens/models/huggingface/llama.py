"""Llama as Hugging Face has it: rotary positions on two halves of a head, RMS norm, a gated MLP, no biases."""

from reprlib import repr as shortened
from typing import Any

from tslens.models.hooked import spec_of_config
from tslens.models.hooked_spec import HookedSpec
from tslens.models.huggingface import rope
from tslens.models.huggingface.family import MATRIX, TRANSPOSED, VECTOR, Family, Stored, of_layers, unembedding
from tslens.models.spec import Spec


def _parts(spec: Spec) -> list[Stored]:
    grouped = "" if spec.n_key_value_heads is None else "_"
    layer = [
        Stored("input_layernorm.weight", VECTOR, ("ln1.w",)),
        Stored("self_attn.q_proj.weight", "(h e) d -> 1 h d e", ("attn.W_Q",)),
        *(Stored(f"self_attn.{x}_proj.weight", "(g e) d -> 1 g d e", (f"attn.{grouped}W_{x.upper()}",)) for x in "kv"),
        Stored("self_attn.o_proj.weight", "d (h e) -> 1 h e d", ("attn.W_O",)),
        Stored("post_attention_layernorm.weight", VECTOR, ("ln2.w",)),
        Stored("mlp.gate_proj.weight", TRANSPOSED, ("mlp.W_gate",)),
        Stored("mlp.up_proj.weight", TRANSPOSED, ("mlp.W_in",)),
        Stored("mlp.down_proj.weight", TRANSPOSED, ("mlp.W_out",)),
    ]
    embedding, last = (
        Stored("embed_tokens.weight", MATRIX, ("embed.W_E",)),
        Stored("norm.weight", VECTOR, ("ln_final.w",)),
    )
    return [embedding, *of_layers(spec, "layers", layer), last, *unembedding(spec)]


def _refused(config: Any) -> dict[str, bool]:
    return {
        f"activation {shortened(config.hidden_act)}": config.hidden_act != "silu",
        "biases": config.attention_bias or config.mlp_bias,
        "partial rotary positions": config.rope_parameters.get("partial_rotary_factor", 1.0) != 1.0,
        **rope.refused(config),
    }


def _spec(config: Any) -> Spec:
    """Ours where it says all; TransformerLens's where positions are rescaled or heads have a width of their own."""
    rope.check(config)
    groups, turned = config.num_key_value_heads, config.rope_parameters
    spec = Spec(
        d_model=rope.head_width(config) * config.num_attention_heads,
        n_layers=config.num_hidden_layers,
        n_heads=config.num_attention_heads,
        d_vocab=config.vocab_size,
        n_ctx=min(config.max_position_embeddings, rope.LONGEST),
        style="llama",
        n_key_value_heads=None if groups == config.num_attention_heads else groups,
        d_mlp=config.intermediate_size,
        tied=config.tie_word_embeddings,
        rotary_base=float(turned["rope_theta"]),
        eps=config.rms_norm_eps,
    )
    if turned["rope_type"] == "default" and spec.d_model == config.hidden_size:
        return spec
    return spec_of_config(
        {
            "n_layers": spec.n_layers,
            "d_model": config.hidden_size,
            "n_ctx": spec.n_ctx,
            "d_head": spec.d_head,
            "n_heads": spec.n_heads,
            "n_key_value_heads": spec.n_key_value_heads,
            "d_mlp": spec.d_mlp,
            "d_vocab": spec.d_vocab,
            "act_fn": "silu",
            "gated_mlp": True,
            "eps": spec.eps,
            "normalization_type": "RMS",
            **rope.read(config),
        },
        tied=spec.tied,
    )


def _fields(spec: Spec) -> dict[str, Any]:
    plain = {"rope_type": "default", "rope_theta": spec.rotary_base}
    return {
        "hidden_size": spec.d_model,
        "num_hidden_layers": spec.n_layers,
        "num_attention_heads": spec.n_heads,
        "head_dim": spec.d_head,
        "vocab_size": spec.d_vocab,
        "max_position_embeddings": spec.n_ctx,
        "num_key_value_heads": spec.key_value_heads,
        "intermediate_size": spec.mlp_width,
        "tie_word_embeddings": spec.tied,
        "rope_parameters": rope.written(spec.config) if isinstance(spec, HookedSpec) else plain,
        "rms_norm_eps": spec.eps,
    }


LLAMA = Family(
    "LlamaForCausalLM",
    "LlamaConfig",
    "model.",
    _refused,
    _spec,
    _parts,
    _fields,
    buffers=r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq",
)
