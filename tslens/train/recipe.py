"""What was chosen for a training run: a TOML of chosen numbers, inherited from a base, with nothing derived."""

import dataclasses
import math
import re
import tomllib
import types
import typing
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from tslens import forward
from tslens.errors import InputError
from tslens.models import CompressorSpec, Spec
from tslens.nearest import did_you_mean
from tslens.train import loggers, objectives
from tslens.train.batch_warmup import QUARTERS
from tslens.train.objectives import Objective
from tslens.train.objectives.language import LanguageModelling
from tslens.train.optimizer import OptimizerSettings


@dataclasses.dataclass(frozen=True)
class DataSettings:
    """Which stories, and how they become rows."""

    source: str = "made"
    """As `tslens.stories.stories` takes it."""
    limit: int | None = None
    """Stories trained on at most."""
    vocabulary: int = 4096
    """Size of the tokenizer that is trained on the training split, where no `tokenizer` is given."""
    tokenizer: str | None = None
    """A tokenizer.json, or the name of a model whose tokenizer is used."""
    filter: Literal["none", "no words with summary"] = "none"
    """Of stories behind instructions: `no words with summary` trains on those that never ask for both together, and
    validates on those that do (Instruct-OOD)."""
    seed: int = 0
    """Of the embedded generator and of the order of shuffled sentences."""


@dataclasses.dataclass(frozen=True)
class TrainSettings:
    """How long, how much at a time, and how often the run looks at itself."""

    epochs: float = 1.0
    steps: int | None = None
    """Steps in all, instead of epochs."""
    batch: int = 32
    """Rows of a step."""
    batch_warmup: int = 0
    """Steps in which the batch grows: a third of them each with one, two and three quarters of its rows."""
    micro_batch: int | None = None
    """Rows that are computed at a time (gradients are accumulated); all of them where not given."""
    dropout: float = 0.0
    """Share of the embeddings, and of what attention and MLP add to the residual stream, that a step leaves out."""
    precision: str = "auto"
    compile: bool = False
    validate_every: int = 200
    validation_stories: int = 300
    checkpoint_every: int = 500
    keep: int = 2
    """Checkpoints that are kept."""
    keep_log_spaced: bool = True
    """Whether the weights of steps 1, 2, 4, 8, ... are kept too; `NAME@64` loads them."""
    on_divergence: Literal["stop", "rollback"] = "stop"
    """What a loss that is not finite or explodes brings: the end, or going back to the last checkpoint and on with a
    lower learning rate."""
    explode: float = 3.0
    """Nats above the median of the last records that count as exploding; 0 for an objective that may explode."""
    cut: float = 0.5
    """What the learning rate is multiplied by at each rollback."""
    rollbacks: int = 3
    """Rollbacks at most."""
    log: str = ""
    """Where records go besides `metrics.jsonl`: tensorboard, wandb, or both with a comma between."""

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "validate_every", "checkpoint_every", "keep", "validation_stories"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise InputError(f"train.{name} is {value}; it must be at least 1.")
        if not (math.isfinite(self.epochs) and self.epochs > 0):
            raise InputError(f"train.epochs is {self.epochs}; it must be a finite number above 0.")
        if self.batch_warmup < 0:
            raise InputError(f"train.batch_warmup is {self.batch_warmup}; it must be 0 or more steps.")
        if self.micro_batch is not None and (self.micro_batch < 1 or self.batch % self.micro_batch):
            raise InputError(f"train.micro_batch is {self.micro_batch}; it must divide the batch of {self.batch} rows.")
        if self.on_divergence not in ("stop", "rollback"):
            raise InputError(f"train.on_divergence is {self.on_divergence!r}; it must be stop or rollback.")
        if not self.explode >= 0:
            raise InputError(f"train.explode is {self.explode}; it must be a number of nats, 0 for never.")
        if not 0 < self.cut < 1:
            raise InputError(f"train.cut is {self.cut}; it must lie between 0 and 1.")
        if self.rollbacks < 0:
            raise InputError(f"train.rollbacks is {self.rollbacks}; it must be 0 or more.")
        if not 0 <= self.dropout < 1:
            raise InputError(f"train.dropout is {self.dropout}; it must be 0 or more and below 1.")
        forward.precision(self.precision)  # both refuse what they do not know
        loggers.parse(self.log)


@dataclasses.dataclass(frozen=True)
class Recipe:
    """All that a run needs to be trained again."""

    name: str
    model: dict[str, Any]
    """Fields of `models.Spec`, `d_vocab` left to the tokenizer; or `shape`, such as "512x12"."""
    objective: Objective = dataclasses.field(default_factory=LanguageModelling)
    data: DataSettings = dataclasses.field(default_factory=DataSettings)
    optimizer: OptimizerSettings = dataclasses.field(default_factory=OptimizerSettings)
    train: TrainSettings = dataclasses.field(default_factory=TrainSettings)
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**63:
            raise InputError(f"seed is {self.seed}; it must be 0 or more, and below 2^63.")
        for name in ("batch", "micro_batch"):
            if (value := getattr(self.train, name)) is not None:
                self.objective.check_batch(f"train.{name}", value)
        if self.train.batch_warmup and self.train.batch % (QUARTERS * self.group):
            raise InputError(
                f"train.batch is {self.train.batch}; to grow by quarters (train.batch_warmup) it must be a multiple of "
                f"{QUARTERS * self.group}."
            )

    @property
    def group(self) -> int:
        """Rows that a step computes together."""
        return self.objective.group

    @property
    def smallest_batch(self) -> int:
        """Rows of the first step."""
        return self.train.batch // QUARTERS if self.train.batch_warmup else self.train.batch

    def spec(self, d_vocab: int) -> Spec:
        """The model's spec with this vocabulary."""
        fields = dict(self.model) | {"d_vocab": d_vocab}
        shape = fields.pop("shape", None)
        known = Spec.parse(shape).to_dict() if shape else {}
        chosen = {k: v for k, v in known.items() if k in ("d_model", "n_layers", "n_heads")}
        return Spec.from_dict(chosen | fields)

    def shape(self, d_vocab: int) -> Spec | CompressorSpec:
        """The spec of the model that is trained: that of the recipe's shape, unless the objective builds another."""
        return self.objective.shape(self.spec(d_vocab))

    def to_dict(self) -> dict[str, Any]:
        """JSON-able, complete."""
        tree = dataclasses.asdict(self)
        return tree | {"objective": {"name": objectives.name_of(self.objective)} | tree["objective"]}


SECTIONS = {"data": DataSettings, "optimizer": OptimizerSettings, "train": TrainSettings}


BASES = ("base", "published")  # of the recipes that come with tslens, those that only others start from


def names() -> list[str]:
    """The recipes that come with tslens."""
    files = (file.name for file in resources.files("tslens.recipes").iterdir())
    return sorted({name.removesuffix(".toml") for name in files if name.endswith(".toml")} - set(BASES))


def load(name: str, overrides: dict[str, str] | None = None) -> Recipe:
    """The recipe of a name, of a TOML file, or of a bare shape such as 256x8 (which takes the base recipe).

    `overrides` are `section.key` to text, as on the command line. ValueError names an unknown key and its nearest.
    """
    tree = _tree(name)
    for key, text in (overrides or {}).items():
        _override(tree, key, text)
    return from_dict(tree, origin=f"recipe {name}")


def changed(recipe: Recipe, overrides: dict[str, str]) -> Recipe:
    """The recipe with other settings, `section.key` to text, as on the command line."""
    tree = recipe.to_dict()
    for key, text in overrides.items():
        _override(tree, key, text)
    return from_dict(tree, origin=f"recipe {recipe.name}")


def _tree(name: str, beside: Path | None = None, heirs: tuple[str, ...] = ()) -> dict[str, Any]:
    """What a recipe says together with what it inherits; a file's base is found beside that file."""
    if name.endswith(".toml"):
        path = (beside or Path()) / name
        if not path.is_file():
            raise InputError(f"No recipe file at {path}.")
        label, data, beside = path.stem, path.read_bytes(), path.parent
        name = str(path.resolve())
    elif name in (*names(), *BASES):
        label, data = name, resources.files("tslens.recipes").joinpath(f"{name}.toml").read_bytes()
    else:
        return _tree("base") | {"name": name, "model": _tree("base")["model"] | _shape(name)}
    if name in heirs:
        raise InputError(f"Recipe {label} inherits from itself. Give it another base.")
    try:
        tree = tomllib.loads(data.decode())
    except UnicodeDecodeError as error:
        raise InputError(f"Recipe {label} is not UTF-8 (byte {error.start}). Save it as UTF-8.") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"Recipe {label} is not TOML: {error}.") from error
    base = tree.pop("base", None)
    if not isinstance(base, str | None):
        raise InputError(f"Recipe {label}: base is {base!r}; it must be the name of a recipe or a TOML file.")
    own = tree | {"name": label}
    return own if base is None else _merge(_tree(base, beside, (*heirs, name)), own)


def _shape(name: str) -> dict[str, Any]:
    try:
        Spec.parse(name)
    except ValueError as error:
        if re.fullmatch(r"\d+(x\d+){1,2}", name):  # it is a shape, and a wrong one
            raise
        raise InputError(
            f"No recipe is called {name!r}.{did_you_mean(name, names())} Known: {', '.join(names())}; "
            "or a shape such as 256x8, or a TOML file."
        ) from error
    return {"shape": name}


def _merge(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in own.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merge(merged[key], value) if both else value
    return merged


def _override(tree: dict[str, Any], key: str, text: str) -> None:
    section, _, field = key.rpartition(".")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    if section:
        table = tree.setdefault(section, {})
        if not isinstance(table, dict):
            raise InputError(f"{key} cannot be set: {section} is {table!r}, not a table of settings.")
        table[field] = value
    else:
        tree[field] = value


def from_dict(tree: dict[str, Any], *, origin: str = "recipe") -> Recipe:
    """The recipe that a parsed TOML or JSON says; unknown keys and wrong types are refused by name."""
    fields = {f.name for f in dataclasses.fields(Recipe)}
    _check_keys(tree, fields, origin, "")
    model = tree.get("model")
    if not isinstance(model, dict) or not model:
        raise InputError(f'{origin} has no [model]. Give it a shape, such as shape = "256x8".')
    known = [f.name for f in dataclasses.fields(Spec) if f.name != "d_vocab"] + ["shape"]
    _check_keys(model, set(known), origin, "model.")
    if "name" not in tree:
        raise InputError(f"{origin} has no name.")
    parts = _typed(Recipe, {key: value for key, value in tree.items() if key in ("name", "seed")}, origin)
    parts["objective"] = _objective(tree.get("objective", "language-modelling"), origin)
    parts["model"] = {"shape": model["shape"]} if "shape" in model else {}
    if not isinstance(model.get("shape", ""), str):
        raise InputError(f'{origin}: model.shape is {model["shape"]!r}; it must be text, such as "256x8".')
    if not {"shape", "d_model", "n_layers"} & model.keys():
        raise InputError(
            f'{origin} has no model.shape: it is for others to start from. Give it one, such as shape = "256x8".'
        )
    parts["model"] |= _typed(Spec, {key: value for key, value in model.items() if key != "shape"}, origin, "model.")
    for section, cls in SECTIONS.items():
        values = tree.get(section, {})
        _check_keys(values, {f.name for f in dataclasses.fields(cls)}, origin, f"{section}.")
        parts[section] = cls(**_typed(cls, values, origin, f"{section}."))
    return Recipe(**parts)


def _objective(given: Any, origin: str) -> Objective:
    """An objective by its name, or by a table of its name and settings."""
    table = {"name": given} if isinstance(given, str) else given
    if not isinstance(table, dict) or not isinstance(name := table.get("name"), str):
        raise InputError(f"{origin}: objective is {given!r}; it must be a name, or a table that has one.")
    cls = objectives.named(name)
    values = {key: value for key, value in table.items() if key != "name"}
    _check_keys(values, {f.name for f in dataclasses.fields(cls)}, origin, "objective.")
    return cls(**_typed(cls, values, origin, "objective."))


def _check_keys(given: Any, known: set[str], origin: str, prefix: str) -> None:
    if not isinstance(given, dict):
        raise InputError(f"{origin}: {prefix.rstrip('.')} must be a table of settings, not {given!r}.")
    for key in given:
        if key not in known:
            settings = [f"{section}.{f.name}" for section, cls in SECTIONS.items() for f in dataclasses.fields(cls)]
            elsewhere = [name for name in settings if name.endswith(f".{key}")]
            near = f" Did you mean '{elsewhere[0]}'?" if elsewhere else did_you_mean(key, sorted(known))
            raise InputError(f"{origin}: unknown key '{prefix}{key}'.{near} Known: {', '.join(sorted(known))}.")


def _typed(cls: type, values: dict[str, Any], origin: str, prefix: str = "") -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    result = {}
    for key, value in values.items():
        if typing.get_origin(hints[key]) is typing.Literal and value not in (words := typing.get_args(hints[key])):
            raise InputError(f"{origin}: {prefix}{key} is {value!r}; it must be one of {', '.join(words)}.")
        if typing.get_origin(hints[key]) is tuple:
            if not isinstance(value, list | tuple) or not all(type(item) is int for item in value):
                raise InputError(f"{origin}: {prefix}{key} is {value!r}; it must be a list of whole numbers.")
            result[key] = value
            continue
        allowed = _types(hints[key])
        if float in allowed and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if type(value) not in allowed:
            expected = " or ".join("nothing" if t is type(None) else t.__name__ for t in allowed)
            raise InputError(f"{origin}: {prefix}{key} is {value!r}; it must be {expected}.")
        result[key] = value
    return result


def _types(hint: Any) -> tuple[type, ...]:
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return tuple(t for arg in typing.get_args(hint) for t in _types(arg))
    if typing.get_origin(hint) is typing.Literal:
        return (str,)
    return (hint,)
