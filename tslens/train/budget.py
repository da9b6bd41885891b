"""Estimate how much a recipe trains on: tokens, steps, and the size of its stories.

It reads only a few stories and uses no network: tokens are estimated from bytes.
"""

import dataclasses
import math
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from tslens import memory, models
from tslens.errors import InputError
from tslens.models import huggingface
from tslens.stories import MADE_COUNT, Source, stories
from tslens.tokenizer import Tokenizer
from tslens.train import batch_warmup
from tslens.train.recipe import Recipe
from tslens.train.settings import DataSettings

HUB = {"roneneldan/TinyStories": (2_119_719, 1_911_420_483)}
"""Stories and bytes of the training split of known datasets, because the hub is not asked."""
TRAINED_ON = 0.95  # of stories that are split by their hash
LEAST_BYTES = 12  # of a parameter in training, in fp32: weight, gradient, momentum
FEWEST_ROWS = 8  # of a batch that `fitted` chooses
# Measured on 14,167 real stories: bytes per token by the logarithm of the vocabulary, and how many tokens an epoch's
# rows hold for each token of the stories, by context over mean length. Rows repeat a story that the row before cut.
BYTES_PER_TOKEN = ((11, 12), (3.65, 3.96))
ROWS_HOLD = ((0, 0.57, 1.14, 1.42, 2.28, 4.55), (0, 0.57, 1.14, 1.34, 1.26, 1.15))


def token_budget(recipe: Recipe, size: int) -> tuple[int | None, int | None, str]:
    """Total steps and tokens with a vocabulary of this size, and their origin: chosen, or from the size of the
    stories."""
    train, context, smallest = recipe.train, recipe.spec(size).n_ctx, recipe.smallest_batch

    def tokens(steps: int) -> int:
        parts = batch_warmup.quarters_before(steps, train.batch_warmup) if train.batch_warmup else steps
        return parts * smallest * context

    if train.steps is not None:
        grows = f", fewer in the first {train.batch_warmup:,}," if train.batch_warmup else ""
        origin = f"{train.steps:,} steps of {train.batch} x {context}{grows} were chosen"
        return train.steps, tokens(train.steps), origin
    known = corpus_size(recipe.data)
    if known is None:
        return None, None, f"the size of {recipe.data.source} is not known before it is read; train.steps would fix it"
    count, n_bytes = known
    whole = n_bytes / float(np.interp(math.log2(size), *_line(*BYTES_PER_TOKEN)))
    rows = whole * float(np.interp(context / (whole / count), *ROWS_HOLD)) / context
    parts = math.ceil(rows / smallest)
    epoch = batch_warmup.steps_for(parts, train.batch_warmup) if train.batch_warmup else parts
    steps = max(1, round(train.epochs * epoch))
    epochs = f"{train.epochs:g} epoch{'s' if train.epochs != 1 else ''}"
    return steps, tokens(steps), f"about, from {n_bytes / 1e6:,.0f} MB of stories; {epochs}"


def fitted(recipe: Recipe) -> Recipe:
    """The recipe with its batch halved until its stories give `train.fewest_steps`, as far as is known before they are
    read; never below `FEWEST_ROWS`, nor to rows that the objective or a growing batch cannot part."""
    train, size = recipe.train, vocabulary_size(recipe.data)
    grain = recipe.group * (batch_warmup.QUARTERS if train.batch_warmup else 1)
    while train.steps is None and train.fewest_steps:
        steps, half = token_budget(recipe, size)[0], train.batch // 2
        if steps is None or steps >= train.fewest_steps or half < FEWEST_ROWS or train.batch % (2 * grain):
            break
        micro = None if train.micro_batch is None else min(train.micro_batch, half)
        train = dataclasses.replace(train, batch=half, micro_batch=micro)
        recipe = dataclasses.replace(recipe, train=train)
    return recipe


def check_memory(recipe: Recipe) -> None:
    """InputError if weights, gradients and the least that an optimizer keeps cannot fit into this machine's memory."""
    spec, has = recipe.shape(vocabulary_size(recipe.data)), memory.of_machine()
    if torch.version.cuda and torch.cuda.is_available():
        has = torch.cuda.get_device_properties(0).total_memory
    needs = LEAST_BYTES * sum(map(math.prod, spec.parameter_shapes().values()))
    if has is not None and needs > has:
        raise InputError(
            f"{recipe.name} takes at least {needs / 1e9:,.0f} GB for weights, gradients and optimizer; this machine "
            f"has {has / 1e9:,.0f} GB. Give a smaller shape, context or vocabulary."
        )


def check_row(recipe: Recipe) -> None:
    """InputError if one row of the context is longer than all the stories, as far as files tell: a token has at least
    a byte."""
    context, asked = recipe.spec(vocabulary_size(recipe.data)).n_ctx, stories(recipe.data.source)
    plain = [p for p in asked.sources if isinstance(p, Source) and p.n_bytes and p.path.suffix.lower() != ".parquet"]
    most = sum(part.n_bytes or 0 for part in plain)
    if len(plain) == len(asked.sources) and most <= context:
        raise InputError(
            f"{recipe.data.source} has {most:,} bytes, so fewer tokens than one row of {context + 1:,}. Give more "
            "stories or a shorter context."
        )


def _line(x: tuple[float, float], y: tuple[float, float]) -> tuple[list[float], list[float]]:
    """Linear extrapolation through two points."""
    slope = (y[1] - y[0]) / (x[1] - x[0])
    return [x[0] - 6, x[1] + 6], [y[0] - 6 * slope, y[1] + 6 * slope]


def corpus_size(data: DataSettings) -> tuple[float, float] | None:
    """Approximate number of training stories and their bytes; None if only the network could tell."""
    asked = stories(data.source, split=None if "@" in data.source else "train", limit=data.limit, seed=data.seed)
    found = [_part_size(part, data.seed) for part in asked.sources]
    if not all(found):
        return None
    share = 1.0 if "@" in data.source else TRAINED_ON
    count, size = (share * sum(part[i] for part in found if part) for i in (0, 1))
    fewer = 1.0 if data.limit is None else min(1.0, data.limit / count)
    if data.limit is not None and any(isinstance(part, str) for part in asked.sources):  # made, as many as asked for
        fewer = data.limit / count
    return count * fewer, size * fewer


def validation_stories(recipe: Recipe) -> int:
    """Number of validation stories: what the recipe asks for, or, of files, about as many as they hold."""
    asked, data = recipe.train.validation_stories, dataclasses.replace(recipe.data, limit=None)
    parts = [] if "@" in data.source else stories(data.source).sources
    files = bool(parts) and all(isinstance(part, Source) and part.n_bytes for part in parts)
    known = corpus_size(data) if files else None
    return asked if known is None else min(asked, math.ceil(known[0] * (1 / TRAINED_ON - 1)))


def _part_size(part: Source | str, seed: int) -> tuple[float, float] | None:
    if isinstance(part, Source) and part.n_bytes is None:
        return HUB.get(part.place)
    read = stories(part, limit=200, seed=seed) if isinstance(part, str) else part
    sample = [len(text.encode()) for text in islice(read, 200)]
    mean = sum(sample) / len(sample)
    size = MADE_COUNT * mean if isinstance(part, str) else float(part.n_bytes or 0)
    return size / mean, size


def vocabulary_size(data: DataSettings) -> int:
    """Number of tokens of the tokenizer, an upper bound if it is not trained yet."""
    known = named_tokenizer(data)
    return data.vocabulary if known is None else known.size


def named_tokenizer(data: DataSettings) -> Tokenizer | None:
    """The tokenizer that the recipe names, or None. Stories end with its BOS, which is packed before the next one."""
    if data.tokenizer is None:
        return None
    if Path(data.tokenizer).is_file():
        return Tokenizer.load(data.tokenizer)
    if data.tokenizer.startswith("hf:"):
        own = huggingface.tokenizer_in(data.tokenizer.removeprefix("hf:"))
    else:
        own = models.story_tokenizer_of(models.load(data.tokenizer))
    if own.bos_is_space:
        raise InputError(
            f"data.tokenizer={data.tokenizer} has no token that begins a story, only {own.bos_text!r}, which is also "
            "text: add a special token to it, and name it as its bos_token."
        )
    return Tokenizer(own.backend, own.bos_text)
