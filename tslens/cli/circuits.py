"""The commands that find circuits, and which heads read which."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tslens.cli.delivery import Delivery, delivery
from tslens.cli.options import Json, Limit, Model, Stories, corpus_of
from tslens.errors import InputError
from tslens.progress import note

if TYPE_CHECKING:
    from tslens.models import LanguageModel
    from tslens.stories.pairs import Task


def circuit(
    task: str,
    /,
    *,
    model: Model,
    pairs: int = 200,
    seed: int = 0,
    n: Annotated[int, Parameter(name="--twins")] = 19,
    out: Path | None = None,
    json_: Json = False,
) -> None:
    """Find the heads and MLPs that answer a task of minimal pairs: accuracy, patching, and a circuit with controls.

    A model that does not do the task has no circuit. Takes minutes: the same search runs on nonsense, on permuted twins
    and on further pairs. The circuit is kept beside the model, and its page shows it.

    Parameters
    ----------
    task
        What the pairs ask for: character, pronoun, object, owner or colour.
    pairs
        Number of pairs: the circuit is found on one half and measured on the other.
    seed
        Seed of the pairs, and of what the controls draw.
    n
        Untrained twins that are asked the same; those that do the task are patched too. 19 give p = 0.05 at best.
    out
        A folder for the figures (SVG), the tables (CSV) and the whole answers.
    """
    from tslens.analysis import circuits as method
    from tslens.forward.trunk import refuse_compressor
    from tslens.models import load
    from tslens.report.circuits import keep
    from tslens.stories.pairs import task as known

    asked = known(task)  # a wrong task is refused before the work
    with delivery(out, json_) as deliver:
        loaded = load(model)
        refuse_compressor(loaded)
        _on_task(deliver, loaded, asked, pairs, seed, n)
        found = method.circuit(loaded, asked, n=pairs, seed=seed)
        keep(loaded, found)
        deliver(found)


def _on_task(deliver: Delivery, loaded: "LanguageModel", asked: "Task", pairs: int, seed: int, n: int) -> None:
    """Deliver the accuracy and, where the model does the task, patching; both beside `n` untrained twins."""
    from tslens.analysis import circuits as method
    from tslens.twins import beside_task, on_task

    able = method.accuracy(loaded, asked, n=pairs, seed=seed)
    where = method.patching(loaded, asked, n=pairs, seed=seed) if able.does else None
    if n and able.of_halves:
        twins = on_task(loaded, asked, able, where, n=n, pairs=pairs, seed=seed)
        deliver(twins, "of-task", printed=False)
        able, where = twins.beside(able), where and beside_task(twins, where)
    elif n:
        note(f"No untrained twin is asked: an interval of their counts takes 20 pairs, and there are {able.pairs}.")
    deliver(able)
    if where is not None:
        deliver(where)


def composition(
    *,
    model: Model,
    head: Annotated[
        str | None, Parameter(help="A head, such as 3.2: also shows its QK and OV circuits in tokens.")
    ] = None,
    stories: Stories = None,
    limit: Limit = 200,
    n: Annotated[int, Parameter(name="--twins", help="Untrained twins whose scores and paths are counted too.")] = 19,
    out: Path | None = None,
    json_: Json = False,
) -> None:
    """Find which heads read which heads, by their weights and by path patching; and one head's tokens.

    Paths go from previous-token to induction heads, on repeated random tokens and on repeated beginnings of stories.

    Parameters
    ----------
    out
        A folder for the figures (SVG), the tables (CSV) and the whole answers.
    """
    from tslens.analysis import circuits as method
    from tslens.forward.trunk import refuse_compressor
    from tslens.models import load

    place = None if head is None else _head(head)
    with delivery(out, json_) as deliver:
        loaded = load(model)
        refuse_compressor(loaded)
        if place is not None:
            deliver(method.tokens(loaded, *place))
        deliver(method.composition(loaded, n=n))
        if loaded.cfg.n_layers > 1:
            corpus = corpus_of(loaded, stories, limit)
            deliver(method.paths(loaded, n=n), "on-random-tokens")
            deliver(method.paths(loaded, corpus, n=n), "on-stories", corpus=corpus)


def _head(text: str) -> tuple[int, int]:
    """The layer and head of `3.2`."""
    layer, _, head = text.partition(".")
    if not (layer.isdecimal() and head.isdecimal()):
        raise InputError(f"--head takes LAYER.HEAD, such as 3.2; got {text!r}.")
    return int(layer), int(head)
