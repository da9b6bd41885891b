"""GPT-Neo as Hugging Face has it: no division of attention scores, windows, no biases of queries, keys and values."""

from functools import partial
from reprlib import repr as shortened
from typing import Any

from tslens.errors import InputError
from tslens.models.hooked_spec import GELU_TANH
from tslens.models.huggingface.family import (
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


def check_kinds(fields: dict[str, Any], where: str) -> None:
    """InputError for a `config.json` whose `attention_types` (kinds, and how often they repeat) are of another form,
    name another number of layers than it has, or others than its `attention_layers`: transformers would write them out
    first, and believe the latter."""
    types, listed = fields.get("attention_types"), fields.get("attention_layers")
    if types is None:
        types = [[["global", "local"], 12]] if listed is None else [[listed, 1]]  # transformers' own
    if not isinstance(types, list) or not all(_is_type(kind) for kind in types):
        raise InputError(
            f"{where} is no config of GPTNeoForCausalLM: attention_types is {shortened(types)}; it must be a list of "
            "[KINDS, TIMES]."
        )
    named = sum(len(kinds) * max(0, times) for kinds, times in types)
    for name in [name for name in ("num_layers", "num_hidden_layers") if name in fields] or ["num_layers"]:
        if (layers := fields.get(name, 24)) != named:
            raise InputError(
                f"{where}: attention_types names the kinds of {named:,} layers, and {name} is {shortened(layers)}: one "
                "of them was altered. Fetch it again."
            )
    if listed is not None and listed != [kind for kinds, times in types for kind in kinds * times]:
        raise InputError(f"{where}: attention_layers is not what attention_types says. Fetch it again.")


def _is_type(kind: Any) -> bool:
    return isinstance(kind, list) and [type(part) for part in kind] == [list, int]


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
