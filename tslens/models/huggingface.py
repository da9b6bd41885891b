"""Hugging Face models of GPT-2's or GPT-Neo's layout, from a folder or by their id on the hub.

Only `config.json`, safetensors and tokenizer files are read: nothing is unpickled and no code of the repository runs. A
folder never touches the network; an id goes through `huggingface_hub`, its cache first when there is no network.
"""

import re
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tslens.errors import InputError
from tslens.files import read_json
from tslens.models.spec import Spec
from tslens.tokenizer import Tokenizer

ARCHITECTURES = {"gpt2": "GPT2LMHeadModel", "gpt_neo": "GPTNeoForCausalLM"}
GELU_TANH = ("gelu_new", "gelu_pytorch_tanh")  # two names of one function
INDEX = "model.safetensors.index.json"
WANTED = ["config.json", "*.safetensors", INDEX, "tokenizer.json", "vocab.json", "merges.txt"]
BUFFERS = re.compile(r"h\.\d+\.attn\.(attention\.)?(bias|masked_bias)")  # causal masks that older versions saved


def read(name: str | Path) -> tuple[Spec, dict[str, Tensor], Tokenizer]:
    """The shape, the weights by TransformerLens name (fp32) and the tokenizer of a folder or hub id (`ID@REVISION`).

    Raises InputError for another architecture; for weights that are only pickled, truncated or do not match the config;
    for a missing tokenizer; and for an id that is neither on the hub nor, offline, in its cache.
    """
    folder = Path(name) if Path(name).is_dir() else _fetch(str(name))
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder} has no config.json: it is no Hugging Face model.")
    config = _read_config(folder / "config.json")
    spec = _spec(config, folder)
    return spec, renamed(spec, config, _read_tensors(folder), folder), _read_tokenizer(folder)


def _fetch(name: str) -> Path:
    """The folder of the hub's cache that holds this id, downloaded if it is not there."""
    match = re.fullmatch(r"([A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?)(?:@([\w./-]+))?", name)
    if not match:
        raise InputError(f"{name!r} is neither a folder nor a hub id. Write hf:FOLDER or hf:OWNER/NAME[@REVISION].")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(match[1], revision=match[2], allow_patterns=WANTED))
    except LocalEntryNotFoundError:
        raise InputError(
            f"{name} is not in the hub's cache, and the hub cannot be reached (offline). "
            "Go online once, or give the folder of a copy: hf:FOLDER."
        ) from None
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        raise InputError(f"The hub gives no {name}: {str(error).strip().splitlines()[0]}") from None


def _read_config(path: Path) -> Any:
    """The config as transformers completes it with its defaults; another architecture is refused."""
    fields = read_json(path)
    kind = fields.get("model_type") if isinstance(fields, dict) else None
    named = (fields.get("architectures") or [ARCHITECTURES.get(str(kind))])[0] if isinstance(fields, dict) else None
    if kind not in ARCHITECTURES or named != ARCHITECTURES[kind]:
        raise InputError(
            f"{path} describes {named or kind or 'no model'}; {' and '.join(ARCHITECTURES.values())} can be loaded."
        )
    from transformers import GPT2Config, GPTNeoConfig

    try:
        return (GPT2Config if kind == "gpt2" else GPTNeoConfig).from_dict(fields)
    except Exception as error:  # a field of the wrong type is an exception of transformers' own kind
        raise InputError(f"{path} is no config of {named}: {' '.join(str(error).split())}") from None


def _spec(config: Any, folder: Path) -> Spec:
    neo = config.model_type == "gpt_neo"
    refused = {
        f"activation {config.activation_function!r}": config.activation_function not in GELU_TANH,
        "scores scaled by layer": not neo and config.scale_attn_by_inverse_layer_idx,
        "cross-attention": not neo and config.add_cross_attention,
        "attention that is neither global nor local": neo and not {*config.attention_layers} <= {"global", "local"},
    }
    if found := [what for what, bad in refused.items() if bad]:
        raise InputError(
            f"{folder} has {', '.join(found)}, which tslens does not cover; it loads plain GPT-2 and GPT-Neo."
        )
    local = tuple(i for i, kind in enumerate(config.attention_layers) if kind == "local") if neo else ()
    return Spec(
        d_model=config.hidden_size,
        n_layers=config.num_hidden_layers,
        n_heads=config.num_attention_heads,
        d_vocab=config.vocab_size,
        n_ctx=config.max_position_embeddings,
        d_mlp=config.intermediate_size if neo else config.n_inner,
        tied=config.tie_word_embeddings,
        scaled=not neo and config.scale_attn_weights,
        window=config.window_size if local else None,
        local_layers=local,
        eps=config.layer_norm_epsilon,
    )


def _read_tensors(folder: Path) -> dict[str, Tensor]:
    """The tensors of one safetensors file, or of all files that an index names, without their common prefix."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    names = ["model.safetensors"]
    if (folder / INDEX).is_file():
        names = sorted({*read_json(folder / INDEX)["weight_map"].values()})
        if astray := [n for n in names if n != Path(n).name or not n.endswith(".safetensors")]:
            raise InputError(f"{folder / INDEX} names {astray[0]!r}, which is no safetensors file of its folder.")
    tensors: dict[str, Tensor] = {}
    for path in (folder / name for name in names):
        if not path.is_file():
            pickled = sorted(p.name for p in folder.iterdir() if p.suffix in (".bin", ".pt", ".pth", ".ckpt", ".pkl"))
            if pickled:
                raise InputError(
                    f"{folder} has its weights only in {pickled[0]}, which is pickled and can run code: it is not "
                    "opened. Convert it to safetensors (save_pretrained of transformers does), or name a revision that "
                    "has them, such as OWNER/NAME@refs/pr/1."
                )
            raise InputError(f"{path} is missing. A Hugging Face model needs config.json and model.safetensors.")
        try:
            tensors |= load_file(path)
        except SafetensorError as error:
            raise InputError(f"{path} was truncated or is not safetensors ({error}). Fetch it again.") from None
    return {name.removeprefix("transformer."): tensor for name, tensor in tensors.items()}


def _layer_shapes(spec: Spec, neo: bool) -> dict[str, tuple[int, ...]]:
    """One layer's tensors by their names in the file. GPT-2's matrices are [in, out], GPT-Neo's [out, in]."""
    d, m = spec.d_model, spec.mlp_width
    shapes: dict[str, tuple[int, ...]] = {
        f"{ln}.{part}": (d,) for ln in ("ln_1", "ln_2") for part in ("weight", "bias")
    }
    shapes |= {"mlp.c_fc.bias": (m,), "mlp.c_proj.bias": (d,)}
    if neo:
        shapes |= {f"attn.attention.{which}.weight": (d, d) for which in ("q_proj", "k_proj", "v_proj", "out_proj")}
        return shapes | {"attn.attention.out_proj.bias": (d,), "mlp.c_fc.weight": (m, d), "mlp.c_proj.weight": (d, m)}
    shapes |= {"attn.c_attn.weight": (d, 3 * d), "attn.c_attn.bias": (3 * d,)}
    shapes |= {"attn.c_proj.weight": (d, d), "attn.c_proj.bias": (d,)}
    return shapes | {"mlp.c_fc.weight": (d, m), "mlp.c_proj.weight": (m, d)}


def _checked(spec: Spec, neo: bool, tensors: dict[str, Tensor], folder: Path) -> dict[str, Tensor]:
    """The tensors in fp32, after checks for missing and unexpected ones and for shapes."""
    shapes: dict[str, tuple[int, ...]] = {
        "wte.weight": (spec.d_vocab, spec.d_model),
        "wpe.weight": (spec.n_ctx, spec.d_model),
    }
    shapes |= {f"h.{i}.{k}": v for i in range(spec.n_layers) for k, v in _layer_shapes(spec, neo).items()}
    shapes |= {"ln_f.weight": (spec.d_model,), "ln_f.bias": (spec.d_model,)}
    if not spec.tied:
        shapes["lm_head.weight"] = (spec.d_vocab, spec.d_model)
    if missing := [name for name in shapes if name not in tensors]:
        raise InputError(
            f"The weights in {folder} lack {missing[0]!r} (and {len(missing) - 1} more) that its config asks for."
        )
    spare = [n for n in tensors if n not in shapes and not BUFFERS.fullmatch(n) and (n != "lm_head.weight")]
    if spare:
        raise InputError(f"The weights in {folder} hold {spare[0]!r}, which its config does not ask for.")
    for name, shape in shapes.items():
        if tuple(tensors[name].shape) != shape:
            raise InputError(f"{folder}: {name} has shape {tuple(tensors[name].shape)}; its config asks for {shape}.")
    return {name: tensors[name].float() for name in shapes}


def renamed(spec: Spec, config: Any, tensors: dict[str, Tensor], folder: Path) -> dict[str, Tensor]:
    """The same weights under TransformerLens's names, in its layout: heads apart, matrices [input, output]."""
    neo = config.model_type == "gpt_neo"
    h, dh, d = spec.n_heads, spec.d_head, spec.d_model
    w = _checked(spec, neo, tensors, folder)
    named = {"embed.W_E": w["wte.weight"], "pos_embed.W_pos": w["wpe.weight"]}
    named |= {"ln_final.w": w["ln_f.weight"], "ln_final.b": w["ln_f.bias"]}
    if not spec.tied:
        named["unembed.W_U"] = w["lm_head.weight"].T
    for i in range(spec.n_layers):
        layer = {k.removeprefix(f"h.{i}."): t for k, t in w.items() if k.startswith(f"h.{i}.")}
        if neo:
            qkv = [layer[f"attn.attention.{which}_proj.weight"].T for which in "qkv"]
            biases = [torch.zeros(d)] * 3
            out, mlp_in, mlp_out = (
                layer[f"{k}.weight"].T for k in ("attn.attention.out_proj", "mlp.c_fc", "mlp.c_proj")
            )
            out_bias = layer["attn.attention.out_proj.bias"]
        else:
            qkv, biases = list(layer["attn.c_attn.weight"].split(d, 1)), list(layer["attn.c_attn.bias"].split(d))
            out, mlp_in, mlp_out = (layer[f"{k}.weight"] for k in ("attn.c_proj", "mlp.c_fc", "mlp.c_proj"))
            out_bias = layer["attn.c_proj.bias"]
        block = {f"attn.W_{Q}": t.reshape(d, h, dh).transpose(0, 1) for Q, t in zip("QKV", qkv, strict=True)}
        block |= {f"attn.b_{Q}": t.view(h, dh) for Q, t in zip("QKV", biases, strict=True)}
        block |= {"attn.W_O": out.reshape(h, dh, d), "attn.b_O": out_bias}
        block |= {"mlp.W_in": mlp_in, "mlp.b_in": layer["mlp.c_fc.bias"]}
        block |= {"mlp.W_out": mlp_out, "mlp.b_out": layer["mlp.c_proj.bias"]}
        block |= {f"ln{n}.{to}": layer[f"ln_{n}.{of}"] for n in (1, 2) for to, of in (("w", "weight"), ("b", "bias"))}
        named |= {f"blocks.{i}.{name}": tensor for name, tensor in block.items()}
    assert named.keys() == spec.parameter_shapes().keys()
    return named


def _read_tokenizer(folder: Path) -> Tokenizer:
    if (folder / "tokenizer.json").is_file():
        return Tokenizer.load(folder / "tokenizer.json")
    if (folder / "vocab.json").is_file() and (folder / "merges.txt").is_file():
        return Tokenizer.from_gpt2(folder / "vocab.json", folder / "merges.txt")
    raise InputError(
        f"{folder} has no tokenizer: put tokenizer.json, or vocab.json and merges.txt, beside its weights."
    )
