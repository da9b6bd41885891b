"""Share of a training run's time spent waiting for data.

A whole run of the trainer on generated stories, with its own packing, prefetching and log. The log gives the share: the
time in which no batch was ready, over that of the steps. Validation and checkpoints are in neither.
"""

import tempfile
from pathlib import Path

from tslens import files, runs
from tslens.bench.measure import Benchmark, Measured, Target
from tslens.bench.size import Size, corpus, tokenizer
from tslens.stats import mean_interval
from tslens.stories.pack import pack
from tslens.train import recipe as recipes
from tslens.train.data import Rows
from tslens.train.distributed import World
from tslens.train.run import Run
from tslens.train.session import train_run


def _run(size: Size) -> Measured:
    words, looks = tokenizer(size), 2 * size.repeats
    chosen = {
        "model.n_ctx": size.context,
        "train.batch": size.batch,
        "train.steps": 5 * looks,
        "train.validate_every": 5,
        "train.checkpoint_every": 5 * looks,
    }
    recipe = recipes.load(size.trained_shape, {key: str(value) for key, value in chosen.items()})
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        packed = pack(corpus(size.learnt), words, folder / "data", source="made")
        files.write_json(folder / runs.RECIPE, recipe.to_dict())
        words.save(folder / runs.TOKENIZER)
        rows = Rows(packed, size.context, size.batch, recipe.seed)
        train_run(Run(recipe, folder, rows, list(corpus(size.learnt)[:8]), words, {}), World())
        shares = [record["waiting_share"] for record in runs.read_metrics(folder)]
    found = mean_interval(shares)
    return Measured(float(found.estimate), max(0.0, float(found.low)), float(found.high), len(shares))


BENCHMARKS = (
    Benchmark(
        "waiting",
        "share of a training run spent waiting for data, 128x4, batch 16 x 256 tokens",
        "the time of its steps",
        Target(0.02, at_most=True),
        _run,
        unit="",
    ),
)
