"""The base class of all results: a frozen dataclass whose annotations name its axes.

A `Result` converts to a frame, a figure, HTML and a folder. The tests check the string in
`Float[Tensor, "layer head"]`, and `to_frame()` names its columns after it.
"""

import dataclasses
import html
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from torch import Tensor

from tslens.errors import InputError
from tslens.fields import as_annotated, wrong_fields
from tslens.files import atomic_folder, read_json, sha256
from tslens.paths import MOST_KEPT, refuse_special
from tslens.tables import as_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FORMAT, ARRAYS = 1, "arrays.safetensors"
DIGEST = "arrays_sha256"
"""The hash of a saved result's arrays, in its record; older ones have none."""
LINES = 20
"""Largest number of lines of a `repr`."""
Own = TypeVar("Own", bound="Result")


def axes_of(result: type | object, field: str) -> tuple[str, ...] | None:
    """The axis names of a field (`()` for a scalar tensor), or None where the field holds no tensor."""
    cls = result if isinstance(result, type) else type(result)
    annotations = {f.name: f.type for f in dataclasses.fields(cls)}
    text = getattr(annotations[field], "dim_str", None)
    return None if text is None else tuple(text.split())


def read_on(result: Any, stories: object) -> Any:
    """The Result, with the description of the stories it was read on, if they have one."""
    described = getattr(stories, "description", "")
    return dataclasses.replace(result, corpus=described) if described and isinstance(result, Result) else result


def is_saved(folder: Path) -> bool:
    """Whether a folder was written by `Result.save`."""
    return (folder / "result.json").is_file()


@dataclasses.dataclass(frozen=True, eq=False)
class Result:
    """Base class of results. A subclass declares fields, `frame_axes`, and `figure()`; its name ends in `Result`.

    Tensors are annotated with jaxtyping and kept on the CPU; every other field is JSON (text, numbers, lists,
    dicts).
    """

    corpus: str = dataclasses.field(default="", kw_only=True)
    """The stories that were read, their number, and their relation to the training stories; empty if the analysis reads
    none, or if they have no name."""

    frame_axes: ClassVar[tuple[str, ...]] = ()
    """The axes of the table that `to_frame` gives."""
    essential: ClassVar[tuple[str, ...]] = ()
    """The columns of the summary that come first where a line has no room for all."""
    axis_names: ClassVar[Mapping[str, str | tuple[str, ...]]] = {}
    """Labels along an axis instead of 0, 1, 2, ...: the names, or the field that holds them."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = Result.__repr__  # type: ignore[method-assign]  # before `dataclass` writes one of all values

    def tensors(self) -> dict[str, Tensor]:
        """The fields that hold arrays, by name."""
        return {
            f.name: getattr(self, f.name) for f in dataclasses.fields(self) if isinstance(getattr(self, f.name), Tensor)
        }

    def to_frame(self, field: str | None = None) -> "pd.DataFrame":
        """One row per element of the axes, one column per axis and per field.

        Without `field`: the table over `frame_axes`, with every field that has exactly these axes. With `field`:
        the long table of that one field, whatever its axes.
        """
        import numpy as np
        import pandas as pd

        arrays = self.tensors()
        if field is not None and field not in arrays:
            raise InputError(f"{type(self).__name__} has no array {field!r}. It has: {', '.join(arrays)}.")
        axes = (axes_of(self, field) or ()) if field is not None else self.frame_axes
        chosen = {k: v for k, v in arrays.items() if (k == field if field is not None else axes_of(self, k) == axes)}
        shape = next(iter(chosen.values())).shape
        index = np.indices(shape).reshape(len(shape), -1)
        columns: dict[str, Any] = {}
        for axis, positions in zip(axes, index, strict=True):
            named = self.axis_names.get(axis)
            names = getattr(self, named) if isinstance(named, str) else named
            columns[axis] = positions if names is None else [names[i] for i in positions]
        for name, values in chosen.items():
            columns[name] = values.float().numpy().ravel() if values.is_floating_point() else values.numpy().ravel()
        return pd.DataFrame(columns)

    def summary(self) -> "pd.DataFrame":
        """The table that is printed and shown in Jupyter; a subclass may choose fewer or friendlier columns."""
        return self.to_frame()

    def figure(self) -> "Figure":
        """The figure of this result; it is returned, not shown."""
        raise NotImplementedError(f"{type(self).__name__} draws no figure")

    def headline(self) -> str:
        """What was found, in one sentence, before the table; empty where a subclass has none."""
        return ""

    def __str__(self) -> str:
        return "\n".join(filter(None, [self.headline(), self._table(40), self.said_of_stories()]))

    def said_of_stories(self) -> str:
        """The stories that were read, as a line; empty where they have no name."""
        return f"On {self.corpus}" if self.corpus else ""

    def __repr__(self) -> str:
        """The class and the summary, abridged in the middle to 20 lines at most."""
        on = f", on {self.corpus}" if self.corpus else ""
        return f"{type(self).__name__}{on}\n{self._table(LINES - 4)}"  # with a header and an ellipsis

    def _table(self, rows: int) -> str:
        return as_text(self.summary(), self.essential, rows=rows)

    def _repr_html_(self) -> str:
        from tslens.plots import svg

        table = self.summary().head(20).to_html(index=False, float_format=lambda x: f"{x:.3f}", border=0, escape=True)
        name = html.escape(type(self).__name__)
        try:
            picture = svg(self.figure())
        except NotImplementedError:
            picture = ""
        return f"<div class='tslens-result'><h4>{name}</h4>{picture}{table}</div>"

    def to_json(self) -> dict[str, Any]:
        """Every field that is not an array, plus the summary as records: the output of `--json`."""
        plain = {
            f.name: getattr(self, f.name)
            for f in dataclasses.fields(self)
            if not isinstance(getattr(self, f.name), Tensor)
        }
        return {
            "result": type(self).__name__,
            **plain,
            "rows": json.loads(self.summary().to_json(orient="records", double_precision=15)),
        }

    def save(self, folder: str | Path) -> Path:
        """Write `<folder>/<ClassName>/` with `arrays.safetensors` and `result.json`, all or nothing; returns it.

        The folder is written under another name and renamed, so a reader never sees half a result. An older result is
        replaced; InputError for a folder of that name that is no result.
        """
        from safetensors.torch import save_file

        name = type(self).__name__
        target = Path(folder) / name
        plain = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        arrays = {k: v.detach().cpu().contiguous().clone() for k, v in self.tensors().items()}
        for key in arrays:
            del plain[key]
        record: dict[str, Any] = {"format": FORMAT, "result": name, "fields": plain}
        with atomic_folder(target) as fresh:
            if arrays:
                save_file(arrays, str(fresh / ARRAYS))
                record[DIGEST] = sha256(fresh / ARRAYS)
            text = json.dumps(record, ensure_ascii=False, indent=1)
            (fresh / "result.json").write_text(text, encoding="utf-8")
            self.write_tables(fresh)
            if target.exists() and not is_saved(target):
                raise InputError(f"{target} is no saved result and would be lost. Give another folder.")
        return target

    def write_tables(self, folder: Path) -> None:
        """Write further tables of a subclass, for other programs; `load` ignores them."""

    @classmethod
    def load(cls: type[Own], folder: str | Path) -> Own:
        """Read what `save` wrote. `folder` is the one given to `save`, or the result's own."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        place = Path(folder)
        if not (place / "result.json").exists():
            place = place / cls.__name__
        if not (place / "result.json").exists():
            raise InputError(f"{folder} holds no saved {cls.__name__}: no {cls.__name__}/result.json there.")
        try:
            record, kept = read_json(place / "result.json", MOST_KEPT), place / ARRAYS
            refuse_special(kept)
            if isinstance(record, dict) and kept.exists() and record.get(DIGEST, "") not in ("", sha256(kept)):
                raise InputError(f"{ARRAYS} was altered: it does not match the hash in result.json")
            arrays = load_file(str(kept)) if kept.exists() else {}
        except (ValueError, RecursionError, SafetensorError) as error:
            raise InputError(f"{place} cannot be read ({error}). Save the result again.") from error
        if not isinstance(record, dict) or not isinstance(record.get("fields"), dict):
            raise InputError(f"{place}/result.json is no record of a result. Save the result again.")
        if record.get("result") != cls.__name__ or record.get("format") != FORMAT:
            raise InputError(
                f"{place} holds {record.get('result')!r} in format {record.get('format')}, "
                f"not {cls.__name__!r} in format {FORMAT}."
            )
        fields = dataclasses.fields(cls)
        needed = {f.name for f in fields if f.default is f.default_factory is dataclasses.MISSING}
        found = record["fields"].keys() | arrays.keys()
        if wrong := sorted((needed - found) | (found - {f.name for f in fields})):
            raise InputError(f"{place} was altered, or written by another version: {', '.join(wrong)}. Save it again.")
        values = as_annotated(cls, record["fields"]) | arrays
        if wrong := wrong_fields(cls, values, cls.axis_names):
            raise InputError(f"{place} was altered: {', '.join(wrong)} cannot be so. Save the result again.")
        return cls(**values)


@dataclasses.dataclass(frozen=True, eq=False)
class CountedResult(Result):
    """Base class of results that count their labels, for counts beside those of untrained twins (`tslens.twins`)."""

    beside_twins: str = dataclasses.field(default="", kw_only=True)
    """The counts on some of the stories beside those of untrained twins, in words; empty where no twin was counted."""
    of_twins: dict[str, list[int]] = dataclasses.field(default_factory=dict, kw_only=True)
    """The count of each twin, by label."""

    def counts(self) -> dict[str, int]:
        """The number of heads, neurons, or positions in 1,000, with each label that claims something."""
        raise NotImplementedError

    def said_of_twins(self) -> str:
        """The counts of untrained twins, as a line."""
        return self.beside_twins or "No untrained twin was counted (--twins, tslens.twins.compare)."

    def __str__(self) -> str:
        said = [self.headline(), self.said_of_twins(), self._table(40), self.said_of_stories()]
        return "\n".join(filter(None, said))
