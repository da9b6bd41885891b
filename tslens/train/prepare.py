"""From a recipe to a run that can be trained: stories, tokenizer, packed data, folder."""

import contextlib
import shutil
from pathlib import Path

from tslens import checkpoints, models
from tslens.stories import Stories, stories
from tslens.stories.pack import Packed, pack
from tslens.tokenizer import Tokenizer
from tslens.train.data import Rows
from tslens.train.loop import Run
from tslens.train.recipe import DataSettings, Recipe, from_dict


def prepare(recipe: Recipe, name: str | None = None, *, overwrite: bool = False, progress: bool = True) -> Run:
    """A new run in `runs/<name>`: trains the tokenizer, packs the training split, reads the validation stories.

    ValueError if the run exists (unless `overwrite`), the name would leave the folder, or there are too few stories.
    """
    folder = checkpoints.run_folder(name or recipe.name)
    if folder.exists():
        if not overwrite:
            raise ValueError(
                f"{folder} exists. To go on with it: tslens train --resume {folder.name}. "
                "To start again: --overwrite, or --name for another."
            )
        shutil.rmtree(folder)
    training = _stories(recipe.data, "train", recipe.data.limit)
    tokenizer = _tokenizer(recipe.data, training)
    recipe.spec(tokenizer.size)  # refuse a wrong shape before anything is written
    try:
        packed = pack(training, tokenizer, folder / "data", source=training.name, progress=progress)
        run = _run(recipe, folder, packed, tokenizer)
        tokenizer.save(folder / checkpoints.TOKENIZER)
        checkpoints.write_json(folder / "recipe.json", recipe.to_dict())
    except ValueError:
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            folder.parent.rmdir()  # `runs`, where it holds nothing
        raise
    return run


def resume(name: str) -> Run:
    """The run in `runs/<name>` as it was prepared; its recipe, tokenizer and data are read from its folder."""
    folder = checkpoints.run_folder(name)
    if not (folder / "recipe.json").is_file():
        known = sorted(p.parent.name for p in checkpoints.root().glob("*/recipe.json"))
        near = models.did_you_mean(name, known)
        raise ValueError(f"no run is called {name!r}.{near} Runs here: {', '.join(known) or 'none'}.")
    recipe = from_dict(checkpoints.read_json(folder / "recipe.json"), origin=f"{folder}/recipe.json")
    tokenizer = Tokenizer.load(folder / checkpoints.TOKENIZER)
    return _run(recipe, folder, Packed.open(folder / "data", tokenizer), tokenizer)


def _run(recipe: Recipe, folder: Path, packed: Packed, tokenizer: Tokenizer) -> Run:
    context = recipe.spec(tokenizer.size).n_ctx
    rows = Rows(packed, context, recipe.train.batch, recipe.seed)
    validation = list(_stories(recipe.data, "validation", recipe.train.validation_stories))
    facts = {
        "source": recipe.data.source,
        "training_stories": packed.n_stories,
        "training_tokens": packed.n_tokens,
        "training_bytes": packed.n_bytes,
        "validation_stories": len(validation),
        "longer_than_context": rows.longer_than_context,
        "tokens_per_epoch": rows.steps_per_epoch * recipe.train.batch * context,
    }
    return Run(recipe, folder, rows, validation, tokenizer, facts)


def _stories(data: DataSettings, split: str, limit: int | None) -> Stories:
    if "@" in data.source:  # a dataset that brings its own splits
        return stories(data.source if split == "train" else _own_validation(data.source), limit=limit, seed=data.seed)
    return stories(data.source, split="train" if split == "train" else "validation", limit=limit, seed=data.seed)


def _own_validation(source: str) -> str:
    return source.rpartition("@")[0] + "@validation"


def _tokenizer(data: DataSettings, training: Stories) -> Tokenizer:
    if data.tokenizer is None:
        return Tokenizer.train(training, data.vocabulary)
    if Path(data.tokenizer).is_file():
        return Tokenizer.load(data.tokenizer)
    return models.tokenizer_of(models.load(data.tokenizer))
