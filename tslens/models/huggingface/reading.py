"""Read Hugging Face models of GPT-2's, GPT-Neo's, GPT-NeoX's (Pythia) or Llama's layout.

Only `config.json`, safetensors and tokenizer files are read: nothing is unpickled and no code of the repository runs. A
folder never touches the network; an id goes through `huggingface_hub`, its cache first when there is no network.
"""

import re
import textwrap
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

from torch import Tensor

from tslens.errors import InputError
from tslens.files import read_json
from tslens.models.bounds import MOST_LAYERS, check_numbers, check_sizes
from tslens.models.hooked_spec import HookedSpec
from tslens.models.huggingface.family import UNEMBEDDING, Family
from tslens.models.huggingface.files import AGAIN, TOKENIZER_CONFIG, files_of, read_file, read_tokenizer
from tslens.models.huggingface.gpt2 import GPT2
from tslens.models.huggingface.gpt_neo import GPT_NEO, check_kinds
from tslens.models.huggingface.gpt_neox import GPT_NEOX
from tslens.models.huggingface.llama import LLAMA
from tslens.models.huggingface.quiet import quiet
from tslens.models.spec import Spec
from tslens.paths import absent, is_file, refuse_no_text
from tslens.progress import note
from tslens.tokenizer import Tokenizer

FAMILIES = {"gpt2": GPT2, "gpt_neo": GPT_NEO, "gpt_neox": GPT_NEOX, "llama": LLAMA}
"""By the `model_type` of a configuration."""
INDEX = "model.safetensors.index.json"
OF_TOKENIZER = ["tokenizer.json", TOKENIZER_CONFIG, "vocab.json", "merges.txt"]
WANTED = ["config.json", "*.safetensors", INDEX, *OF_TOKENIZER]
OLDER = {"embed_out.weight": UNEMBEDDING}  # GPT-NeoX's
SIZES = (
    *("hidden_size", "num_attention_heads", "vocab_size", "max_position_embeddings"),
    *("intermediate_size", "num_key_value_heads", "head_dim"),
)
LABELS = ("num_labels", "id2label", "label2id")
"""What only a classifier has; transformers writes out as many labels as `num_labels` says."""
NUMBERS = ("layer_norm_epsilon", "layer_norm_eps", "rms_norm_eps")


def read(name: str | Path) -> tuple[Spec, dict[str, Tensor], Tokenizer]:
    """The shape, the weights by TransformerLens name (fp32) and the tokenizer of a folder or hub id (`ID@REVISION`).

    Raises InputError for another architecture; for weights that are only pickled, truncated or do not match the config;
    for a missing tokenizer; and for an id that is neither on the hub nor, offline, in its cache.
    """
    folder = _folder(name, WANTED)
    if not (folder / "config.json").is_file():
        raise InputError(
            f"{absent(folder / 'config.json')}: {folder} is no Hugging Face model. Give a folder that has one."
        )
    family, config = _read_config(folder / "config.json")
    tensors = _read_tensors(folder, family)
    spec = _spec_of(family, config, tensors, folder)
    tensors = _checked(family, spec, tensors, folder)
    return spec, family.read(spec, tensors), read_tokenizer(folder)


def tokenizer_in(name: str | Path) -> Tokenizer:
    """The tokenizer of a folder or hub id, named as for `read`. Its model is neither read nor fetched, and need not be
    there."""
    return read_tokenizer(_folder(name, OF_TOKENIZER))


def source_name(source: str) -> str:
    """The name of a model: its folder's, or that of a hub id with its revision, in which `/` becomes `-`."""
    if Path(source).is_dir():
        return Path(source).resolve().name
    name, at, revision = source.partition("@")
    return name.rpartition("/")[2] + at + revision.replace("/", "-")


def _folder(name: str | Path, wanted: list[str]) -> Path:
    """The folder of this name, or that of the hub's cache that holds this id, with the wanted files downloaded if they
    are not there."""
    refuse_no_text(name)
    return Path(name) if Path(name).is_dir() else _fetch(str(name), wanted)


def _fetch(name: str, wanted: list[str]) -> Path:
    match = re.fullmatch(r"([A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?)(?:@([\w./-]+))?", name)
    if not match:
        raise InputError(f"{name!r} is neither a folder nor a hub id. Write hf:FOLDER or hf:OWNER/NAME[@REVISION].")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(match[1], revision=match[2], allow_patterns=wanted))
    except LocalEntryNotFoundError:
        raise InputError(
            f"{name} is not in the hub's cache, and the hub cannot be reached (offline). "
            "Go online once, or give the folder of a copy: hf:FOLDER."
        ) from None
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        raise InputError(f"The hub gives no {name}: {str(error).strip().splitlines()[0]}") from None


def _read_config(path: Path) -> tuple[Family, Any]:
    """The family, and the config as transformers completes it with its defaults; another architecture is refused."""
    read = read_json(path)
    fields = read if isinstance(read, dict) else {}
    kind, architectures = fields.get("model_type"), fields.get("architectures")
    family = FAMILIES.get(str(kind))
    if architectures is not None and not (
        isinstance(architectures, list) and all(isinstance(name, str) for name in architectures)
    ):
        raise InputError(f"{path}: architectures is {shortened(architectures)}; it must be a list of names.")
    named = architectures[0] if architectures else family and family.architecture
    if family is None or named != family.architecture:
        *others, last = (family.architecture for family in FAMILIES.values())
        raise InputError(
            f"{path} describes {named or kind or 'no model'}, which is not supported; "
            f"{', '.join(others)} and {last} can be loaded."
        )
    if family is GPT_NEO:
        check_kinds(fields, str(path))
    if fields.get("per_layer_config"):
        raise InputError(f"{path} gives its layers configurations of their own, which tslens does not cover.")
    import transformers

    read = {name: value for name, value in fields.items() if name not in LABELS}
    try:
        with quiet():
            return family, getattr(transformers, family.config).from_dict(read)
    except Exception as error:  # a field of the wrong type is an exception of transformers' own kind
        raise InputError(f"{path} is no config of {named}: {textwrap.shorten(str(error), 500)}") from None


def _spec_of(family: Family, config: Any, tensors: dict[str, Tensor], folder: Path) -> Spec:
    """The shape that a config describes; InputError for what is not covered, and for values of a wrong kind."""
    try:
        found = [what for what, asked in family.refused(config).items() if asked]
        if not found:
            _check(config, tensors)
            spec = family.spec(config)
            if config.max_position_embeddings > spec.n_ctx:
                note(
                    f"{folder.name} has {config.max_position_embeddings:,} positions; {spec.n_ctx:,} of them are read."
                )
            if isinstance(spec, HookedSpec):
                note(f"{folder.name}: {spec.said}")
            return spec
    except InputError as error:
        where = "" if str(folder) in str(error) else f"{folder / 'config.json'}: "
        raise InputError(f"{where}{error}") from None
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{folder / 'config.json'} has a value of a wrong kind ({reason}). Fetch it again.") from None
    raise InputError(f"{folder} has {', '.join(found)}, which tslens does not cover in a {family.architecture}.")


def _check(config: Any, tensors: dict[str, Tensor]) -> None:
    """InputError for a size or number that no model has, and for more layers than the files hold tensors."""

    def given(*names: str) -> dict[str, Any]:  # by the names that they have in the file
        values = {config.attribute_map.get(name, name): getattr(config, name, None) for name in names}
        return {name: value for name, value in values.items() if value is not None}

    check_sizes(given(*SIZES))
    check_sizes(given("num_hidden_layers"), MOST_LAYERS)
    check_numbers(given(*NUMBERS))
    for name, layers in given("num_hidden_layers").items():
        if layers > len(tensors):
            raise InputError(
                f"{name} is {layers:,}, and the files hold {len(tensors):,} tensors: one of them was altered. "
                "Fetch it again."
            )


def _read_tensors(folder: Path, family: Family) -> dict[str, Tensor]:
    """The tensors of one safetensors file, or of all files that an index names, without the prefix of their family."""
    names = files_of(folder / INDEX) if is_file(folder / INDEX, AGAIN) else ["model.safetensors"]
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
            raise InputError(f"{absent(path)}. A Hugging Face model needs config.json and model.safetensors.")
        tensors |= read_file(path)
    plain = {name.removeprefix(family.prefix): tensor for name, tensor in tensors.items()}
    return {OLDER.get(name, name): tensor for name, tensor in plain.items()}


def _checked(family: Family, spec: Spec, tensors: dict[str, Tensor], folder: Path) -> dict[str, Tensor]:
    """The tensors in fp32, after checks for missing and unexpected ones and for shapes."""
    shapes = family.shapes(spec)
    if missing := [name for name in shapes if name not in tensors]:
        raise InputError(
            f"The weights in {folder} lack {missing[0]!r} (and {len(missing) - 1} more) that its config asks for."
        )
    spare = [n for n in tensors if n not in shapes and not re.fullmatch(family.buffers, n) and n != UNEMBEDDING]
    if spare:
        raise InputError(f"The weights in {folder} hold {spare[0]!r}, which its config does not ask for.")
    for name, shape in shapes.items():
        if tuple(tensors[name].shape) != shape:
            raise InputError(f"{folder}: {name} has shape {tuple(tensors[name].shape)}; its config asks for {shape}.")
    return {name: tensors[name].float() for name in shapes}
