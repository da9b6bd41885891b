"""Write a Llama-style model as a checkpoint and a tokenizer of llama2.c."""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tslens.backends import is_text
from tslens.errors import InputError
from tslens.models import llama2c
from tslens.models.export.biases import bias_beyond
from tslens.models.export.folder import new_folder
from tslens.models.export.to_huggingface import elsewhere
from tslens.models.hooked import story_tokenizer_of, weights
from tslens.models.loading import name_of
from tslens.models.rotary import in_neighbours
from tslens.models.spec import Spec
from tslens.models.validation import spec_of
from tslens.progress import note

if TYPE_CHECKING:
    from tslens.models.protocols import LanguageModel


def to_llama2c(model: "LanguageModel", folder: str | Path) -> Path:
    """Write `model.bin` (the legacy format, fp32) and `tokenizer.bin`; returns the folder, which must be new.

    The tokens of a byte-level tokenizer change their ids (`llama2c.written`), in the model too.

    Raises:
        InputError: the model is not Llama-style, or has what llama2.c fixes otherwise; its tokenizer has no form there.
    """
    spec, tokenizer, bias = spec_of(model), story_tokenizer_of(model), bias_beyond(model)
    refused = {
        f"it has the bias {bias!r}": bias is not None,
        "its style is not Llama's": spec.style != "llama",
        f"its rotary base is {spec.rotary_base:g}, not 10000": spec.rotary_base != llama2c.ROTARY_BASE,
        f"its norms add {spec.eps:g}, not 1e-05": spec.eps != llama2c.EPS,
        "its attention has windows": bool(spec.local_layers),
        "its scores are not scaled": not spec.scaled,
    }
    if is_text(tokenizer.backend, tokenizer.bos_text):
        refused[f"its stories begin with {tokenizer.bos_text!r}, which is also text"] = True
    if found := [what for what, there in refused.items() if there]:
        raise InputError(f"llama2.c cannot run {name_of(model)}: {', '.join(found)}. {elsewhere(model)}")
    data, order = llama2c.written(tokenizer, spec.d_vocab)
    if tokenizer.eos != tokenizer.bos:
        bos, eos = tokenizer.bos_text, tokenizer.eos_text
        note(f"llama2.c ends a text at {bos} alone, and this model may end it with {eos}.")
    arrays = _arrays(spec, in_neighbours(spec, weights(model)), order)
    with new_folder(folder) as made:
        (made / "tokenizer.bin").write_bytes(data)
        with (made / "model.bin").open("wb") as file:
            file.write(_header(spec))
            for name, shape in llama2c.layout(spec).items():
                assert tuple(arrays[name].shape) == shape, name
                file.write(arrays[name].contiguous().numpy().astype("<f4").tobytes())
    return Path(folder)


def _header(spec: Spec) -> bytes:
    vocabulary = spec.d_vocab if spec.tied else -spec.d_vocab
    sizes = (spec.d_model, spec.mlp_width, spec.n_layers, spec.n_heads, spec.key_value_heads, vocabulary, spec.n_ctx)
    return struct.pack("<7i", *sizes)


def _arrays(spec: Spec, w: Mapping[str, Tensor], order: list[int]) -> dict[str, Tensor]:
    """The arrays of a checkpoint by llama2.c's names, tokens in this order; matrices are [output, input]."""
    kv = "attn.W_" if spec.n_key_value_heads is None else "attn._W_"

    def layers(name: str) -> Tensor:
        return torch.stack([w[f"blocks.{i}.{name}"] for i in range(spec.n_layers)])

    def heads(name: str) -> Tensor:  # [layer, head, d_model, d_head] -> [layer, head * d_head, d_model]
        return layers(name).transpose(2, 3).flatten(1, 2)

    angles = torch.outer(torch.arange(spec.n_ctx), spec.rotary_base ** -(torch.arange(0, spec.d_head, 2) / spec.d_head))
    arrays = {
        "token_embedding": w["embed.W_E"][order],
        "rms_att": layers("ln1.w"),
        "wq": heads("attn.W_Q"),
        "wk": heads(f"{kv}K"),
        "wv": heads(f"{kv}V"),
        "wo": layers("attn.W_O").flatten(1, 2).transpose(1, 2),
        "rms_ffn": layers("ln2.w"),
        "w1": layers("mlp.W_gate").transpose(1, 2),
        "w2": layers("mlp.W_out").transpose(1, 2),
        "w3": layers("mlp.W_in").transpose(1, 2),
        "rms_final": w["ln_final.w"],
        "freq_cis_real": angles.cos(),
        "freq_cis_imag": angles.sin(),
    }
    return arrays if spec.tied else arrays | {"wcls": w["unembed.W_U"].T[order]}
