"""GPT-NeoX (Pythia) as Hugging Face has it: attention beside the MLP, rotary positions on a part of each head."""

from typing import Any

from tslens.models.hooked import spec_of_config
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
        f"rotary positions on {share!r} of each head": not (isinstance(share, int | float) and 0 < share <= 1),
        f"activation {config.hidden_act!r}": config.hidden_act not in ACTIVATIONS,
        "attention without biases": not config.attention_bias,
        f"rotary positions {config.rope_parameters['rope_type']!r}": config.rope_parameters["rope_type"] != "default",
        "tied embeddings": config.tie_word_embeddings,
    }


def _spec(config: Any) -> Spec:
    d_head = config.hidden_size // config.num_attention_heads
    return spec_of_config(
        {
            "n_layers": config.num_hidden_layers,
            "d_model": config.hidden_size,
            "n_ctx": config.max_position_embeddings,
            "d_head": d_head,
            "n_heads": config.num_attention_heads,
            "d_mlp": config.intermediate_size,
            "d_vocab": config.vocab_size,
            "act_fn": config.hidden_act,
            "eps": config.layer_norm_eps,
            "normalization_type": "LN",
            "parallel_attn_mlp": config.use_parallel_residual,
            "positional_embedding_type": "rotary",
            "rotary_dim": int(d_head * config.rope_parameters.get("partial_rotary_factor", 1.0)),
            "rotary_base": config.rope_parameters["rope_theta"],
            "rotary_adjacent_pairs": False,
        }
    )


GPT_NEOX = Family(
    "GPTNeoXForCausalLM",
    "GPTNeoXConfig",
    "gpt_neox.",
    _refused,
    _spec,
    _parts,
    buffers=r"layers\.\d+\.attention\.(bias|masked_bias|rotary_emb\.inv_freq)",
)
