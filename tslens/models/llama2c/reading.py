"""Read llama2.c's checkpoints: the legacy `.bin` of karpathy/llama2.c, with the tokenizer beside it.

A checkpoint is seven int32 and then fp32 weights, little-endian, without names; its size follows from the seven.
"""

import math
import struct
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tslens.errors import InputError, MissingInputError
from tslens.models.llama2c.tokenizer import read_tokenizer
from tslens.models.spec import Spec
from tslens.paths import absent, reading
from tslens.tokenizer import Tokenizer

FIELDS = ("dim", "hidden_dim", "n_layers", "n_heads", "n_kv_heads", "vocab_size", "seq_len")
MAGIC = 0x616B3432  # the first int32 of the later, versioned formats
ROTARY_BASE, EPS = 10000.0, 1e-5  # of every llama2.c model
LARGEST_FIELD = 2**24  # of a header: four letters read as a number are more, and then it is text
REMEDY = "Give a .bin that llama2.c's train.py or export.py wrote."


def read(file: str | Path, tokenizer_file: str | Path | None = None) -> tuple[Spec, dict[str, Tensor], Tokenizer]:
    """The shape, the weights by TransformerLens name (fp32) and the tokenizer of a llama2.c checkpoint.

    Without `tokenizer_file` the tokenizer is searched beside the checkpoint: `tok<vocab_size>.bin`, then
    `tokenizer.bin`. Raises FileNotFoundError for a missing file and InputError for one that is truncated, too long, of
    another format, or a tokenizer of another vocabulary.
    """
    path = Path(file)
    if not path.is_file():
        there = absent(path if str(file) else repr(file), "llama2.c checkpoint")
        raise MissingInputError(f"{there}. Write llama2c:FILE[,TOKENIZER].")
    spec = _read_header(path)
    tensors = _read_weights(path, spec)
    tokens = Path(tokenizer_file) if tokenizer_file is not None else _tokenizer_beside(path, spec.d_vocab)
    return spec, tensors, read_tokenizer(tokens, spec.d_vocab)


def _read_header(path: Path) -> Spec:
    with reading(path), path.open("rb") as file:
        head = file.read(4 * len(FIELDS))
    if len(head) < 4 * len(FIELDS):
        raise InputError(f"{path} has {len(head)} bytes; the header of a llama2.c checkpoint takes 28. {REMEDY}")
    if struct.unpack_from("<I", head)[0] == MAGIC:
        raise InputError(f"{path} is in a versioned llama2.c format; export it with `export.py --version 0` (legacy).")
    header = dict(zip(FIELDS, struct.unpack("<7i", head), strict=True))
    said = ", ".join(f"{name} {value}" for name, value in header.items())
    sizes = [abs(value) if name == "vocab_size" else value for name, value in header.items()]
    if min(sizes) < 1 or max(sizes) > LARGEST_FIELD:
        raise InputError(f"{path} is no llama2.c checkpoint: its header says {said}. {REMEDY}")
    try:
        return Spec(
            d_model=header["dim"],
            n_layers=header["n_layers"],
            n_heads=header["n_heads"],
            d_vocab=abs(header["vocab_size"]),
            n_ctx=header["seq_len"],
            style="llama",
            n_key_value_heads=None if header["n_kv_heads"] == header["n_heads"] else header["n_kv_heads"],
            d_mlp=header["hidden_dim"],
            tied=header["vocab_size"] > 0,  # llama2.c marks a classifier of its own by a negative vocabulary
            rotary_adjacent=True,
            rotary_base=ROTARY_BASE,
            eps=EPS,
        )
    except InputError as error:
        raise InputError(f"{path} is no llama2.c checkpoint (its header says {said}): {error}") from None


def layout(spec: Spec) -> dict[str, tuple[int, ...]]:
    """The arrays of a checkpoint in their order, by llama2.c's names; matrices are [output, input]."""
    d, n, m = spec.d_model, spec.n_layers, spec.mlp_width
    kv, half = spec.key_value_heads * spec.d_head, spec.d_head // 2
    shapes: dict[str, tuple[int, ...]] = {"token_embedding": (spec.d_vocab, d), "rms_att": (n, d)}
    shapes |= {"wq": (n, d, d), "wk": (n, kv, d), "wv": (n, kv, d), "wo": (n, d, d), "rms_ffn": (n, d)}
    shapes |= {"w1": (n, m, d), "w2": (n, d, m), "w3": (n, m, d), "rms_final": (d,)}
    shapes |= {"freq_cis_real": (spec.n_ctx, half), "freq_cis_imag": (spec.n_ctx, half)}
    return shapes if spec.tied else shapes | {"wcls": (spec.d_vocab, d)}


def _read_weights(path: Path, spec: Spec) -> dict[str, Tensor]:
    shapes = layout(spec)
    expected, found = 28 + 4 * sum(math.prod(shape) for shape in shapes.values()), path.stat().st_size
    if found != expected:
        fault = "was cut off" if found < expected else "is too long, or no llama2.c checkpoint"
        raise InputError(
            f"{path} {fault}: {found:,} bytes found, {expected:,} expected of a {spec.name} model with "
            f"vocabulary {spec.d_vocab}, hidden {spec.d_mlp}, context {spec.n_ctx}. Fetch it again."
        )
    with reading(path):
        flat = torch.from_numpy(np.fromfile(path, dtype="<f4", offset=28))
    if not flat.isfinite().all():
        raise InputError(f"{path} holds numbers that are not finite: it was altered, or is no llama2.c checkpoint.")
    parts = flat.split([math.prod(shape) for shape in shapes.values()])
    return _name(spec, {name: part.view(shapes[name]) for name, part in zip(shapes, parts, strict=True)})


def _name(spec: Spec, w: dict[str, Tensor]) -> dict[str, Tensor]:
    """The same weights under TransformerLens's names, in its layout: heads apart, matrices [input, output]."""
    kv = "attn.W_" if spec.n_key_value_heads is None else "attn._W_"

    def heads(rows: Tensor) -> Tensor:  # [head * d_head, d_model] -> [head, d_model, d_head]
        return rows.view(-1, spec.d_head, spec.d_model).transpose(1, 2)

    tensors = {"embed.W_E": w["token_embedding"], "ln_final.w": w["rms_final"]}
    for i in range(spec.n_layers):
        block = {
            "ln1.w": w["rms_att"][i],
            "attn.W_Q": heads(w["wq"][i]),
            f"{kv}K": heads(w["wk"][i]),
            f"{kv}V": heads(w["wv"][i]),
            "attn.W_O": w["wo"][i].T.view(spec.n_heads, spec.d_head, spec.d_model),
            "ln2.w": w["rms_ffn"][i],
            "mlp.W_gate": w["w1"][i].T,
            "mlp.W_in": w["w3"][i].T,
            "mlp.W_out": w["w2"][i].T,
        }
        tensors |= {f"blocks.{i}.{name}": tensor for name, tensor in block.items()}
    return tensors if spec.tied else tensors | {"unembed.W_U": w["wcls"].T}


def _tokenizer_beside(path: Path, vocab_size: int) -> Path:
    places = [path.with_name(f"tok{vocab_size}.bin"), path.with_name("tokenizer.bin")]
    for place in places:
        if place.is_file():
            return place
    names = " nor ".join(place.name for place in places)
    raise MissingInputError(f"Beside {path} there is neither {names}. Name its tokenizer: llama2c:{path},TOKENIZER.")
