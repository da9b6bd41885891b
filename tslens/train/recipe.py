"""Recipes: the settings of a training run, read from TOML and inherited from a base."""

import dataclasses
import re
import tomllib
import typing
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from tslens.errors import InputError
from tslens.fields import typed
from tslens.models import CompressorSpec, Spec
from tslens.nearest import did_you_mean
from tslens.parsing import parse_toml
from tslens.paths import absent, contents
from tslens.train import objectives, old_keys
from tslens.train.batch_warmup import QUARTERS
from tslens.train.objectives import Objective
from tslens.train.objectives.language import LanguageModelling
from tslens.train.optimizer import OptimizerSettings
from tslens.train.settings import DataSettings, Seed, TrainSettings, settings


@settings("")
class Recipe:
    """All settings needed to train a run again."""

    name: str
    model: dict[str, Any]
    """Fields of `models.Spec` except `d_vocab`, which the tokenizer determines; or `shape`, such as "512x12"."""
    objective: Objective = dataclasses.field(default_factory=LanguageModelling)
    data: DataSettings = dataclasses.field(default_factory=DataSettings)
    optimizer: OptimizerSettings = dataclasses.field(default_factory=OptimizerSettings)
    train: TrainSettings = dataclasses.field(default_factory=TrainSettings)
    seed: Seed = 0

    def __post_init__(self) -> None:
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
        """Number of rows that a step computes together."""
        return self.objective.group

    @property
    def smallest_batch(self) -> int:
        """Number of rows of the first step."""
        return self.train.batch // QUARTERS if self.train.batch_warmup else self.train.batch

    def spec(self, d_vocab: int) -> Spec:
        """The model's spec with this vocabulary."""
        fields = dict(self.model) | {"d_vocab": d_vocab}
        shape = fields.pop("shape", None)
        known = Spec.parse(shape).to_dict() if shape else {}
        chosen = {k: v for k, v in known.items() if k in ("d_model", "n_layers", "n_heads")}
        return Spec.from_dict(chosen | fields)

    def shape(self, d_vocab: int) -> Spec | CompressorSpec:
        """The spec of the trained model: that of the recipe's shape, unless the objective builds another."""
        return self.objective.shape(self.spec(d_vocab))

    def to_dict(self) -> dict[str, Any]:
        """JSON-able, complete."""
        tree = dataclasses.asdict(self)
        return tree | {"objective": {"name": objectives.name_of(self.objective)} | tree["objective"]}


T = TypeVar("T")
SECTIONS: dict[str, Any] = {"data": DataSettings, "optimizer": OptimizerSettings, "train": TrainSettings}
BASES = ("base", "published")
"""Bundled recipes that serve only as a base for others."""


def names() -> list[str]:
    """Names of the bundled recipes."""
    files = (file.name for file in resources.files("tslens.recipes").iterdir())
    return sorted({name.removesuffix(".toml") for name in files if name.endswith(".toml")} - set(BASES))


def load(name: str, overrides: dict[str, str] | None = None) -> Recipe:
    """The recipe of a name, a TOML file, or a bare shape such as 256x8 (which uses the base recipe).

    `overrides` are `section.key` to text, as on the command line. InputError names an unknown key and its nearest.
    """
    return _chosen(_tree(name), overrides or {}, f"recipe {name}")


def changed(recipe: Recipe, overrides: dict[str, str]) -> Recipe:
    """The recipe with other settings, `section.key` to text, as on the command line."""
    return _chosen(recipe.to_dict(), overrides, f"recipe {recipe.name}")


def _chosen(tree: dict[str, Any], overrides: dict[str, str], origin: str) -> Recipe:
    if "train.batch" in overrides:  # chosen, so it is kept
        overrides = {"train.fewest_steps": "0"} | overrides
    for key, text in overrides.items():
        _override(tree, key, text)
    old_keys.refuse(tree, origin)
    return from_dict(tree, origin=origin)


def _tree(name: str, beside: Path | None = None, heirs: tuple[str, ...] = ()) -> dict[str, Any]:
    """A recipe's settings with the inherited ones; a file's base is searched beside that file."""
    if name.endswith(".toml"):
        path = (beside or Path()) / name
        if not path.is_file():
            raise InputError(f"No recipe file: {absent(path)}. Give the path of one, or a recipe's name.")
        label, data, beside = path.stem, contents(path), path.parent
        name = str(path.resolve())
    elif name in (*names(), *BASES):
        label, data = name, resources.files("tslens.recipes").joinpath(f"{name}.toml").read_bytes()
    else:
        return _tree("base") | {"name": name, "model": _tree("base")["model"] | _shape(name)}
    if name in heirs:
        raise InputError(f"Recipe {label} inherits from itself. Give it another base.")
    tree = parse_toml(data, f"Recipe {label}")
    base = tree.pop("base", None)
    if not isinstance(base, str | None):
        raise InputError(f"Recipe {label}: base is {base!r}; it must be the name of a recipe or a TOML file.")
    own = tree | {"name": label}
    return own if base is None else _merge(_tree(base, beside, (*heirs, name)), own)


def _shape(name: str) -> dict[str, Any]:
    try:
        Spec.parse(name)
    except InputError as error:
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
    except (ValueError, RecursionError):
        value = text
    if section:
        table = tree.setdefault(section, {})
        if not isinstance(table, dict):
            raise InputError(f"{key} cannot be set: {section} is {table!r}, not a table of settings.")
        table[field] = value
    else:
        tree[field] = value


def from_dict(tree: Any, *, origin: str = "recipe") -> Recipe:
    """The recipe stored as JSON in a run, whose keys may be those of an older version.

    InputError names an unknown key with the nearest known one, or an invalid value.
    """
    try:
        if not isinstance(tree, dict):
            raise InputError("its JSON is no object. Restore it, or begin the run again.")
        _check_keys(tree := old_keys.migrated(tree), {field.name for field in dataclasses.fields(Recipe)}, "")
        parts = {section: _section(cls, tree.get(section, {}), f"{section}.") for section, cls in SECTIONS.items()}
        parts["objective"] = _objective(tree.get("objective", "language-modelling"))
        return Recipe(**tree | parts | {"model": _model(tree.get("model"))})
    except InputError as error:
        raise InputError(f"{origin}: {error}") from error


def _model(given: Any) -> dict[str, Any]:
    """The fields of a model's spec in a recipe, checked by type."""
    if given and not isinstance(given, dict):
        raise InputError(f'model is {given!r}; it must be a table: [model], and in it shape = "256x8".')
    if not given:
        raise InputError('there is no [model]. Give it a shape, such as shape = "256x8".')
    of_spec, hints = typing.get_type_hints(Spec), {"shape": str}
    hints |= {field.name: of_spec[field.name] for field in dataclasses.fields(Spec) if field.name != "d_vocab"}
    _check_keys(given, set(hints), "model.")
    if not {"shape", "d_model", "n_layers"} & given.keys():
        raise InputError('there is no model.shape: it is for others to start from. Give it one, such as "256x8".')
    return {key: typed(f"model.{key}", hints[key], value) for key, value in given.items()}


def _objective(given: Any) -> Objective:
    """An objective by its name, or by a table of its name and settings."""
    table = {"name": given} if isinstance(given, str) else given
    if not isinstance(table, dict) or not isinstance(name := table.get("name"), str):
        raise InputError(f"objective is {given!r}; it must be a name, or a table that has one.")
    chosen = {key: value for key, value in table.items() if key != "name"}
    return _section(objectives.named(name), chosen, "objective.")


def _section(cls: type[T], given: Any, prefix: str) -> T:
    _check_keys(given, {field.name for field in dataclasses.fields(cls)}, prefix)  # type: ignore[arg-type]
    return cls(**given)


def _check_keys(given: Any, known: set[str], prefix: str) -> None:
    if not isinstance(given, dict):
        raise InputError(f"{prefix.rstrip('.')} must be a table of settings, not {given!r}.")
    for key in given:
        if key not in known:
            everywhere = [f"{section}.{f.name}" for section, cls in SECTIONS.items() for f in dataclasses.fields(cls)]
            elsewhere = [name for name in everywhere if name.endswith(f".{key}")]
            near = f" Did you mean '{elsewhere[0]}'?" if elsewhere else did_you_mean(key, sorted(known))
            allowed = f"Known: {', '.join(sorted(known))}." if known else f"This {prefix[:-1]} has no settings."
            raise InputError(f"unknown key '{prefix}{key}'.{near} {allowed}")
