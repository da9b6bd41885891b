"""From a recipe to a run that can be trained: stories, tokenizer, packed data, folder."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from tslens import checkpoints, models
from tslens.stories import Stories, stories
from tslens.stories.pack import RECORD, Packed, pack
from tslens.tokenizer import Tokenizer
from tslens.train.data import Rows
from tslens.train.recipe import DataSettings, Recipe, from_dict
from tslens.train.run import Run

RECIPE = "recipe.json"


def prepare(recipe: Recipe, name: str | None = None, *, overwrite: bool = False, progress: bool = True) -> Run:
    """A new run in `runs/<name>`: trains the tokenizer, packs the training split, reads the validation stories.

    With `overwrite`, a run of that name goes once the new one is prepared, and stays if it cannot be. A packing that
    was stopped or killed can be gone on with by `resume`.
    ValueError if the run exists (unless `overwrite`), the name would leave the folder, or there are too few stories.
    """
    folder = checkpoints.run_folder(name or recipe.name)
    _recover(folder)
    if folder.exists() and not overwrite:
        raise ValueError(
            f"{folder} exists. To go on with it: tslens train --resume {folder.name}. "
            "To start again: --overwrite, or --name for another."
        )
    training = _stories(recipe.data, "train", recipe.data.limit)
    for split in (training, _stories(recipe.data, "validation", recipe.train.validation_stories)):
        next(iter(split))  # refuses a source without stories, and below a wrong shape, before anything is written
    tokenizer = _tokenizer(recipe.data, training)
    recipe.spec(tokenizer.size)
    with _replacing(folder):
        _write_choices(recipe, tokenizer, folder)
        return _run(recipe, folder, tokenizer, progress)


def resume(name: str, *, progress: bool = True) -> Run:
    """The run in `runs/<name>` as it was chosen: recipe, tokenizer and data are those of its folder.

    A packing that was stopped is gone on with. ValueError if there is no such run.
    """
    folder = checkpoints.run_folder(name)
    _recover(folder)
    if not (folder / RECIPE).is_file():
        known = sorted(p.parent.name for p in checkpoints.root().glob(f"*/{RECIPE}") if p.parent.name[0] != ".")
        near = models.did_you_mean(name, known)
        raise ValueError(f"no run is called {name!r}.{near} Runs here: {', '.join(known) or 'none'}.")
    recipe = from_dict(checkpoints.read_json(folder / RECIPE), origin=f"{folder}/{RECIPE}")
    run = _run(recipe, folder, Tokenizer.load(folder / checkpoints.TOKENIZER), progress)
    shutil.rmtree(_beside(folder, "old"), ignore_errors=True)
    return run


# The folder appears with its recipe and tokenizer in it, before the long work; the run it replaces waits beside it.


def _beside(folder: Path, what: str) -> Path:
    return folder.with_name(f".{folder.name}.{what}")


def _write_choices(recipe: Recipe, tokenizer: Tokenizer, folder: Path) -> None:
    scratch = _beside(folder, "new")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    tokenizer.save(scratch / checkpoints.TOKENIZER)
    checkpoints.write_json(scratch / RECIPE, recipe.to_dict())
    scratch.rename(folder)


@contextlib.contextmanager
def _replacing(folder: Path) -> Iterator[None]:
    """Within, the folder is to be made anew. On an error an older one comes back; without one, what was made is kept
    for `resume`, unless the error (ValueError) would only come again."""
    old = _beside(folder, "old")
    if old.exists():  # a kill cut an earlier replacement short
        shutil.rmtree(folder)
    elif folder.exists():
        folder.rename(old)
    try:
        yield
    except BaseException as error:
        shutil.rmtree(_beside(folder, "new"), ignore_errors=True)
        if old.exists() or isinstance(error, ValueError):
            shutil.rmtree(folder, ignore_errors=True)
        _recover(folder)
        with contextlib.suppress(OSError):
            folder.parent.rmdir()  # `runs`, where it holds nothing
        raise
    shutil.rmtree(old, ignore_errors=True)


def _recover(folder: Path) -> None:
    """Bring a replaced run back where none took its place."""
    if (old := _beside(folder, "old")).exists() and not folder.exists():
        old.rename(folder)


def _packed(recipe: Recipe, folder: Path, tokenizer: Tokenizer, progress: bool) -> Packed:
    """The training split in `folder`, packed now or to its end unless it is."""
    if (folder / RECORD).is_file() and checkpoints.read_json(folder / RECORD).get("finished"):
        return Packed.open(folder, tokenizer)
    training = _stories(recipe.data, "train", recipe.data.limit)
    return pack(training, tokenizer, folder, source=training.name, resume=True, progress=progress)


def _run(recipe: Recipe, folder: Path, tokenizer: Tokenizer, progress: bool) -> Run:
    packed = _packed(recipe, folder / "data", tokenizer, progress)
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
        "tokens_per_epoch": len(rows.epoch(0)[1]) * context,
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
