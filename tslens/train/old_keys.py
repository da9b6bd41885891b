"""Recipe keys of older versions: refused in recipes with the current name, migrated in stored runs."""

from typing import Any

from tslens.errors import InputError

RENAMED = {
    "data.filter": "objective.filter",
    "objective.every": "objective.group",
    "optimizer.rest": "optimizer.adamw_lr_scale",
    "optimizer.final": "optimizer.min_lr_ratio",
    "train.keep": "train.keep_checkpoints",
    "train.explode": "train.divergence_threshold",
    "train.cut": "train.rollback_lr_factor",
    "train.rollbacks": "train.max_rollbacks",
}
"""The current name of each old key."""


def refuse(tree: dict[str, Any], origin: str) -> None:
    """InputError if the recipe has an old key."""
    for old, new in RENAMED.items():
        section, _, key = old.partition(".")
        if isinstance(table := tree.get(section), dict) and key in table:
            raise InputError(f"{origin}: {old} is called {new} now. Write that instead.")


def migrated(tree: dict[str, Any]) -> dict[str, Any]:
    """The same recipe with the current keys. Every old recipe had a filter of stories; most filtered nothing."""
    tree = {section: dict(table) if isinstance(table, dict) else table for section, table in tree.items()}
    if isinstance(name := tree.get("objective"), str):
        tree["objective"] = {"name": name}
    for old, new in RENAMED.items():
        (section, key), (target, name) = old.split("."), new.split(".")
        if not isinstance(table := tree.get(section), dict) or key not in table:
            continue
        value = table.pop(key)
        if (old, value) != ("data.filter", "none"):
            tree.setdefault(target, {})[name] = value
    return tree
