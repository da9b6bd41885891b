"""The commands that say what heads, neurons and layers do."""

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from tslens.result import Result

Json = Annotated[bool, Parameter(name="--json", negative=())]

STORIES = "validation"  # of the embedded generator: there without a download


def heads(
    *,
    model: str,
    stories: str = STORIES,
    limit: int | None = 200,
    ablate: bool = False,
    out: Path | None = None,
    precision: str = "float32",
    json_: Json = False,
) -> None:
    """Say what every attention head does: its role, how strongly, how surely.

    Parameters
    ----------
    model
        A run, a bundled model, a path, llama2c:FILE or hf:FOLDER_OR_HUB_ID.
    stories
        A file, a dataset, or `validation` (the embedded generator's).
    limit
        Stories read at most.
    ablate
        Also take every head out in turn and measure the loss on repeated random tokens and on 16 of the stories.
    out
        A folder for the figure (SVG), the table (CSV) and the whole answer.
    precision
        Of the model's matrix products: float32, bfloat16 or auto.
    json_
        Print JSON.
    """
    from tslens.analysis import heads as method
    from tslens.models import load
    from tslens.scan import scan

    with _delivery(out, json_) as deliver:
        loaded, corpus = load(model), _corpus(stories, limit)
        answer = scan(loaded, corpus, method.Roles(), precision=precision)
        deliver(answer)
        if ablate:
            deliver(method.ablation(loaded), "on-repeated-tokens")
            deliver(method.ablation(loaded, corpus), "on-stories")


def neurons(
    *,
    model: str,
    stories: str = STORIES,
    limit: int | None = 200,
    top: int = 20,
    out: Path | None = None,
    precision: str = "float32",
    json_: Json = False,
) -> None:
    """Say what every MLP neuron fires on: its top tokens beside samples, its part of speech, its effect on the logits.

    Parameters
    ----------
    model
        A run, a bundled model, a path, llama2c:FILE or hf:FOLDER_OR_HUB_ID.
    stories
        A file, a dataset, or `validation` (the embedded generator's).
    limit
        Stories read at most.
    top
        Tokens kept for each neuron.
    out
        A folder for the figure (SVG), the table (CSV) and the whole answer.
    precision
        Of the model's matrix products: float32, bfloat16 or auto.
    json_
        Print JSON.
    """
    from tslens.analysis import neurons as method
    from tslens.models import load
    from tslens.scan import scan

    with _delivery(out, json_) as deliver:
        deliver(scan(load(model), _corpus(stories, limit), method.Profiles(k=top), precision=precision))


def lens(
    *,
    model: str,
    prompt: str | None = None,
    stories: str | None = None,
    limit: int | None = 200,
    top: int = 5,
    out: Path | None = None,
    precision: str = "float32",
    json_: Json = False,
) -> None:
    """Say what the model would predict after each layer (logit lens): over one prompt, or by depth over stories.

    Parameters
    ----------
    model
        A run, a bundled model, a path, llama2c:FILE or hf:FOLDER_OR_HUB_ID.
    prompt
        A text to look at, token by token.
    stories
        A file, a dataset, or `validation` (the embedded generator's, which is read where there is no prompt either).
    limit
        Stories read at most.
    top
        Tokens kept for each position of the prompt.
    out
        A folder for the figures (SVG), the tables (CSV) and the whole answers.
    precision
        Of the model's matrix products: float32, bfloat16 or auto.
    json_
        Print JSON.
    """
    from tslens.analysis import lens as method
    from tslens.models import load
    from tslens.scan import scan

    with _delivery(out, json_) as deliver:
        loaded = load(model)
        if prompt is not None:
            deliver(method.prompt(loaded, prompt, top))
        if stories is not None or prompt is None:
            corpus = _corpus(stories or STORIES, limit)
            deliver(scan(loaded, corpus, method.Depth(), precision=precision))


def _corpus(source: str, limit: int | None) -> Iterable[str]:
    """The stories by name: in a list where they are few, so that a bar knows how many there are."""
    from tslens.stories import stories as read

    found = read(source, limit=limit)
    return found if limit is None else list(found)


class _Delivery:
    """Prints answers, and where a folder was asked for, writes each as a figure, a table and itself."""

    def __init__(self, folder: Path | None, as_json: bool) -> None:
        self.folder = folder
        self.as_json = as_json
        self.printed: list[dict[str, object]] = []

    def __call__(self, answer: "Result", which: str = "") -> None:
        """Show an answer now; what is written appears when all is done."""
        if self.as_json:
            self.printed.append(answer.to_json())
        else:
            print(answer, end="\n\n")
        if self.folder is not None:
            from tslens import plots

            words = re.findall("[A-Z][a-z]*", type(answer).__name__)
            name = "-".join([*map(str.lower, words), *filter(None, [which])])
            plots.save(answer.figure(), self.folder / f"{name}.svg", answer.to_frame())
            answer.save(self.folder / which)


@contextmanager
def _delivery(out: Path | None, as_json: bool) -> Iterator[_Delivery]:
    """What the answers are given to. A folder that cannot be written fails here, before anything is computed.

    Everything is written to a hidden folder inside `out` first and moved up when all is there; where the command
    fails, `out` is as it was before.
    """
    if out is None:
        deliver = _Delivery(None, as_json)
        yield deliver
        _print_json(deliver)
        return
    missing = [folder for folder in (out, *out.parents) if not folder.exists()]
    out.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(dir=out, prefix=".tslens-") as scratch:
            deliver = _Delivery(Path(scratch), as_json)
            yield deliver
            written = _move(Path(scratch), out)
    except BaseException:
        for folder in missing:
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
        raise
    _print_json(deliver)
    print(f"written to {out}: {', '.join(written)}", file=sys.stderr if as_json else sys.stdout)


def _move(source: Path, target: Path) -> list[str]:
    """Move what is in one folder into the other, replacing files and folders of the same name; returns the names."""
    names = sorted(path.name for path in source.iterdir())
    for name in names:
        place = target / name
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        (source / name).replace(place)
    return names


def _print_json(deliver: _Delivery) -> None:
    if deliver.as_json:
        records = deliver.printed
        print(json.dumps(records[0] if len(records) == 1 else records, ensure_ascii=False))
