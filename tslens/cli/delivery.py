"""Output of commands: tables or JSON on the terminal, files in a folder, all or nothing."""

import dataclasses
import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tslens import files
from tslens.cli.options import refuse_input
from tslens.errors import InputError
from tslens.files import scratch_folder
from tslens.tables import filled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tslens.corpus import Corpus
    from tslens.models import LanguageModel
    from tslens.result import CountedResult, Result
    from tslens.scan import Reducer

Counted = TypeVar("Counted", bound="CountedResult")


class Delivery:
    """Prints results and, if a folder was requested, writes the figure, the table and the data of each."""

    def __init__(self, folder: Path | None, as_json: bool) -> None:
        self.folder = folder
        self.as_json = as_json
        self.printed: list[dict[str, object]] = []

    def __call__(
        self,
        answer: "Result",
        which: str = "",
        figures: "Iterable[tuple[str, Figure]] | None" = None,
        corpus: "Corpus | None" = None,
        printed: bool = True,
    ) -> None:
        """Print a result now, if it is to be `printed` (JSON always is); its files appear at the end. `figures`, by
        name, replace its own; `corpus`, the stories that it was computed on, becomes part of the result."""
        if corpus is not None:
            answer = dataclasses.replace(answer, corpus=corpus.description)
        if self.as_json:
            self.printed.append(answer.to_json())
        elif printed:
            print(filled(str(answer)), end="\n\n")
        if self.folder is not None:
            from tslens import plots

            words = re.findall("[A-Z][a-z]*", type(answer).__name__.removesuffix("Result"))
            name = "-".join([*map(str.lower, words), *filter(None, [which])])
            if figures is None:
                plots.save(answer.figure(), self.folder / f"{name}.svg", answer.to_frame())
            else:
                answer.to_frame().to_csv(self.folder / f"{name}.csv", index=False)
                for part, figure in figures:
                    plots.save(figure, self.folder / f"{name}-{part}.svg")
            answer.save(self.folder / which)


@contextmanager
def delivery(out: Path | None, as_json: bool) -> Iterator[Delivery]:
    """A `Delivery` for the results. A folder that cannot be written fails here, before anything is computed.

    Everything is written to a hidden folder inside `out` first and moved up when complete; if the command fails, `out`
    is unchanged. Results of an earlier command are replaced; a folder that holds anything else never is.
    """
    if out is None:
        deliver = Delivery(None, as_json)
        yield deliver
        _print_json(deliver)
        return
    shown, out = out, out.absolute()  # pandas takes a folder that is called ~ for one's home
    missing = [folder for folder in (out, *out.parents) if not folder.exists()]
    try:
        with _scratch(out) as scratch:
            deliver = Delivery(scratch, as_json)
            yield deliver
            written = _move(scratch, out)
    except BaseException:
        for folder in missing:
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
        raise
    _print_json(deliver)
    print(f"written to {shown}: {', '.join(written)}", file=sys.stderr if as_json else sys.stdout)


@contextmanager
def _scratch(out: Path) -> Iterator[Path]:
    """A hidden folder inside `out`; creates `out` if missing."""
    with ExitStack() as stack:
        try:
            scratch = stack.enter_context(scratch_folder(out))
        except OSError as error:
            why = str(error.strerror).lower()
            raise OSError(
                error.errno, f"nothing can be written there ({why}), give --out another folder", str(out)
            ) from error
        yield scratch


def _move(source: Path, target: Path) -> list[str]:
    """Move the content of one folder into another, replacing files and saved results of the same name; returns the
    names. InputError, with nothing moved, if a folder that holds anything else is in the way."""
    from tslens.result import is_saved

    pairs = [(new, target / new.relative_to(source)) for new in _whole(source)]
    for new, place in pairs:
        refuse_input(place)
        if in_the_way := [above for above in place.parents if above.is_file()]:
            raise InputError(f"{in_the_way[0]} is a file where a folder is needed. Give --out another.")
        if new.is_dir() and (place.is_symlink() or place.is_file()):
            raise InputError(f"{place} is a file or a link where a folder is needed. Give --out another.")
        if place.is_dir() and not (new.is_dir() and is_saved(place)):
            raise InputError(f"{place} is a folder that holds no saved result: it would be lost. Give --out another.")
    for number, (new, place) in enumerate(pairs):
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_dir() and not place.is_symlink():
            place.rename(source / f".{number}.old")
        new.replace(place)
    return sorted({place.relative_to(target).parts[0] for _, place in pairs})


def _whole(folder: Path) -> Iterator[Path]:
    """The files and saved results of a folder and of those inside it."""
    from tslens.result import is_saved

    for path in sorted(folder.iterdir()):
        if path.is_dir() and not is_saved(path):
            yield from _whole(path)
        else:
            yield path


def _print_json(deliver: Delivery) -> None:
    if deliver.as_json:
        records = deliver.printed
        print_json(records[0] if len(records) == 1 else records)


def print_json(value: object, *, indent: int | None = None) -> None:
    """Print a value as one JSON document; null for numbers that are not finite, which JSON does not have (RFC 8259)."""
    print(json.dumps(files.finite(value), ensure_ascii=False, allow_nan=False, indent=indent))


def beside_twins(
    deliver: Delivery,
    loaded: "LanguageModel",
    corpus: "Corpus",
    reducer: "Reducer[Any, Any]",
    answer: Counted,
    n: int,
    which: str,
) -> Counted:
    """Deliver an answer, beside the counts of `n` untrained twins, or of those that are kept if none is asked."""
    from tslens.twins import compare, kept_counts

    counted = compare(loaded, corpus, [reducer], n=n) if n else kept_counts(loaded, corpus, reducer)
    if counted is not None:
        answer = counted.beside(answer)
        if n:
            deliver(counted, which, printed=False)
    deliver(answer, corpus=corpus)
    return answer
