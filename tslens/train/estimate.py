"""What would a recipe cost: parameters, operations, memory, tokens, and time on this machine?

Nothing is written and no network is used. Operations are counted, memory is counted on a step of the model itself,
speed is measured on a few steps; the number of tokens is estimated from the size of the stories.
"""

import dataclasses
import math
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tslens import forward, models
from tslens.bench.saved import saved_bytes
from tslens.stories import MADE_COUNT, Source, stories
from tslens.tokenizer import Tokenizer
from tslens.train import optimizer as optimizers
from tslens.train.data import Batch
from tslens.train.objectives.instruct import Instruct
from tslens.train.recipe import DataSettings, Recipe

PROBE = 4.0  # seconds that the timed steps may take, about
HUB = {"roneneldan/TinyStories": (2_119_719, 1_911_420_483)}
"""Stories and bytes of the training split, where the hub cannot be asked."""
TRAINED_ON = 0.95  # of stories that are split by their hash
# Measured on 14,167 real stories: bytes per token by the logarithm of the vocabulary, and how many tokens an epoch's
# rows hold for each token of the stories, by context over mean length. Rows repeat a story that the row before cut.
BYTES_PER_TOKEN = ((11, 12), (3.65, 3.96))
ROWS_HOLD = ((0, 0.57, 1.14, 1.42, 2.28, 4.55), (0, 0.57, 1.14, 1.34, 1.26, 1.15))


@dataclasses.dataclass(frozen=True)
class Estimate:
    """What training by a recipe takes; None where it cannot be known beforehand."""

    name: str
    shape: str
    parameters: int
    flops_per_token: int
    """Of training: forward and backward."""
    flops: int | None
    """In all."""
    weights_bytes: int
    gradient_bytes: int
    optimizer_bytes: int
    saved_bytes: int
    """What a piece of a batch keeps for its backward pass, `rows` rows of the context."""
    rows: int
    """Rows that are computed at a time."""
    steps: int | None
    tokens: int | None
    """In all, each as often as it is seen."""
    tokens_from: str
    """How they are known."""
    tokens_per_second: float
    optimizer_seconds: float
    """Of one step of the optimizer."""
    seconds: float | None
    """In all, without validation."""
    measured_on: str

    @property
    def bytes(self) -> int:
        """Weights, gradients, optimizer and what is saved for the backward pass, together."""
        return self.weights_bytes + self.gradient_bytes + self.optimizer_bytes + self.saved_bytes


def estimate(recipe: Recipe, watch: Callable[[str], None] = lambda text: None) -> Estimate:
    """The cost of a recipe; takes about ten seconds, and says through `watch` what it is doing.

    ValueError for a recipe that has no model, and for stories that are not there.
    """
    size = vocabulary(recipe.data)
    context = recipe.spec(size).n_ctx
    watch("reading some stories")
    steps, tokens, origin = length(recipe, size)
    watch("building the model")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model: Any = recipe.objective.build(recipe.spec(size), seed=recipe.seed, tokenizer=None)
    model.to(device, print_details=False)
    flops = models.flops_per_token(models.shape_of(model), training=True)
    trained = [p for p in model.parameters() if p.requires_grad]
    weights = sum(p.numel() * p.element_size() for p in trained)
    dtype = forward.precision(recipe.train.precision, device)

    group = recipe.group

    def loss(groups: int) -> torch.Tensor:
        rows = groups * group
        drawn = torch.randint(size, (rows, context + 1), generator=torch.Generator().manual_seed(0))
        all_count = torch.ones_like(drawn, dtype=torch.bool) if isinstance(recipe.objective, Instruct) else None
        batch = Batch(drawn, all_count, shuffled=torch.arange(rows) % group == group - 1, group=group)
        total, _ = recipe.objective(model, batch.apply(lambda t: t.to(device)), dtype, recipe.train.dropout)
        return total / batch.predictions

    rows = recipe.train.micro_batch or recipe.train.batch
    watch("counting what is saved for the backward pass")
    one, two = (saved_bytes(model, lambda n=n: loss(n)) for n in (1, 2))  # type: ignore[misc]
    watch("timing a few steps")
    speed, moving, state = _probe(recipe, model, loss, rows // group, group * context)
    seconds = None if steps is None or tokens is None else tokens / speed + steps * moving
    return Estimate(
        name=recipe.name,
        shape=recipe.shape(size).name,
        parameters=sum(p.numel() for p in trained),
        flops_per_token=flops,
        flops=None if tokens is None else flops * tokens,
        weights_bytes=weights,
        gradient_bytes=weights,
        optimizer_bytes=state,
        saved_bytes=one + (two - one) * (rows // group - 1),
        rows=rows,
        steps=steps,
        tokens=tokens,
        tokens_from=origin,
        tokens_per_second=speed,
        optimizer_seconds=moving,
        seconds=seconds,
        measured_on=f"{torch.get_num_threads()} threads"
        if device.type == "cpu"
        else torch.cuda.get_device_name(device),
    )


def _probe(
    recipe: Recipe, model: Any, loss: Callable[[int], torch.Tensor], groups: int, tokens: int
) -> tuple[float, float, int]:
    """Tokens per second of forward and backward, seconds and bytes of state of the optimizer; fewer groups of `tokens`
    tokens where so many would take long."""
    optimizer = optimizers.make(model, recipe.optimizer)
    _seconds(lambda: loss(1).backward())  # unmeasured: kernels are chosen and memory is taken
    once = _seconds(lambda: loss(1).backward())
    affordable = max(1, min(groups, int(PROBE / 3 / once)))
    spent = min(_seconds(lambda: loss(affordable).backward()) for _ in range(3 if affordable > 1 else 1))
    spent = min(spent, once) if affordable == 1 else spent
    optimizer.step()
    moving = _seconds(optimizer.step)
    kept = [value for state in optimizer.state.values() for value in state.values()]
    return affordable * tokens / spent, moving, sum(t.numel() * t.element_size() for t in kept)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - began


def length(recipe: Recipe, size: int) -> tuple[int | None, int | None, str]:
    """Steps and tokens in all with a vocabulary of this size, and how they are known: chosen, or from the size of the
    stories."""
    context, batch = recipe.spec(size).n_ctx, recipe.train.batch
    saved = recipe.train.batch_warmup // 2  # batches that growing ones lack: they hold a half on average
    if (chosen := recipe.train.steps) is not None:
        return chosen, max(1, chosen - saved) * batch * context, f"{chosen:,} steps of {batch} x {context} were chosen"
    known = content(recipe.data)
    if known is None:
        return None, None, f"the size of {recipe.data.source} is not known before it is read; train.steps would fix it"
    count, n_bytes = known
    whole = n_bytes / float(np.interp(math.log2(size), *_line(*BYTES_PER_TOKEN)))
    rows = whole * float(np.interp(context / (whole / count), *ROWS_HOLD)) / context
    steps = max(1, round(recipe.train.epochs * math.ceil(rows / batch)))
    epochs = f"{recipe.train.epochs:g} epoch{'s' if recipe.train.epochs != 1 else ''}"
    return steps + saved, steps * batch * context, f"about, from {n_bytes / 1e6:,.0f} MB of stories; {epochs}"


def _line(x: tuple[float, float], y: tuple[float, float]) -> tuple[list[float], list[float]]:
    """Two points, and the straight line through them far beyond both."""
    slope = (y[1] - y[0]) / (x[1] - x[0])
    return [x[0] - 6, x[1] + 6], [y[0] - 6 * slope, y[1] + 6 * slope]


def content(data: DataSettings) -> tuple[float, float] | None:
    """About how many stories there are to train on, and their bytes; None where only the network could tell."""
    asked = stories(data.source, split=None if "@" in data.source else "train", limit=data.limit, seed=data.seed)
    found = [_content(part, data.seed) for part in asked.sources]
    if not all(found):
        return None
    share = 1.0 if "@" in data.source else TRAINED_ON
    count, size = (share * sum(part[i] for part in found if part) for i in (0, 1))
    fewer = 1.0 if data.limit is None else min(1.0, data.limit / count)
    if data.limit is not None and any(isinstance(part, str) for part in asked.sources):  # made, as many as asked for
        fewer = data.limit / count
    return count * fewer, size * fewer


def _content(part: Source | str, seed: int) -> tuple[float, float] | None:
    if isinstance(part, Source) and part.n_bytes is None:
        return HUB.get(part.place)
    read = stories(part, limit=200, seed=seed) if isinstance(part, str) else part
    sample = [len(text.encode()) for text in islice(read, 200)]
    mean = sum(sample) / len(sample)
    size = MADE_COUNT * mean if isinstance(part, str) else float(part.n_bytes or 0)
    return size / mean, size


def vocabulary(data: DataSettings) -> int:
    """How many tokens the tokenizer has, or will have at most."""
    if data.tokenizer is None:
        return data.vocabulary
    if Path(data.tokenizer).is_file():
        return Tokenizer.load(data.tokenizer).size
    return models.tokenizer_of(models.load(data.tokenizer)).size
