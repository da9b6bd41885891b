"""Load, save and describe models by name."""

import json
import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from tslens import runs
from tslens.errors import InputError, UntrainedError
from tslens.files import sha256
from tslens.models import hooked_folder, huggingface, llama2c
from tslens.models.building import from_weights
from tslens.models.compressor_spec import CompressorSpec
from tslens.models.hooked import tokenizer_of, weights
from tslens.models.hooked_spec import HookedSpec
from tslens.models.record import record_of
from tslens.models.spec import Spec
from tslens.models.validation import spec_of
from tslens.nearest import did_you_mean
from tslens.paths import MOST_WHOLE, is_file, refuse_large, refuse_no_text
from tslens.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tslens.models.protocols import LanguageModel


def load(name: str | Path) -> "LanguageModel":
    """Load a model by name: a HookedTransformer with its tokenizer attached, in evaluation mode.

    A name is a run of this folder (`runs/<name>`), a bundled model, a run as it was after a step (`<name>@64`), the
    path of a run or of one of its checkpoints, that of a folder that `export --to transformer-lens` wrote,
    `llama2c:FILE[,TOKENIZER]`, or `hf:FOLDER_OR_HUB_ID`. Raises InputError with the nearest names.

    The files of a tslens folder are compared with the hashes in its `config.json` before they are parsed: the weights,
    and `tokenizer.json`. An older folder records only a hash of what the tokenizer's file says, which is
    compared when it is parsed.
    """
    if not isinstance(name, str | Path):
        raise InputError(f"load takes the name or path of a model, and a {type(name).__name__} was given.")
    text = str(name)
    if text.startswith("llama2c:"):
        file, _, tokenizer_file = text.removeprefix("llama2c:").partition(",")
        model = from_weights(*llama2c.read(file, tokenizer_file or None), origin=text)
        return _named(model, Path(file).stem, text)
    if text.startswith("hf:"):
        source = text.removeprefix("hf:")
        return _named(from_weights(*huggingface.read(source), origin=text), huggingface.source_name(source), text)
    known = available()
    folder = known.get(text) or (Path(text) if text and (Path(text) / "config.json").is_file() else _at_step(text))
    if folder is None and text and os.path.lexists(Path(text) / hooked_folder.CONFIG):
        return _named(from_weights(*hooked_folder.read(text), origin=text), Path(text).resolve().name, text)
    if folder is None:
        raise _unknown(text, list(known))
    config, tensors = runs.read(folder)
    # A checkpoint's run has it.
    home = folder if is_file(folder / runs.TOKENIZER, runs.RESTORE) else folder.parent.parent
    if not is_file(home / runs.TOKENIZER, runs.RESTORE):
        raise InputError(f"{folder} has no {runs.TOKENIZER}: put back the one that it was trained with.")
    if not isinstance(config.get("spec"), dict):
        raise InputError(f"{folder}/{runs.CONFIG} has no 'spec', the shape of the model: it is no tslens model.")
    tokenizer = recorded_tokenizer(home, config)
    model = from_weights(spec_from_config(config), tensors, tokenizer, origin=str(folder))
    run = home.resolve().name
    record_of(model).run, record_of(model).config = home, config
    return _named(model, run if home == folder else f"{run}@{config.get('step', folder.name)}", text)


def recorded_tokenizer(home: Path, config: Mapping[str, Any]) -> Tokenizer:
    """The tokenizer in a folder, which must be the one that a `config.json` records: by the hash of the file, if it has
    that, before it is parsed, then by that of its content."""
    path = home / runs.TOKENIZER
    other = InputError(f"{path} is not the tokenizer that this model was trained with (hash differs).")
    refuse_large(path, MOST_WHOLE)  # before all of it is hashed
    if config.get("tokenizer_sha256") not in (None, sha256(path)):
        raise other
    tokenizer = Tokenizer.load(path, eos=config.get("eos"))
    if config.get("tokenizer") != tokenizer.hash:
        raise other
    return tokenizer


def _at_step(text: str) -> Path | None:
    """The folder with the weights of `<run>@<step>`; None if the text names no step of a run of this folder."""
    run, _, step = text.rpartition("@")
    if not (step.isdecimal() and re.fullmatch(runs.NAME, run) and runs.run_folder(run).is_dir()):
        return None
    return runs.at_step(runs.run_folder(run), int(step))


def spec_from_config(config: dict[str, Any]) -> Spec | CompressorSpec:
    """The spec in a `config.json`; InputError for a kind of model that this version does not know."""
    if not isinstance(config.get("spec"), dict):
        raise InputError("config.json has no 'spec', the shape of the model.")
    kind = config.get("kind")
    if kind not in (Spec.KIND, CompressorSpec.KIND):
        raise InputError(f"This model is a {kind!r}, and this version loads a HookedTransformer or a 'compressor'.")
    return (Spec if kind is None else CompressorSpec).from_dict(config["spec"])


def available() -> dict[str, Path]:
    """Every model that `load` finds by its bare name: the runs of this folder and the bundled ones."""
    return bundled() | runs.by_name()


def bundled() -> dict[str, Path]:
    """The models that come with tslens, by name."""
    folder = Path(__file__).parents[1] / "bundled"
    return {p.name: p for p in sorted(folder.iterdir()) if (p / "config.json").exists()} if folder.is_dir() else {}


def save(
    model: "LanguageModel",
    folder: str | Path,
    facts: dict[str, Any] | None = None,
    *,
    dtype: torch.dtype | None = None,
) -> Path:
    """Write a model and its tokenizer as a folder that `load` takes; returns the folder.

    `facts` go into `config.json` beside the spec: what `tslens.runs.RECORDED` names has the type that it says there.
    `dtype=torch.float16` halves the file. InputError for a fact of another type, and for a model whose shape such a
    folder cannot hold.
    """
    runs.check_types(facts or {})
    folder = Path(folder)
    tokenizer = tokenizer_of(model)
    if not isinstance(tokenizer, Tokenizer):
        raise InputError(f"{name_of(model)} is a view of another model, with no tokenizer of its own: save that model.")
    spec = spec_of(model, compressors=True)
    if isinstance(spec, HookedSpec):
        raise InputError(
            f"{name_of(model)} takes the slow path, which such a folder does not hold: keep it with "
            "tslens.models.export.to_transformer_lens(model, FOLDER), which every --model reads too."
        )
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(folder / runs.TOKENIZER)
    config = {**(facts or {}), **spec.to_config(), "tokenizer": tokenizer.hash}
    config["tokenizer_sha256"] = sha256(folder / runs.TOKENIZER)
    if tokenizer.ends and (tokenizer.eos != tokenizer.bos or tokenizer.bos_is_space):
        config["eos"] = tokenizer.eos_text
    tensors = {name: w if dtype is None else w.to(dtype) for name, w in weights(model).items()}
    runs.write(folder, config, tensors)
    return folder


def name_of(model: "LanguageModel") -> str:
    """The model's name: the run, bundled model, file or folder that `load` found it under (`stories2M`, `mine@500` for
    a checkpoint of the run `mine`), or its shape if it was not loaded."""
    return record_of(model).name or spec_of(model, compressors=True).name


def given_of(model: "LanguageModel") -> str:
    """The `--model` of a command about the model, quoted for a shell: what `load` was given, an absolute path below
    this folder made relative. `MODEL` for a model that was not loaded, and for one elsewhere in a user's home, which
    pages for others do not name."""
    text = record_of(model).given or ""
    scheme = next((scheme for scheme in ("llama2c:", "hf:") if text.startswith(scheme)), "")
    rest = text.removeprefix(scheme)
    parts = [_below(part) for part in (rest.split(",", 1) if scheme == "llama2c:" else [rest])]
    if not rest or any(Path(part).is_relative_to(Path.home()) for part in parts):
        return "MODEL"
    return shlex.quote(scheme + ",".join(parts))


def _below(path: str) -> str:
    """An absolute path below this folder made relative, with `./` before what could be a name; others as they are."""
    if not Path(path).is_absolute() or not Path(path).is_relative_to(Path.cwd()):
        return path
    return str(Path(path).relative_to(Path.cwd())) if Path(path).parent != Path.cwd() else f"./{Path(path).name}"


def home_of(model: "LanguageModel") -> Path | None:
    """The folder of the run or bundled model that a model was loaded from; None if it came from neither."""
    return record_of(model).run


def training_record(model: "LanguageModel") -> dict[str, Any]:
    """The `config.json` of the run or bundled model that a model was loaded from; empty if it came from neither."""
    return dict(record_of(model).config)


def objective_of(model: "LanguageModel") -> dict[str, Any]:
    """The name and the settings of the objective that a model was trained by; empty if it has no record of one."""
    found = (training_record(model).get("recipe") or {}).get("objective") or {}
    return found if isinstance(found, dict) else {"name": str(found)}  # older records hold only the name


def story_head_of(model: "LanguageModel") -> str:
    """What stands before a model's stories: `Story:` alone, which asks for nothing, if it was trained behind
    instructions; else nothing."""
    from tslens.stories.instruct import Instruction

    return Instruction(()).head if objective_of(model).get("name") == "instruct" else ""


def describe(model: "LanguageModel") -> dict[str, Any]:
    """Facts about a model as JSON: shape, parameters, FLOPs per token, vocabulary."""
    spec = spec_of(model)
    facts: dict[str, Any] = json.loads(json.dumps(spec.to_dict()))
    return facts | {
        "name": spec.name,
        "parameters": spec.n_parameters(),
        "parameters_without_embeddings": spec.n_parameters(embeddings=False),
        "flops_per_token": spec.flops_per_token(),
    }


def _named(model: "LanguageModel", name: str, given: str) -> "LanguageModel":
    refuse_no_text(name)  # a link may lead to a folder of such a name
    record_of(model).name, record_of(model).given = name, given
    return model


def _unknown(name: str, known: list[str]) -> InputError:
    for folder in (Path(name), runs.root() / name) if name else ():
        for file in (runs.CONFIG, runs.WEIGHTS):
            is_file(folder / file, runs.RESTORE)
    unfinished = [folder for folder in (Path(name), runs.root() / name) if name and (folder / runs.RECIPE).is_file()]
    if unfinished:
        run = unfinished[0]
        kept = {runs.step_of(place) for home in ("checkpoints", "snapshots") for place in runs.steps(run / home)}
        now = f" As it is now: {run.name}@{max(kept)}." if kept else ""
        return InputError(
            f"{run} is a run that has not ended, so it is no model yet: wait for it, or finish it with: tslens train "
            f"--resume {run.name}.{now}"
        )
    if name and Path(name).is_dir():
        return InputError(f"{name} is a folder but not a model: it has neither config.json nor cfg.json.")
    said = (
        f"no model is called {name!r}.{did_you_mean(name, known)} Known: {', '.join(known) or 'none'}; hf:FOLDER, "
        "hf:OWNER/NAME, llama2c:FILE and the path of a folder name others."
    )
    if re.fullmatch(r"\d+x\d+(x\d+)?", name):
        return UntrainedError(f"{said} To train it: tslens train {name}", name)
    return InputError(said)
