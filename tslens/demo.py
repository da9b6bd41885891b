"""The whole of tslens in one run: stories, tokens, a trained model, what its parts do, and a page."""

import dataclasses
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from tslens import checkpoints
from tslens.generate import Sampling, generate
from tslens.report import compute, draw, write
from tslens.report.findings import Finding, findings
from tslens.stories import stories
from tslens.train import recipe as recipes
from tslens.train.loop import Watch, train
from tslens.train.prepare import prepare

ANALYSED = 200  # validation stories that the analyses read


@dataclasses.dataclass(frozen=True)
class Demo:
    """What the demo leaves behind."""

    page: Path
    findings: list[Finding]
    story: str
    """A story that the model wrote, sampled at temperature 0.5."""
    seconds: float


def demo(name: str = "demo", *, bar: Callable[[], AbstractContextManager[Watch]], progress: bool = True) -> Demo:
    """Train the recipe `demo` on stories made here, analyse the model, and write `runs/<name>/report.html`.

    An earlier run of the same name is replaced. `bar` shows the training.
    """
    began = time.perf_counter()
    run = prepare(recipes.load("demo"), name, overwrite=True, progress=progress)
    with bar() as watch:
        model = train(run, watch=watch)
    story = generate(model, "", max_new_tokens=200, sampling=Sampling(temperature=0.5, seed=1))[0]
    source = stories(run.recipe.data.source, split="validation", limit=ANALYSED)
    data = compute(
        model,
        source,
        name=name,
        source=source.name,
        config=checkpoints.read_json(run.folder / checkpoints.CONFIG),
        metrics=checkpoints.read_metrics(run.folder),
        progress=progress,
    )
    page = write(draw(data), run.folder / "report.html")
    return Demo(page, findings(data), story, time.perf_counter() - began)
