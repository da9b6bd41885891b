"""Prepare a run's folder: recipe, tokenizer, packed training stories, validation stories."""

import contextlib
import dataclasses
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from tslens import files, models, progress, runs
from tslens.errors import InputError
from tslens.nearest import did_you_mean
from tslens.paths import is_file
from tslens.stories import Stories, stories
from tslens.stories.pack import pack
from tslens.stories.packed import RECORD, Packed, Record
from tslens.tokenizer import Tokenizer
from tslens.train import step, validation_stories
from tslens.train.batch_warmup import GrowingBatches
from tslens.train.budget import check_memory, fitted, named_tokenizer
from tslens.train.data import Batches
from tslens.train.recipe import Recipe, changed, from_dict
from tslens.train.run import CHANGEABLE, Run, differences

RECIPE, VALIDATION = runs.RECIPE, "validation.jsonl"


def create_run(recipe: Recipe, folder: Path, *, overwrite: bool = False) -> Run:
    """Make a new run in this folder: train the tokenizer, pack the training split, keep the validation stories.

    The caller holds the folder's lock. With `overwrite`, a run of that name is removed once the new one is prepared,
    and stays if preparation fails. `reopen_run` finishes a packing that was stopped or killed.

    InputError if the run exists (unless `overwrite`) or would hide a bundled model, if there are too few stories, or if
    the recipe compiles steps and this machine cannot, or its memory cannot hold the model.
    """
    step.check_compiler(recipe)
    _recover(folder)
    _check_free(folder, overwrite)
    asked, recipe = recipe, fitted(recipe)
    if recipe != asked:
        progress.note(
            f"train.batch is {recipe.train.batch} here, not {asked.train.batch}: at that these stories would give "
            f"fewer than {asked.train.fewest_steps} steps (train.fewest_steps; 0 keeps the batch)."
        )
    check_memory(recipe)
    training = _stories(recipe, "train", recipe.data.limit)
    # Refuses a source without instructions or stories, and below a wrong shape, before anything is written.
    recipe.objective.check_stories(training)
    for split in (training, _stories(recipe, "validation", recipe.train.validation_stories)):
        next(iter(split))
    tokenizer = named_tokenizer(recipe.data)
    if tokenizer is None:
        tokenizer = Tokenizer.train(progress.track(training, "training the tokenizer"), recipe.data.vocabulary)
    recipe.shape(tokenizer.size)
    judged = _stories(recipe, "validation", recipe.train.validation_stories)
    recipe.objective.check_context(judged, tokenizer, recipe.spec(tokenizer.size).n_ctx)
    with _replacing(folder):
        _write_choices(recipe, tokenizer, folder)
        run = _run(recipe, folder, tokenizer)
        if (grows := recipe.train.batch_warmup) and grows >= run.steps:
            raise InputError(
                f"train.batch_warmup is {grows} steps, of a run of {run.steps}: its batch would never reach full size. "
                "Give fewer."
            )
        return run


def _check_free(folder: Path, overwrite: bool) -> None:
    """InputError if a new run may not use this folder."""
    if folder.name in models.bundled():
        raise InputError(
            f"{folder.name} is a model of tslens, and a run of that name would hide it. Choose another --name."
        )
    if folder.exists() and not overwrite:
        raise InputError(
            f"{folder} exists. To resume it: tslens train --resume {folder.name}. "
            "To start again: --overwrite, or --name for another."
        )
    if folder.exists() and not any((folder / file).is_file() for file in (RECIPE, runs.CONFIG)):
        raise InputError(f"{folder} is no run and is not replaced. Choose another --name, or move it away.")


def reopen_run(
    folder: Path,
    changes: Mapping[str, str] | None = None,
    *,
    recipe: Recipe | None = None,
    check: bool = False,
) -> Run:
    """Reopen the run in this folder, with the recipe, tokenizer and data of the folder.

    The caller holds the folder's lock. `changes` are new settings for a diverging loss. A `recipe` must be the run's
    own, and `changes` may then also contain the settings that the run was started with. A stopped packing is finished;
    the source is read only for that. With `check` the packed stories are read once and compared with their hashes.

    InputError if there is no such run, if its data were altered, or for changes that would make it another run.
    """
    _recover(folder)
    if not is_file(folder / RECIPE, runs.RESTORE):
        known = sorted(p.parent.name for p in folder.parent.glob(f"*/{RECIPE}") if p.parent.name[0] != ".")
        near = did_you_mean(folder.name, known)
        raise InputError(f"no run is called {folder.name!r}.{near} Runs here: {', '.join(known) or 'none'}.")
    own = from_dict(files.read_json(folder / RECIPE), origin=f"{folder}/{RECIPE}")
    if recipe is not None:
        _check_same_recipe(folder, recipe, own)
        changes = {key: text for key, text in (changes or {}).items() if key in CHANGEABLE}
    if changes:
        if other := [key for key in changes if key not in CHANGEABLE]:
            raise InputError(
                f"{other[0]} cannot be changed in a run that is resumed, only {', '.join(CHANGEABLE)}. "
                "Train again under another --name."
            )
        own = changed(own, dict(changes))
        files.write_json(folder / RECIPE, own.to_dict())
    _check_same_tokenizer(folder)
    run = _run(own, folder, Tokenizer.load(folder / runs.TOKENIZER), check)
    shutil.rmtree(_beside(folder, "old"), ignore_errors=True)
    return run


def _check_same_tokenizer(folder: Path) -> None:
    """InputError, before the tokenizer's file is parsed, where its hash is not the one in the newest checkpoint."""
    for place in runs.steps(folder / "checkpoints"):
        with contextlib.suppress(*runs.BROKEN):
            recorded = runs.read_config(place).get("tokenizer_sha256")
            break
    else:
        return
    if recorded not in (None, files.sha256(folder / runs.TOKENIZER)):
        raise InputError(
            f"{folder} was trained with another tokenizer until its last checkpoint: {runs.TOKENIZER} has another "
            "hash. Restore that one, or train again under another --name."
        )


def _check_same_recipe(folder: Path, recipe: Recipe, own: Recipe) -> None:
    if recipe.train.fewest_steps and recipe.train.fewest_steps == own.train.fewest_steps:  # the run chose its batch
        train = dataclasses.replace(recipe.train, batch=own.train.batch, micro_batch=own.train.micro_batch)
        recipe = dataclasses.replace(recipe, train=train)
    if found := differences(recipe.to_dict(), own.to_dict(), "here", "in the run"):
        raise InputError(
            f"{folder} was started with another recipe: {found}. Leave the recipe out to resume with the run's own, or "
            "train again under another --name."
        )


# The folder appears with its recipe and tokenizer in it, before the long work; the run it replaces waits beside it.


def _beside(folder: Path, what: str) -> Path:
    return folder.with_name(f".{folder.name}.{what}")


def _write_choices(recipe: Recipe, tokenizer: Tokenizer, folder: Path) -> None:
    files.sweep(folder.parent, folder.name)
    with files.atomic_folder(folder) as scratch:
        tokenizer.save(scratch / runs.TOKENIZER)
        files.write_json(scratch / RECIPE, recipe.to_dict())


@contextlib.contextmanager
def _replacing(folder: Path) -> Iterator[None]:
    """Replace the folder by what the block makes. On an error an older run is restored; without one, the new files are
    kept for resuming, unless the error would recur (InputError)."""
    old = _beside(folder, "old")
    if old.exists():  # a kill cut an earlier replacement short
        shutil.rmtree(folder)
    elif folder.exists():
        folder.rename(old)
    try:
        yield
    except BaseException as error:
        if old.exists() or isinstance(error, InputError):
            shutil.rmtree(folder, ignore_errors=True)
        _recover(folder)
        with contextlib.suppress(OSError):
            folder.parent.rmdir()  # `runs`, where it holds nothing
        raise
    shutil.rmtree(old, ignore_errors=True)


def _recover(folder: Path) -> None:
    """Restore a replaced run if no new run took its place."""
    if (old := _beside(folder, "old")).exists() and not folder.exists():
        old.rename(folder)


def _rows(recipe: Recipe, folder: Path, tokenizer: Tokenizer, check: bool) -> Batches:
    """The training split in rows, packed as the objective needs it."""

    def packed(choose: Callable[[Iterable[str]], Iterable[str]], part: str = "") -> Packed:
        """The stories as packed in the folder; packs them, or finishes the packing, if necessary."""
        place = folder / part
        if (record := Record.read(place)) is not None and record.finished:
            return Packed.open(place, tokenizer, check=check)
        training = _stories(recipe, "train", recipe.data.limit)
        return pack(choose(training), tokenizer, place, source=training.name, resume=True)

    return recipe.objective.rows(
        packed,
        context=recipe.spec(tokenizer.size).n_ctx,
        rows_per_step=recipe.smallest_batch,
        seed=recipe.seed,
        story_seed=recipe.data.seed,
    )


def _run(recipe: Recipe, folder: Path, tokenizer: Tokenizer, check: bool = False) -> Run:
    rows = _rows(recipe, folder / "data", tokenizer, check)
    if warmup := recipe.train.batch_warmup:
        rows = GrowingBatches(rows, warmup)
    validation = _validation(recipe, folder)
    facts = {"source": recipe.data.source, "validation_stories": len(validation)} | rows.facts()
    facts["read_from"] = os.path.relpath(Path.cwd(), folder)  # where a relative source is found again
    facts["digests"] = _digests(folder / "data", validation)
    return Run(recipe, folder, rows, validation, tokenizer, facts)


def _validation(recipe: Recipe, folder: Path) -> list[str]:
    """The validation stories; the folder keeps them once they were read."""
    place = folder / "data"
    if is_file(place / VALIDATION, runs.RESTORE):
        return validation_stories.read(place / VALIDATION)
    found = list(_stories(recipe, "validation", recipe.train.validation_stories))
    validation_stories.write(place / VALIDATION, found)
    return found


def _digests(packed: Path, validation: list[str]) -> dict[str, str]:
    """Digests by which a resumed run recognises its stories."""
    records = {place.parent: Record.read(place.parent) for place in packed.rglob(RECORD)}
    found = {str(place.relative_to(packed)): record.digest for place, record in records.items() if record}
    return dict(sorted(found.items())) | {"validation": validation_stories.digest(validation)}


def _stories(recipe: Recipe, split: str, limit: int | None) -> Stories:
    data = recipe.data
    if "@" in data.source:  # a dataset that brings its own splits
        found = stories(data.source if split == "train" else _own_validation(data.source), limit=limit, seed=data.seed)
    else:
        found = stories(data.source, split="train" if split == "train" else "validation", limit=limit, seed=data.seed)
    return dataclasses.replace(found, keep=recipe.objective.keeps(split))


def _own_validation(source: str) -> str:
    """Each named source with the split `validation`: same dataset, configuration and column."""
    return re.sub(r"(@(?:[^,:]*/)?)[^,:/]*", r"\1validation", source)
