"""The demo: stories, tokens, a trained model, what its parts do, and a page, in one run."""

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tslens import files, runs
from tslens.corpus import model_stories
from tslens.errors import InputError
from tslens.generate import ENDED, Sampling, Written, generate_written
from tslens.models import load, spec_of
from tslens.report import compute, draw, write
from tslens.report.findings import Finding, findings
from tslens.train import recipe as recipes
from tslens.train.prepare import RECIPE
from tslens.train.run import differences
from tslens.train.session import train

SAMPLING = Sampling(temperature=0.6, seed=1)
"""How its story is drawn."""


@dataclasses.dataclass(frozen=True)
class Demo:
    """The results of a demo."""

    page: Path
    findings: list[Finding]
    story: str
    """A story by the model, sampled as `SAMPLING` says: the first of eight that it ended itself, or else the first."""
    is_whole: bool
    """Whether the model ended it."""
    seconds: float


def demo(
    name: str = "demo",
    settings: Mapping[str, str] | None = None,
    *,
    limit: int = 200,
    overwrite: bool = False,
    begun: Callable[[], None] = lambda: None,
) -> Demo:
    """Train the recipe `demo` on generated stories, analyse the model, and write `runs/<name>/report.html`.

    `settings` change keys of the recipe, `limit` is the number of validation stories that the analyses read; `begun` is
    called when all checks have passed. An earlier run by the same recipe is replaced, because the new one ends in the
    same bits; InputError for any other, unless `overwrite`.
    """
    began = time.perf_counter()
    recipe = recipes.load("demo", dict(settings or {}))
    _check_replaceable(recipe, runs.run_folder(name), overwrite)
    begun()
    run = train(recipe, name, overwrite=True).run
    model = load(run.folder)
    story = first_whole(generate_written(model, n=8, max_new_tokens=spec_of(model).n_ctx, sampling=SAMPLING))
    data = compute(
        model,
        model_stories(model, limit=limit),
        name=name,
        config=files.read_json(run.folder / runs.CONFIG),
        metrics=runs.read_metrics(run.folder),
        causes=False,  # a minute more; the command adds them
    )
    page = write(draw(data), run.folder / "report.html")
    return Demo(page, findings(data), story.text, story.ended == ENDED, time.perf_counter() - began)


def first_whole(stories: Sequence[Written]) -> Written:
    """The first of these stories that the model ended itself, or else the first."""
    return next((one for one in stories if one.ended == ENDED), stories[0])


def _check_replaceable(recipe: recipes.Recipe, folder: Path, overwrite: bool) -> None:
    if overwrite or not folder.exists():
        return
    place = folder / RECIPE
    before = recipes.from_dict(files.read_json(place), origin=str(place)).to_dict() if place.is_file() else None
    if before is None or (found := differences(recipe.to_dict(), before, "here", "there")):
        why = "no run by a recipe" if before is None else f"a run by another recipe: {found}"
        raise InputError(f"{folder} is {why}. To replace it: --overwrite. To keep it: --name for another.")
