"""GPT-NeoX (Pythia) as Hugging Face has it: attention beside the MLP, rotary positions on a part of each head."""

from reprlib import repr as shortened
from typing import Any

from tslens.models.hooked import spec_of_config
from tslens.models.hooked_spec import HookedSpec
from tslens.models.huggingface import rope
from tslens.models.huggingface.family import (
    MATRIX,
    TRANSPOSED,
    Family,
    Stored,
    linear,
    mlp,
    norm,
    of_layers,
    unembedding,
)
from tslens.models.spec import Spec

ACTIVATIONS = ("gelu", "gelu_new", "relu")
LAYER = [
    *norm("input_layernorm", "ln1"),
    Stored("attention.query_key_value.weight", "(h w e) d -> w h d e", ("attn.W_Q", "attn.W_K", "attn.W_V")),
    Stored("attention.query_key_value.bias", "(h w e) -> w h e", ("attn.b_Q", "attn.b_K", "attn.b_V")),
    *linear("attention.dense", "d (h e) -> 1 h e d", "attn.W_O", "attn.b_O"),
    *norm("post_attention_layernorm", "ln2"),
    *mlp("mlp.dense_h_to_4h", "mlp.dense_4h_to_h", TRANSPOSED),
]


def _parts(spec: Spec) -> list[Stored]:
    embedding, last = Stored("embed_in.weight", MATRIX, ("embed.W_E",)), norm("final_layer_norm", "ln_final")
    return [embedding, *of_layers(spec, "layers", LAYER), *last, *unembedding(spec)]


def _refused(config: Any) -> dict[str, bool]:
    share = config.rope_parameters.get("partial_rotary_factor", 1.0)
    return {
        f"rotary positions on {shortened(share)} of each head": not (isinstance(share, int | float) and 0 < share <= 1),
        f"activation {shortened(config.hidden_act)}": config.hidden_act not in ACTIVATIONS,
        "attention without biases": not config.attention_bias,
        **rope.refused(config),
    }


def _spec(config: Any) -> Spec:
    rope.check(config)
    return spec_of_config(
        {
            "n_layers": config.num_hidden_layers,
            "d_model": config.hidden_size,
            "n_ctx": min(config.max_position_embeddings, rope.LONGEST),
            "d_head": rope.head_width(config),
            "n_heads": config.num_attention_heads,
            "d_mlp": config.intermediate_size,
            "d_vocab": config.vocab_size,
            "act_fn": config.hidden_act,
            "eps": config.layer_norm_eps,
            "normalization_type": "LN",
            "parallel_attn_mlp": config.use_parallel_residual,
            **rope.read(config),
        },
        tied=config.tie_word_embeddings,
    )


def _fields(spec: Spec) -> dict[str, Any]:
    assert isinstance(spec, HookedSpec)
    c = spec.config
    return {
        "hidden_size": spec.d_model,
        "num_hidden_layers": spec.n_layers,
        "num_attention_heads": spec.n_heads,
        "vocab_size": spec.d_vocab,
        "max_position_embeddings": spec.n_ctx,
        "intermediate_size": spec.mlp_width,
        "hidden_act": c["act_fn"],
        "tie_word_embeddings": spec.tied,
        "use_parallel_residual": c["parallel_attn_mlp"],
        "rope_parameters": rope.written(c),
        "layer_norm_eps": spec.eps,
    }


GPT_NEOX = Family(
    "GPTNeoXForCausalLM",
    "GPTNeoXConfig",
    "gpt_neox.",
    _refused,
    _spec,
    _parts,
    _fields,
    buffers=r"layers\.\d+\.attention\.(bias|masked_bias|rotary_emb\.inv_freq)",
)
