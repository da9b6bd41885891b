"""The commands that let models write for evaluation, and measure what that costs."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tslens.cli.delivery import delivery
from tslens.cli.options import Json, Models, Precision, given_once, told_apart
from tslens.errors import InputError

if TYPE_CHECKING:
    from tslens.evaluation.writing import StoryPrompt, WritingResult, WritingSettings
    from tslens.models import LanguageModel


Prompts = Annotated[
    str,
    Parameter(
        help="A .txt with one prompt a line, a .jsonl or .csv with a column `prompt` (and perhaps `ending`), a suite, "
        "or a TOML file with a list `beginnings`. With --cut: a source of stories."
    ),
]
Cut = Annotated[
    float | None,
    Parameter(
        help="Cut each story of --prompts after this share of its words, such as 0.5; the rest is its true ending."
    ),
]
Store = Annotated[Path | None, Parameter(help="The folder that keeps completions. Default: in tslens's cache.")]


def write(
    *,
    model: Models = None,
    prompts: Prompts,
    cut: Cut = None,
    limit: Annotated[int | None, Parameter(help="Largest number of prompts.")] = None,
    n: int = 10,
    temperature: float = 1.0,
    beams: int = 5,
    limit_tokens: int = 200,
    seed: int = 0,
    out: Path | None = None,
    store: Store = None,
    precision: Precision = "float32",
    json_: Json = False,
) -> None:
    """Let models complete prompts, and measure each text by itself: length, end of the story, repetition, faults.

    Every completion is kept as soon as it is written, and never written twice: a run that was stopped goes on.

    Parameters
    ----------
    n
        Sampled completions of each prompt.
    temperature
        Of the samples; 0 is greedy.
    beams
        Beams of one more completion of each prompt, by beam search; 0 for none.
    limit_tokens
        Largest number of new tokens of a completion.
    seed
        Of the samples.
    out
        A folder for completions.jsonl, side-by-side.csv (a prompt a row, a model a column), the figure (SVG), the table
        (CSV) and the whole answer.
    """
    from tslens.evaluation import writing

    if not model:
        raise InputError("give --model, the models that write; `tslens models` lists the known ones.")
    settings = writing.WritingSettings(n, temperature, beams, limit_tokens, seed, precision)
    settings.samplings()
    found = writing.prompts_of(prompts, cut=cut, limit=limit)
    with delivery(out, json_) as deliver:
        answer = written(model, found, settings, store)
        if deliver.folder is not None:
            answer.write_jsonl(deliver.folder / "completions.jsonl")
            answer.side_by_side().to_csv(deliver.folder / "side-by-side.csv", index=False)
        deliver(answer)


def written(
    names: list[str], found: "list[StoryPrompt]", settings: "WritingSettings", store: Path | None
) -> "WritingResult":
    """What the models write after the prompts, kept in the store, by default the cache's."""
    from tslens.evaluation import writing
    from tslens.files import cache

    place = cache() / writing.STORE if store is None else store
    given_once(names)
    try:
        answer = writing.write(_loaded(names), found, settings, place)
        return replace(answer, models=told_apart(names, answer.models))
    except KeyboardInterrupt:
        kept = f"interrupted; what was written is kept in {place}, and the same command goes on from there"
        raise KeyboardInterrupt(kept) from None


def cost(
    *,
    model: Models = None,
    shape: list[str] | None = None,
    batch: list[int] | None = None,
    tokens: int = 200,
    repeats: int = 5,
    vocabulary: int = 4096,
    out: Path | None = None,
    precision: Precision = "float32",
    json_: Json = False,
) -> None:
    """Measure the seconds and floating-point operations of a story, of models and of the shapes of GPT-2's sizes.

    A shape has random weights, and is called so. Of a large one a few tokens of a few layers are timed, and the rest is
    in proportion.

    Parameters
    ----------
    shape
        A shape such as 256x8, or gpt2, gpt2-medium or gpt2-xl; may be repeated. Default: those three.
    batch
        Stories written at a time; may be repeated. Default: 1 and 64.
    tokens
        Of a story.
    repeats
        Of each measurement, for the interval.
    vocabulary
        Tokens that a shape such as 256x8 knows, such as the 50257 of the published ones; GPT-2's have theirs.
    out
        A folder for the figure (SVG), the table (CSV) and the whole answer.
    """
    from tslens.evaluation.writing import cost as costs

    shapes = tuple(costs.GPT2) if shape is None else shape
    how: dict[str, Any] = {"batches": batch or (1, 64), "tokens": tokens, "repeats": repeats, "precision": precision}
    with delivery(out, json_) as deliver:
        deliver(costs.cost(_loaded(model or []), shapes, vocabulary=vocabulary, **how))


def _loaded(names: list[str]) -> "Iterator[LanguageModel]":
    """The models, one at a time in memory."""
    from tslens.models import load

    return (load(name) for name in names)
