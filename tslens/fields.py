"""Check what was read of a file against the annotations of the fields that it is for."""

import dataclasses
import json
import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from jaxtyping import AbstractArray

from tslens.errors import InputError

if TYPE_CHECKING:
    from pydantic import ValidationError

Fields = Mapping[str, Any]
TYPES = {
    "int_type": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "tuple_type": "a list of whole numbers",
    "dict_type": "a table",
}


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


def typed(key: str, kind: Any, value: Any) -> Any:
    """What was read of JSON or TOML, as a field annotated so holds it: a list may be a tuple, a text is no number.
    InputError names the key."""
    from pydantic import ValidationError

    try:
        return _adapter(kind).validate_json(json.dumps(value, default=str), strict=True)
    except ValidationError as error:
        raise InputError(in_one_line(error, key)) from error


def in_one_line(error: "ValidationError", section: str) -> str:
    """The error in one line: the key, the given value, and what it must be."""
    fault = error.errors(include_url=False)[0]
    if isinstance(own := fault.get("ctx", {}).get("error"), InputError):
        return str(own)
    key = ".".join(str(part) for part in (section, *fault["loc"][:1]) if part)
    if fault["type"] == "literal_error":
        must = "one of " + ", ".join(re.findall("'([^']*)'", fault["ctx"]["expected"]))
    elif fault["type"] == "bound":
        must = fault["msg"]
    else:
        must = TYPES.get(fault["type"]) or TYPES.get(fault["type"].replace("_from_float", "_type"), "")
    return f"{key} is {fault['input']!r}; it must be {must}." if must else f"{key}: {fault['msg']}."


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
