"""Rotary positions as transformers describes them and as TransformerLens does."""

from collections.abc import Mapping
from reprlib import repr as shortened
from typing import Any

from tslens.errors import InputError
from tslens.models.bounds import check_numbers, check_sizes

LONGEST = 2048
"""Positions of a model that are read at most: TransformerLens makes a mask of all pairs of positions."""
LLAMA3 = {
    "factor": "NTK_by_parts_factor",
    "low_freq_factor": "NTK_by_parts_low_freq_factor",
    "high_freq_factor": "NTK_by_parts_high_freq_factor",
    "original_max_position_embeddings": "NTK_original_ctx_len",
}
"""Llama 3.1's rescaling, by the names of both."""
KINDS = ("default", "linear", "llama3")


def refused(config: Any) -> dict[str, bool]:
    """What the positions of a configuration may ask for that is not covered, and whether they do."""
    kind = config.rope_parameters["rope_type"]
    return {f"rotary positions {shortened(kind)}": kind not in KINDS}


def check(config: Any) -> None:
    """InputError for positions of one of `KINDS` with a number that no model has."""
    rope = config.rope_parameters
    for name in ("rope_theta", *{"linear": ("factor",), "llama3": LLAMA3}.get(rope["rope_type"], ())):
        if name == "original_max_position_embeddings":
            check_sizes({name: rope[name]})
        else:
            check_numbers({name: rope[name]}, from_1=name in ("rope_theta", "factor"))
    if rope["rope_type"] == "llama3" and not rope["low_freq_factor"] < rope["high_freq_factor"]:
        raise InputError(
            f"low_freq_factor is {rope['low_freq_factor']!r} and high_freq_factor {rope['high_freq_factor']!r}; "
            "the first must be smaller"
        )


def read(config: Any) -> dict[str, Any]:
    """TransformerLens's fields of the positions of a configuration of transformers."""
    rope, d_head = config.rope_parameters, head_width(config)
    share = rope.get("partial_rotary_factor", 1.0)
    turned = int(d_head * share)
    if turned < 2 or turned % 2:
        raise InputError(
            f"partial_rotary_factor is {share!r}, {turned} of the {d_head} directions of a head; rotary positions need "
            "an even number of them, 2 or more."
        )
    fields: dict[str, Any] = {
        "positional_embedding_type": "rotary",
        "rotary_dim": turned,
        "rotary_base": float(rope["rope_theta"]),
        "rotary_adjacent_pairs": False,
    }
    if rope["rope_type"] == "linear":
        fields["rotary_scaling_factor"] = float(rope["factor"])
    if rope["rope_type"] == "llama3":
        fields |= {"use_NTK_by_parts_rope": True} | {ours: rope[theirs] for theirs, ours in LLAMA3.items()}
    return fields


def written(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The positions of a configuration of transformers, from TransformerLens's fields."""
    rope = {"rope_theta": fields["rotary_base"], "partial_rotary_factor": fields["rotary_dim"] / fields["d_head"]}
    if fields["use_NTK_by_parts_rope"]:
        return rope | {"rope_type": "llama3"} | {theirs: fields[ours] for theirs, ours in LLAMA3.items()}
    if fields["rotary_scaling_factor"] != 1.0:
        return rope | {"rope_type": "linear", "factor": fields["rotary_scaling_factor"]}
    return rope | {"rope_type": "default"}


def head_width(config: Any) -> int:
    """The width of a head of a configuration."""
    return int(getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads)
