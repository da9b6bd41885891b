"""The model inside its page: shape, weights and tokenizer, as `assets/live-model.js` runs it."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tslens import forward, models
from tslens.errors import InputError
from tslens.models import CompressorSpec, HookedSpec, Spec
from tslens.models.hooked_spec import NORMED_WHOLE
from tslens.report.embed import pack
from tslens.report.live_tokenizer import scripted

if TYPE_CHECKING:
    from tslens.models import LanguageModel

DEFAULT = 6_000_000
"""Most bytes that the weights may take as embedded, in 16 bits each, for a page to hold the model by itself."""
MOST = 6_500_000
"""Most bytes that they and the tokenizer may take: a page has at most 10 MB, the rest of it 2 beside CircuitsVis's."""
HALF, WHOLE, FINEST = 16, 32, 24
SHAPE = ("d_model", "n_layers", "n_heads", "d_head", "d_vocab", "n_ctx", "window", "eps")
ACTIVATIONS = ("gelu_new", "gelu", "relu", "silu")
"""The script's names of the activations that it knows, by TransformerLens's."""
BLOCK = 256  # weights that share a size of steps
CLOSE = 1e-3


@dataclass(frozen=True, eq=False)
class Live:
    """A model for the page."""

    content: Mapping[str, Any]
    """Its JSON: shape, weights, tokenizer."""
    weights: NDArray[np.float32]
    """The weights that the page computes with, one after another."""
    precision: str
    """How they are kept, in words."""
    close: float = CLOSE
    """Where the two best logits differ by no more, rounding may decide which token is written."""


def embedded(spec: Spec, bits: int = HALF) -> int:
    """Bytes of a page that the weights of this shape take with so many bits each: base64 has four letters for three
    bytes."""
    return math.ceil(spec.n_parameters() * bits / 6)


def live_of(model: "LanguageModel", wanted: bool | None = None) -> tuple[Live | None, str]:
    """The model for the page, or why it is not there. By default it is if the page can run it and its weights take at
    most `DEFAULT` bytes.

    Raises:
        InputError: it is wanted, and the page cannot run it or cannot hold it.
    """
    if wanted is False:
        return None, "It was left out (--no-live)."
    spec = models.spec_of(model, compressors=True)
    try:
        tokens = _readable(model, spec, MOST if wanted else DEFAULT)
    except InputError as error:
        if wanted:
            raise InputError(f"{models.name_of(model)} cannot run in a page: {error}. Leave out --live.") from None
        return None, f"It is not here: {error}."
    assert isinstance(spec, Spec)
    return _laid_out(spec, model, tokens), ""


def _readable(model: "LanguageModel", spec: Spec | CompressorSpec, most: int) -> dict[str, Any]:
    """The tokenizer for the page. InputError for a model that the script does not run, or that takes more bytes."""
    if isinstance(spec, CompressorSpec):
        raise InputError("it is a compressor, and the page runs a HookedTransformer")
    if isinstance(spec, HookedSpec) and (beyond := _beyond(spec.config)):
        raise InputError(f"TransformerLens alone runs it, because of {', '.join(beyond)}")
    if (size := embedded(spec)) > most:
        raise InputError(
            f"its {spec.n_parameters():,} weights take {size / 1e6:.1f} MB of a page in 16 bits each, and at most "
            f"{most / 1e6:.1f} are allowed" + ("" if most == MOST or size > MOST else " without --live")
        )
    tokens = scripted(models.story_tokenizer_of(model), spec.d_vocab)
    if (both := size + len(json.dumps(tokens))) > MOST:
        raise InputError(
            f"its weights and its tokenizer take {both / 1e6:.1f} MB of a page, and at most {MOST / 1e6:.1f} are "
            "allowed"
        )
    return tokens


def _beyond(config: Mapping[str, Any]) -> list[str]:
    """What a TransformerLens configuration has that the script does not."""
    positions = config["positional_embedding_type"]
    beyond = {
        f"activation {config['act_fn']!r}": not config["attn_only"] and config["act_fn"] not in ACTIVATIONS,
        f"positions {positions!r}": positions not in ("standard", "rotary"),
        "rescaled rotary": config["use_NTK_by_parts_rope"] or config["use_yarn_rope"] or config["use_dynamic_ntk_rope"],
        "several rotary bases": config["rotary_base_local"] is not None,
        f"rotary positions divided by {config['rotary_scaling_factor']:g}": config["rotary_scaling_factor"] != 1.0,
        "query/key norm": config["use_qk_norm"],
        "clipped queries and keys": config["clip_qkv"] is not None,
        "attention scaled by position": config["use_logn_attn"],
        "soft caps": config["attn_scores_soft_cap"] > 0 or config["output_logits_soft_cap"] > 0,
        "attention sinks": config["use_attention_sinks"],
        "experts": bool(config["num_experts"]) and not config["attn_only"],
        "norms after others": config["post_embedding_ln"]
        or config["use_normalization_before_and_after"]
        or config["original_architecture"] in NORMED_WHOLE,
        "a final norm of another kind": config["final_rms"] and str(config["normalization_type"]).startswith("LN"),
    }
    return [what for what, there in beyond.items() if there]


def _shape(spec: Spec) -> dict[str, Any]:
    """The shape as the script knows it."""
    if isinstance(spec, HookedSpec):
        c = spec.config
        activation = c["act_fn"] if c["act_fn"] in ACTIVATIONS else ""
        kind: dict[str, Any] = {"activation": activation, "parallel": c["parallel_attn_mlp"]}
        kind |= {"rotary_dim": c["rotary_dim"], "rotary_base": c["rotary_base"]}
        kind["rotary_adjacent"] = c["rotary_adjacent_pairs"]
    else:
        kind = {"activation": "gelu_new" if spec.style == "gpt2" else "silu", "parallel": False}
        kind |= {"rotary_dim": spec.d_head, "rotary_base": spec.rotary_base}
        kind["rotary_adjacent"] = spec.rotary_adjacent
    kind["rotary_dim"] = kind["rotary_dim"] if spec.positions == "rotary" else 0
    kind |= {"n_key_value_heads": spec.key_value_heads, "d_mlp": spec.mlp_width}
    kind |= {"score_scales": [spec.score_scale(i) for i in range(spec.n_layers)]}
    return {key: getattr(spec, key) for key in SHAPE} | kind | {"local_layers": list(spec.local_layers)}


def _laid_out(spec: Spec, model: "LanguageModel", tokens: dict[str, Any]) -> Live:
    parts = list(_parts(spec, models.weights(model)))
    flat = np.concatenate([np.asarray(part, dtype=np.float32).ravel() for _, part in parts])
    kept, used, words = _packed(flat)
    sizes = [[name, part.numel()] for name, part in parts]
    return Live({"shape": _shape(spec), "parts": sizes, "weights": kept, "tokenizer": tokens}, used, words)


def _parts(spec: Spec, w: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    """The weights under the script's names: of each matrix, a row for every output."""
    grouped = "" if spec.n_key_value_heads is None else "_"
    yield "embed", w["embed.W_E"]
    if "pos_embed.W_pos" in w:
        yield "positions", w["pos_embed.W_pos"]
    for i in range(spec.n_layers):
        of = {name.removeprefix(f"blocks.{i}."): part for name, part in w.items() if name.startswith(f"blocks.{i}.")}
        yield from _normed(f"{i}.norm1", spec, of, "ln1")
        for part in ("Q", "K", "V"):
            weight = of[f"attn.{grouped if part != 'Q' else ''}W_{part}"]
            bias = of.get(f"attn.b_{part}", of.get(f"attn._b_{part}"))
            yield from _named(f"{i}.{part.lower()}", weight.transpose(1, 2), bias)
        yield from _named(f"{i}.o", of["attn.W_O"].flatten(0, 1).T, of.get("attn.b_O"))
        if "mlp.W_in" not in of:
            continue
        yield from _normed(f"{i}.norm2", spec, of, "ln2")
        if "mlp.W_gate" in of:
            yield f"{i}.gate", of["mlp.W_gate"].T
        yield from _named(f"{i}.in", of["mlp.W_in"].T, of.get("mlp.b_in"))
        yield from _named(f"{i}.out", of["mlp.W_out"].T, of.get("mlp.b_out"))
    yield from _normed("final", spec, w, "ln_final")
    if not spec.tied:
        yield "unembed", w["unembed.W_U"].T
    if "unembed.b_U" in w:
        yield "unembed.bias", w["unembed.b_U"]


def _normed(name: str, spec: Spec, w: Mapping[str, Tensor], norm: str) -> Iterator[tuple[str, Tensor]]:
    """The gain of a norm, 1 where it was folded into the weights, and the shift of a layer norm."""
    if spec.norm != "none":
        yield name, w.get(f"{norm}.w", torch.ones(spec.d_model))
    if spec.norm == "layer":
        yield f"{name}.bias", w.get(f"{norm}.b", torch.zeros(spec.d_model))


def _named(name: str, weight: Tensor, bias: Tensor | None) -> Iterator[tuple[str, Tensor]]:
    yield name, weight
    if bias is not None:
        yield f"{name}.bias", bias


def _packed(flat: NDArray[np.float32]) -> tuple[dict[str, Any], NDArray[np.float32], str]:
    """The weights as JSON, as the script reads them again, and how they are kept: in half precision where this loses
    nothing, whole where they fit, else in as many bits as fit."""
    with np.errstate(over="ignore"):
        halves = flat.astype(np.float16)
    if np.array_equal(halves.astype(np.float32), flat):
        words = "Its weights are here in half precision, as it was saved: nothing is rounded."
        return {"precision": "half", "numbers": pack(halves.view(np.uint16))}, flat, words
    room = DEFAULT * 6 // flat.size
    if room >= WHOLE:
        return {"precision": "float", "numbers": pack(flat.view(np.uint32))}, flat, "Its weights are here whole."
    bits = min(max(room + 1, HALF), FINEST)  # deflating may save a bit of each
    kept, used = _steps(flat, bits)
    while bits > HALF and len(kept["numbers"]["data"]) + len(kept["steps"]["data"]) > DEFAULT:
        bits -= 1
        kept, used = _steps(flat, bits)
    return kept, used, f"Its weights are here in {bits} bits each, in even steps up to the largest of {BLOCK}."


def _steps(flat: NDArray[np.float32], bits: int) -> tuple[dict[str, Any], NDArray[np.float32]]:
    """The weights as whole numbers of so many bits, in steps whose size each block has; and what they stand for."""
    middle = 2 ** (bits - 1)
    blocks = np.pad(flat, (0, -flat.size % BLOCK)).reshape(-1, BLOCK)
    step = (np.abs(blocks).max(1) / (middle - 1)).astype(np.float32)
    at = np.rint(blocks / np.where(step > 0, step, 1)[:, None].astype(np.float64)).ravel()[: flat.size]
    at = at.clip(-middle, middle - 1)
    numbers = (at + middle).astype(np.uint16 if bits <= HALF else np.uint32)
    kept = {"precision": "steps", "numbers": pack(numbers), "steps": pack(step.view(np.uint32))}
    used = (at * np.repeat(step, BLOCK)[: flat.size].astype(np.float64)).astype(np.float32)
    return kept | {"block": BLOCK, "middle": middle}, used


def rounded(live: Live, model: "LanguageModel") -> "LanguageModel":
    """The model with the weights that the page computes with."""
    spec = models.spec_of(model)
    weights, at = {name: part.clone() for name, part in models.weights(model).items()}, 0
    for _, part in _parts(spec, weights):  # each shows the storage of a weight
        part.copy_(torch.from_numpy(live.weights[at : at + part.numel()]).view(part.shape))
        at += part.numel()
    copy = models.build(spec, seed=None)
    models.load_weights(copy, weights)
    return copy


def with_figures(live: Live, model: "LanguageModel", texts: Sequence[str]) -> Live:
    """The same, with how far rounding moves the difference between the two best logits of these texts, at most; as it
    is where nothing is rounded."""
    if live.content["weights"]["precision"] != "steps":
        return live
    other, far, positions = rounded(live, model), 0.0, 0
    with torch.inference_mode():
        for row in models.story_tokenizer_of(model).encode(texts):
            tokens = torch.tensor([row[: models.spec_of(model).n_ctx]])
            first, second = (
                forward.logits(of, tokens.to(next(of.parameters()).device))[0].cpu() for of in (model, other)
            )
            best = first.topk(2).indices
            gaps = [of.gather(1, best).diff(dim=1) for of in (first, second)]
            far, positions = max(far, float((gaps[0] - gaps[1]).abs().max())), positions + tokens.numel()
    words = f"On {positions:,} tokens this moves the difference between the two best logits by at most {far:.1e}."
    return replace(live, precision=f"{live.precision} {words}", close=max(CLOSE, math.ceil(far * 1e4) / 1e4))
