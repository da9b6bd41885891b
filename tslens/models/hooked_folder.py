"""Read a folder with a configuration and weights of TransformerLens, as `export --to transformer-lens` writes it."""

import textwrap
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tslens.errors import InputError
from tslens.fields import typed
from tslens.files import read_json
from tslens.models import huggingface
from tslens.models.bounds import MOST, MOST_LAYERS, MOST_WIDTH, check_numbers, check_sizes
from tslens.models.hooked import activations, config_types, spec_of_config
from tslens.models.hooked_spec import NORMED_WHOLE, NOT_SHAPE, HookedSpec
from tslens.models.huggingface.rope import LONGEST
from tslens.models.spec import Spec
from tslens.progress import note
from tslens.tokenizer import Tokenizer

CONFIG, WEIGHTS = "cfg.json", "model.safetensors"
SIZES = ("d_model", "n_layers", "n_ctx", "n_heads", "d_head", "d_vocab")
OPTIONAL = ("d_mlp", "rotary_dim", "window_size", "num_experts", "experts_per_token", "train_seq_length")
POSITIONS = ("standard", "rotary", "shortformer", "alibi")
POSITIVE = ("eps", "rotary_base", "rotary_scaling_factor")


def read(folder: str | Path) -> tuple[Spec, dict[str, Tensor], Tokenizer]:
    """The shape, the weights by name (fp32) and the tokenizer of a folder with `cfg.json`, `model.safetensors` and the
    tokenizer's files. An unembedding that equals the token embedding is tied to it.

    Raises:
        InputError: a file that is missing or was altered, a configuration that TransformerLens does not build, or
            weights that do not match it.
    """
    folder = Path(folder)
    fields = _fields(folder / CONFIG)
    tensors = huggingface.read_file(folder / WEIGHTS)
    if fields["n_layers"] * (fields.get("num_experts") or 1) > len(tensors):
        raise InputError(
            f"{folder / CONFIG} has more layers or experts than {WEIGHTS} has tensors: one of them was altered."
        )
    none = torch.empty(0)
    unembedding, embedding = tensors.get("unembed.W_U", none), tensors.get("embed.W_E", none)
    tied = embedding.dim() == 2 and torch.equal(unembedding, embedding.T)
    if tied:
        del tensors["unembed.W_U"]
    spec = _spec(fields, tensors, folder / CONFIG, tied=tied)
    if isinstance(spec, HookedSpec):
        note(f"{folder.name}: {spec.said}")
    spare = tensors.keys() - spec.parameter_shapes().keys()
    zero = {name for name in spare if not bool(tensors[name].any())}  # biases of a style that has none
    return spec, {n: t.float() for n, t in tensors.items() if n not in zero}, huggingface.read_tokenizer(folder)


def _fields(path: Path) -> dict[str, Any]:
    """What a configuration says of the function of a model, checked by type and size."""
    found = read_json(path)
    if not isinstance(found, dict):
        raise InputError(f"{path} is no configuration of TransformerLens: it holds no table.")
    kinds = {name: kind for name, kind in config_types().items() if name not in NOT_SHAPE}
    kinds["act_fn"] = str | None  # None for attention only
    given = {name: value for name, value in found.items() if name in kinds}
    try:
        fields = {name: typed(name, kinds[name], value) for name, value in given.items()}
        check_sizes({name: fields.get(name) for name in SIZES})
        check_sizes({"n_layers": fields["n_layers"]}, MOST_LAYERS)
        check_sizes({name: fields[name] for name in OPTIONAL if fields.get(name)})
        check_numbers({name: fields[name] for name in POSITIVE if name in fields})
        _check_rest(fields)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return fields


def _check_rest(fields: dict[str, Any]) -> None:
    """InputError for other numbers that no model has, and for more positions than are read."""
    for name, value in fields.items():
        if isinstance(value, int | float) and not -MOST <= value <= MOST:
            raise InputError(f"{name} is {value:g}; it must be a number of at most {MOST:g}.")
        if isinstance(value, int) and not -MOST_WIDTH <= value <= MOST_WIDTH and "rotary" not in name:
            raise InputError(f"{name} is over {MOST_WIDTH:,}, more than any model has; give a smaller one.")
    for name, kinds in {"act_fn": activations(), "positional_embedding_type": POSITIONS}.items():
        if fields.get(name) is not None and fields[name] not in kinds:
            raise InputError(f"{name} is {fields[name]!r}; it must be one of {', '.join(kinds)}.")
    if fields.get("use_local_attn") and len(fields.get("attn_types") or []) != fields["n_layers"]:
        raise InputError("attn_types must name the attention of each layer where use_local_attn is true.")
    turned = fields.get("rotary_dim") or fields["d_head"]
    if fields.get("positional_embedding_type") == "rotary" and (turned % 2 or turned > fields["d_head"]):
        raise InputError(f"rotary_dim is {turned}; it must be even, and at most d_head, {fields['d_head']}.")
    if fields.get("num_experts") and (fields.get("experts_per_token") or 0) > fields["num_experts"]:
        raise InputError(
            f"experts_per_token is {fields['experts_per_token']:,}; num_experts is {fields['num_experts']:,}."
        )
    whole = fields.get("original_architecture") in NORMED_WHOLE
    if whole and (fields.get("use_qk_norm") or fields["d_head"] * fields["n_heads"] != fields["d_model"]):
        raise InputError(
            f"A {fields['original_architecture']} norms queries and keys as a whole: its heads are d_model wide "
            "together, and it has no use_qk_norm."
        )
    if fields.get("attn_scale") == 0:
        raise InputError("attn_scale is 0; attention scores cannot be divided by it.")
    if fields["n_ctx"] > LONGEST:
        raise InputError(f"n_ctx is {fields['n_ctx']:,}; models of up to {LONGEST:,} positions are read.")


def _spec(fields: dict[str, Any], tensors: dict[str, Tensor], path: Path, *, tied: bool) -> Spec:
    try:
        return spec_of_config(fields, tied=tied, weights=tensors)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except Exception as error:  # what TransformerLens does not build is an exception of many kinds
        said = textwrap.shorten(str(error) or type(error).__name__, 300)
        raise InputError(f"{path} is none that TransformerLens builds a model of: {said}.") from None
