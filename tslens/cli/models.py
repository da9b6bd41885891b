"""The commands that list models, generate stories and measure a model's loss."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from tslens.cli.delivery import print_json
from tslens.cli.options import Json, Limit, LossStories, Model, Precision, corpus_of
from tslens.errors import InputError
from tslens.paths import as_text as path_text
from tslens.tables import as_text, filled


def list_models(*, json_: Json = False) -> None:
    """List the models that can be loaded by name: the runs of this folder and those that come with tslens.

    Besides these, every command takes the path of a run or checkpoint, `llama2c:FILE[,TOKENIZER]`, and
    `hf:FOLDER_OR_HUB_ID`.
    """
    from tslens import models, runs
    from tslens.train.runs_table import misplaced

    bundled, trained, broken = models.bundled(), runs.by_name(), misplaced()
    rows = [_row(name, at, hides=name in trained and name in bundled) for name, at in (bundled | trained).items()]
    rows += [_row(name, runs.root() / name, hides=False) | {"why": f"broken: {why}"} for name, why in broken.items()]
    if json_:
        print_json(rows, indent=1)
        return
    import pandas as pd

    table = pd.DataFrame(rows)
    if not any(row["why"] for row in rows):
        del table["why"]
    whole = [column for column in ("parameters", "vocabulary", "context") if column in table]
    table[whole] = table[whole].astype("Int64")  # whole numbers where a broken model has none
    print(as_text(table, missing="-"))
    also = "Also: a run's path, llama2c:FILE[,TOKENIZER], hf:FOLDER_OR_HUB_ID. To train one: tslens train 256x8"
    print("", filled(also), sep="\n")


def _row(name: str, folder: Path, *, hides: bool) -> dict[str, Any]:
    """The facts about a model that need no loading; for one that cannot be loaded, the reason."""
    from tslens import models, runs

    row: dict[str, Any] = dict.fromkeys(
        ("name", "shape", "style", "parameters", "vocabulary", "context", "nats_per_token", "bits_per_byte", "folder")
    )
    row |= {"name": name, "folder": path_text(folder), "why": "a run, in front of the bundled model" if hides else ""}
    try:
        config = runs.read_config(folder)
        spec = models.spec_from_config(config)
    except runs.BROKEN as error:
        return row | {"why": f"broken: {' '.join(str(error).split())}"}
    return row | {
        "shape": spec.name,
        "style": spec.style,
        "parameters": spec.n_parameters(),
        "vocabulary": spec.d_vocab,
        "context": spec.n_ctx,
        "nats_per_token": config.get("validation_loss"),
        "bits_per_byte": config.get("bits_per_byte"),
    }


def generate(
    *,
    model: Model,
    prompt: str = "",
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    beams: int = 1,
    max_new_tokens: int = 256,
    seed: int = 0,
    n: Annotated[int, Parameter(help="Number of stories.")] = 1,
    precision: Precision = "float32",
    json_: Json = False,
) -> None:
    """Print stories that a model writes.

    With --json each story comes with its index, its prompt, the settings, and why it ended. The seed is that of the
    batch: with the index it decides what is drawn, so the same seed and a larger --n begin with the same stories.

    Parameters
    ----------
    prompt
        The beginning of the stories; without it the model begins them.
    temperature
        0 is greedy.
    top_k
        Sample from this many of the likeliest tokens.
    top_p
        Sample from the likeliest tokens that together have this probability.
    beams
        Above 1: beam search with this many beams; needs --temperature 0.
    max_new_tokens
        Largest number of new tokens.
    seed
        Random seed; the same seed gives the same stories.
    """
    from tslens.generate import Sampling, generate_written
    from tslens.models import load
    from tslens.progress import stage

    how = Sampling(temperature=temperature, top_k=top_k, top_p=top_p, beams=beams, seed=seed)
    if n < 1:
        raise InputError(f"--n is {n}; ask for at least 1 story.")
    loaded = load(model)
    with stage("writing"):
        made = generate_written(loaded, prompt, n=n, max_new_tokens=max_new_tokens, sampling=how, precision=precision)
    if json_:
        settings = {"model": model, "max_new_tokens": max_new_tokens, "precision": precision} | asdict(how)
        return print_json([{"index": i} | asdict(one) | settings for i, one in enumerate(made)], indent=1)
    print("\n\n———\n\n".join(one.text for one in made))


def loss(
    *,
    model: Model,
    stories: LossStories = None,
    limit: Limit = 500,
    precision: Precision = "float32",
    json_: Json = False,
) -> None:
    """Print a model's loss on stories: nats per token, and bits per byte of the original text, with 95% intervals.

    Without --stories it is measured on the validation stories that its run kept. A model that has none needs --stories:
    the loss of a model on what it writes itself is only its entropy.
    """
    from tslens.evaluation.loss import loss as measure
    from tslens.forward import check_precision
    from tslens.models import load

    check_precision(precision)
    loaded = load(model)
    corpus = corpus_of(loaded, stories, limit, self_written=False)
    result = measure(loaded, corpus, precision=precision)
    if json_:
        print_json(result.to_json() | {"intervals": {p: result.interval(p) for p in ("tokens", "text_bytes")}})
        return
    print(filled(str(result)))
