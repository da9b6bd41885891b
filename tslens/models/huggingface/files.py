"""The files of a folder of the hub's layout: weights, their index, and the tokenizer."""

from pathlib import Path
from reprlib import repr as shortened

from torch import Tensor

from tslens.backends import as_tokenizer, read_backend
from tslens.errors import InputError
from tslens.files import read_json
from tslens.models.fast_tokenizer import model_bos
from tslens.paths import absent, is_file, reading
from tslens.tokenizer import Tokenizer

TOKENIZER_CONFIG = "tokenizer_config.json"
AGAIN = "Fetch it again."


def files_of(index: Path) -> list[str]:
    """The names of the files that an index tells of."""
    read = read_json(index)
    files = read.get("weight_map") if isinstance(read, dict) else None
    if not isinstance(files, dict) or not files or not all(isinstance(name, str) for name in files.values()):
        raise InputError(f"{index} has no 'weight_map' from tensors to files: it was altered. Fetch it again.")
    if astray := [n for n in files.values() if n != Path(n).name or not n.endswith(".safetensors")]:
        raise InputError(f"{index} names {astray[0]!r}, which is no safetensors file of its folder.")
    return sorted({*files.values()})


def read_file(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file; InputError where there is none, or it is another kind of file."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if not path.is_file():
        raise InputError(f"{absent(path)}.")
    try:
        with reading(path):
            return load_file(path)
    except SafetensorError as error:
        raise InputError(f"{path} was truncated or is not safetensors ({error}). Fetch it again.") from None


def read_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer in a folder of the hub's layout: `tokenizer.json`, or GPT-2's two files."""
    bos, cls, eos = (_named(folder / TOKENIZER_CONFIG, f"{key}_token") for key in ("bos", "cls", "eos"))
    if is_file(folder / "tokenizer.json", AGAIN):
        backend = read_backend(source := folder / "tokenizer.json")
        with as_tokenizer(source):  # the library writes what it cannot read, such as two tokens of one id
            named = [bos] if bos else [], [name for name in (cls, eos) if name]
            return Tokenizer(backend, model_bos(backend, str(source), *named), eos)
    if is_file(folder / "vocab.json", AGAIN) and is_file(folder / "merges.txt", AGAIN):
        return Tokenizer.from_gpt2(folder / "vocab.json", folder / "merges.txt")
    raise InputError(
        f"{folder} has no tokenizer: put tokenizer.json, or vocab.json and merges.txt, beside its weights."
    )


def _named(path: Path, key: str) -> str | None:
    """The token that a folder's `tokenizer_config.json` names, by itself or as a table with its `content`; None where
    the file or the name is not there."""
    if not is_file(path, AGAIN):
        return None
    fields = read_json(path)
    if not isinstance(fields, dict):
        raise InputError(f"{path} is no table of a tokenizer's settings: it was altered. Fetch it again.")
    found = given = fields.get(key)
    if isinstance(given, dict):
        found = given.get("content", 0)
    if not isinstance(found, str | None):
        raise InputError(f"{path}: {key} is {shortened(given)}; it must be a text. Fetch it again.")
    return found
