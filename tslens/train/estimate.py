"""Estimate what a recipe costs: parameters, operations, memory, tokens, and time on this machine.

It writes nothing and uses no network. Operations are counted; memory is counted on a step of the model itself (not
compiled); speed is measured on the parts of a training step (compiled and clipped as in training) and on the validation
of a few stories; the number of tokens is estimated from the size of the stories.
"""

import dataclasses
import math
import os
import time
from collections.abc import Callable
from functools import partial

import torch

from tslens import forward, models, progress
from tslens.errors import InputError
from tslens.forward.saved_bytes import saved_bytes
from tslens.gradients import gradients
from tslens.models import LanguageModel
from tslens.stories import Source, stories
from tslens.tokenizer import Tokenizer
from tslens.train import optimizer as optimizers
from tslens.train import precision
from tslens.train.budget import check_memory, check_row, fitted, named_tokenizer, token_budget, validation_stories
from tslens.train.data import TrainingBatch
from tslens.train.distributed import World
from tslens.train.recipe import Recipe
from tslens.train.step import StepLoss, move

PROBE = 4.0  # seconds that the timed steps may take, about
MOST_FLOPS = 2e13  # of the step that is timed, on a CPU: GPT-2's largest shape at its context takes fewer
SAMPLE = 16  # stories that are validated at most


@dataclasses.dataclass(frozen=True)
class Estimate:
    """The cost of training by a recipe; None for what cannot be known beforehand."""

    name: str
    shape: str
    source: str
    """The stories."""
    parameters: int
    flops_per_token: int
    """FLOPs per token of training: forward and backward."""
    flops: int | None
    """Total FLOPs."""
    weights_bytes: int
    gradient_bytes: int
    optimizer_bytes: int
    saved_bytes: int
    """Bytes that a piece of a batch, `rows` rows of the context, keeps for its backward pass."""
    rows: int
    """Rows that are computed at a time."""
    steps: int | None
    tokens: int | None
    """Total tokens, each as often as it is seen."""
    tokens_from: str
    """The origin of the number of tokens."""
    tokens_per_second: float
    """Of the fastest of the timed steps."""
    slowest_tokens_per_second: float
    optimizer_seconds: float
    """Seconds of one optimizer step, with the clipping of gradients."""
    validations: int | None
    validation_seconds: float
    """Seconds of one validation."""
    measured_on: str
    busy: float
    """Processes that wanted a processor in the last minute, per processor (the load average); 0 is an idle machine."""

    @property
    def seconds(self) -> float | None:
        """Total seconds at the speed of the fastest timed step, without checkpoints and compiling."""
        return self._seconds(self.tokens_per_second)

    @property
    def slowest_seconds(self) -> float | None:
        """The same at the speed of the slowest."""
        return self._seconds(self.slowest_tokens_per_second)

    def _seconds(self, speed: float) -> float | None:
        if self.steps is None or self.tokens is None or self.validations is None:
            return None
        moving, validating = self.steps * self.optimizer_seconds, self.validations * self.validation_seconds
        return self.tokens / speed + moving + validating

    @property
    def bytes(self) -> int:
        """Weights, gradients, optimizer and what is saved for the backward pass, together."""
        return self.weights_bytes + self.gradient_bytes + self.optimizer_bytes + self.saved_bytes


@gradients()
def estimate(recipe: Recipe) -> Estimate:
    """The cost of a recipe; takes about ten seconds, more if it is compiled.

    InputError for a recipe without a model, and for stories that are missing or unsuitable for its objective.
    """
    with progress.stage("reading some stories") as following:
        return _measured(recipe, following)


def _measured(recipe: Recipe, watch: Callable[[str], None]) -> Estimate:
    """The estimate; `watch` is called with the name of each measurement before it starts."""
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)  # before it works itself
    check_memory(recipe)
    check_row(recipe)
    recipe, sample = fitted(recipe), _sample(recipe)
    named = named_tokenizer(recipe.data)
    size = recipe.data.vocabulary if named is None else named.size
    tokenizer = named or Tokenizer.train(sample, size)
    steps, tokens, origin = token_budget(recipe, size)
    watch("building the model")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model: LanguageModel = recipe.objective.build(recipe.spec(size), seed=recipe.seed, tokenizer=tokenizer)
    model.to(device, print_details=False)
    flops = models.spec_of(model, compressors=True).flops_per_token(training=True)
    _check_probe(recipe.group * flops * recipe.spec(size).n_ctx, device)
    weights = sum(p.numel() * p.element_size() for p in _moved(model))
    rows = recipe.train.micro_batch or recipe.train.batch
    watch("counting what is saved for the backward pass")
    one, two = _saved(recipe, model, partial(_batch, recipe, size, device))
    watch("compiling and timing a few steps" if recipe.train.compile else "timing a few steps")
    (slowest, speed), moving, state = _probe(recipe, model, lambda groups: _batch(recipe, size, device, groups), rows)
    watch("timing a validation")
    some = sample[: max(1, int(PROBE / 3 * speed / models.spec_of(model, compressors=True).n_ctx))]
    return Estimate(
        name=recipe.name,
        source=recipe.data.source,
        shape=recipe.shape(size).name,
        parameters=sum(p.numel() for p in _moved(model)),
        flops_per_token=flops,
        flops=None if tokens is None else flops * tokens,
        weights_bytes=weights,
        gradient_bytes=weights,
        optimizer_bytes=state,
        saved_bytes=one + (two - one) * (rows // recipe.group - 1),
        rows=rows,
        steps=steps,
        tokens=tokens,
        tokens_from=origin,
        tokens_per_second=speed,
        slowest_tokens_per_second=slowest,
        optimizer_seconds=moving,
        validations=None if steps is None else math.ceil(steps / recipe.train.validate_every),
        validation_seconds=_validating(recipe, model, some) / len(some) * validation_stories(recipe),
        measured_on=f"{torch.get_num_threads()} threads"
        if device.type == "cpu"
        else torch.cuda.get_device_name(device),
        busy=busy,
    )


def _check_probe(flops: int, device: torch.device) -> None:
    """InputError if a group of rows takes so many operations that no probe of this machine ends soon."""
    if device.type == "cpu" and flops > MOST_FLOPS:
        raise InputError(
            f"a step of the fewest rows takes {flops:.2g} FLOPs, too many to be timed on a CPU (at most "
            f"{MOST_FLOPS:.0e}). Give a smaller shape or a shorter context."
        )


def _sample(recipe: Recipe) -> list[str]:
    """A few stories like the run's validation stories; generated ones if its own would need the network."""
    data = recipe.data
    own = stories(data.source, limit=SAMPLE, seed=data.seed)
    if any(isinstance(part, Source) and part.n_bytes is None for part in own.sources):
        own = stories(recipe.objective.made, limit=SAMPLE, seed=data.seed)
    return list(own)


def _batch(recipe: Recipe, size: int, device: torch.device, groups: int) -> TrainingBatch:
    """This many groups of rows of random tokens, as the objective takes them."""
    shape = groups * recipe.group, recipe.spec(size).n_ctx + 1
    drawn = torch.randint(size, shape, generator=torch.Generator().manual_seed(0))
    return recipe.objective.probe(drawn).apply(lambda t: t.to(device))


def _moved(model: LanguageModel) -> list[torch.nn.Parameter]:
    return [p for p in model.parameters() if p.requires_grad]


def _saved(recipe: Recipe, model: LanguageModel, batch: Callable[[int], TrainingBatch]) -> tuple[int, int]:
    """Bytes that one and two groups of rows keep; where one takes long, two are taken to keep twice as many."""
    dtype = forward.resolve_dtype(recipe.train.precision, model)

    def kept(groups: int) -> int:
        return saved_bytes(model, lambda: recipe.objective(model, batch(groups), dtype, recipe.train.dropout)[0])

    began = time.perf_counter()
    one = kept(1)
    return one, 2 * one if time.perf_counter() - began > PROBE else kept(2)


def _probe(
    recipe: Recipe, model: LanguageModel, batch: Callable[[int], TrainingBatch], rows: int
) -> tuple[tuple[float, float], float, int]:
    """Tokens per second of forward and backward, in the slowest and the fastest of three trials (of one, where it takes
    long), with `rows` rows at a time or fewer; seconds and bytes of state of the optimizer."""
    optimizer = optimizers.make(model, recipe.optimizer)
    chosen = precision.settle(recipe, model, World(), {})
    loss = StepLoss(model, recipe, precision.dtype_of(chosen))
    if "muon_precision" in chosen:
        optimizers.set_muon_dtype(optimizer, precision.dtype_of(chosen, "muon_precision"))

    def gradients(piece: TrainingBatch) -> None:
        (loss(piece)[0] / piece.predictions).backward()

    def moving() -> float:
        if not long:
            _seconds(lambda: gradients(piece))  # to its end, on a device too
        return _seconds(lambda: move(optimizer, _moved(model), recipe.optimizer.clip))

    piece = batch(1)
    once = _seconds(lambda: gradients(piece))  # kernels are chosen or compiled and memory is taken
    long = once > PROBE and not recipe.train.compile  # then it is the only measurement
    if not long:
        once = _seconds(lambda: gradients(piece))
    many = max(1, min(rows // recipe.group, int(PROBE / 3 / once)))
    spent = [once]
    if many > 1:
        whole = batch(many)
        spent = [_seconds(lambda: gradients(whole)) for _ in range(3)]
    if not long:
        moving()
    taken = moving()
    kept = [value for state in optimizer.state.values() for value in state.values()]
    predicted = many * piece.predictions
    return (predicted / max(spent), predicted / min(spent)), taken, sum(t.numel() * t.element_size() for t in kept)


def _validating(recipe: Recipe, model: LanguageModel, texts: list[str]) -> float:
    """Seconds that the objective takes to validate on these stories."""

    def validate(some: list[str]) -> None:
        recipe.objective.validate(model, some, precision=recipe.train.precision)

    validate(texts[:1])  # unmeasured, as above
    return _seconds(lambda: validate(texts))


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - began
