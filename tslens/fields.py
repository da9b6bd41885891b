"""Check what was read of a saved result against the annotations of its fields."""

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Any

from jaxtyping import AbstractArray

Fields = Mapping[str, Any]


def wrong_fields(cls: type, values: Fields, axis_names: Mapping[str, str | tuple[str, ...]]) -> list[str]:
    """The fields of a dataclass whose values are of another type than their annotations say, or whose axes have not the
    size that other fields give them. `axis_names` tells which field names the places of an axis."""
    kinds = {field.name: field.type for field in dataclasses.fields(cls) if field.name in values}
    wrong = [name for name, kind in kinds.items() if not _fits(kind, values[name])]
    sizes: dict[str, int] = {}
    for name, kind in kinds.items():
        axes = getattr(kind, "dim_str", "").split() if name not in wrong else []
        for axis, size in zip(axes, values[name].shape if axes else (), strict=False):
            if axis.isidentifier() and sizes.setdefault(axis, size) != size:
                wrong.append(name)
    for axis, named in axis_names.items():
        if axis in sizes and isinstance(named, str) and named in values.keys() - wrong:
            wrong += [named] * (len(values[named]) != sizes[axis])
    return sorted(set(wrong))


def as_annotated(cls: type, values: Fields) -> dict[str, Any]:
    """The values with lists turned back into tuples where annotated so: JSON has only lists."""
    kinds = {field.name: field.type for field in dataclasses.fields(cls)}
    return {k: tuple(v) if str(kinds[k]).startswith("tuple") and isinstance(v, list) else v for k, v in values.items()}


def _fits(kind: Any, value: Any) -> bool:
    if isinstance(kind, type) and issubclass(kind, AbstractArray):
        return isinstance(value, kind)
    from pydantic import ValidationError

    try:
        _adapter(kind).validate_python(value, strict=True)
    except ValidationError:
        return False
    return True


@cache
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
