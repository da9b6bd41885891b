"""GPT-Neo as Hugging Face has it: no division of attention scores, windows, no biases of queries, keys and values."""

from functools import partial
from reprlib import repr as shortened
from typing import Any

from tslens.models.huggingface.family import (
    GELU_TANH,
    TRANSPOSED,
    Family,
    Stored,
    linear,
    mlp,
    norm,
)
from tslens.models.huggingface.gpt2 import around
from tslens.models.spec import Spec

LAYER = [
    *norm("ln_1", "ln1"),
    *(Stored(f"attn.attention.{x}_proj.weight", "(h e) d -> 1 h d e", (f"attn.W_{x.upper()}",)) for x in "qkv"),
    *linear("attn.attention.out_proj", "d (h e) -> 1 h e d", "attn.W_O", "attn.b_O"),
    *norm("ln_2", "ln2"),
    *mlp("mlp.c_fc", "mlp.c_proj", TRANSPOSED),
]


def _refused(config: Any) -> dict[str, bool]:
    return {
        f"activation {shortened(config.activation_function)}": config.activation_function not in GELU_TANH,
        "attention that is neither global nor local": not {*config.attention_layers} <= {"global", "local"},
    }


def _spec(config: Any) -> Spec:
    local = tuple(i for i, kind in enumerate(config.attention_layers) if kind == "local")
    return Spec(
        d_model=config.hidden_size,
        n_layers=config.num_layers,
        n_heads=config.num_heads,
        d_vocab=config.vocab_size,
        n_ctx=config.max_position_embeddings,
        d_mlp=config.intermediate_size,
        tied=config.tie_word_embeddings,
        scaled=False,
        window=config.window_size if local else None,
        local_layers=local,
        eps=config.layer_norm_epsilon,
    )


def _fields(spec: Spec) -> dict[str, Any]:
    kinds = ["local" if i in spec.local_layers else "global" for i in range(spec.n_layers)]
    return {
        "hidden_size": spec.d_model,
        "num_layers": spec.n_layers,
        "num_heads": spec.n_heads,
        "vocab_size": spec.d_vocab,
        "max_position_embeddings": spec.n_ctx,
        "intermediate_size": spec.d_mlp,
        "tie_word_embeddings": spec.tied,
        "attention_types": [[[kind], 1] for kind in kinds],
        "window_size": spec.window or spec.n_ctx,
        "layer_norm_epsilon": spec.eps,
    }


GPT_NEO = Family(
    "GPTNeoForCausalLM",
    "GPTNeoConfig",
    "transformer.",
    _refused,
    _spec,
    partial(around, LAYER),
    _fields,
    buffers=r"h\.\d+\.attn\.attention\.(bias|masked_bias)",
)
