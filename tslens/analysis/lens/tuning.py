"""The translators of a tuned lens: the closed form, then gradient descent where it helps."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from tslens import forward
from tslens.analysis.lens.lenses import Lenses
from tslens.analysis.lens.reducer import predicted_rows
from tslens.analysis.lens.ridge import CHECK, Translators, is_check
from tslens.analysis.lens.translators import CLOSED, IDENTITY, TUNED, TranslatorsResult
from tslens.analysis.lens.unembedding import ROWS, FinalPrediction, Unembedding, hooks
from tslens.draws import check_seed
from tslens.errors import InputError
from tslens.gradients import gradients
from tslens.models import spec_of, story_tokenizer_of
from tslens.progress import bar
from tslens.result import read_on
from tslens.scan import Batch, batches, scan
from tslens.stories.identity import content_hash

if TYPE_CHECKING:
    from tslens.models import LanguageModel

STEPS = 300
STEP_TOKENS = 1024  # tokens of one step, padding included
RATE = 3e-3
MANY, EVERY = 100, 4  # of so many check stories one position in four is read, which is enough to tell the two apart


def translators(
    model: "LanguageModel",
    stories: Iterable[str],
    *,
    steps: int = STEPS,
    seed: int = 0,
    ridge: float | None = None,
    context: int | None = None,
    precision: str = "float32",
) -> TranslatorsResult:
    """The tuned lens of a model (see `TranslatorsResult`), fitted on stories: the same for the same stories in any
    order, up to rounding, and the same seed. `steps=0` leaves the closed form.

    Raises:
        InputError: too few stories to fit on and to check on, or a penalty that is not above 0.
    """
    check_seed(seed)
    if steps < 0:
        raise InputError(f"steps={steps} is no number of steps; give 0 for the closed form alone, or more.")
    texts = sorted(stories, key=content_hash)
    hashes = torch.tensor([content_hash(text) for text in texts], dtype=torch.int64)
    chosen = is_check(hashes).tolist()
    check, fit = ([text for text, checks in zip(texts, chosen, strict=True) if checks is one] for one in (True, False))
    if not check or not fit:
        raise InputError(
            f"{len(texts)} stories are too few for a tuned lens: one in {CHECK}, by the hash of its text, checks it, "
            "and of both kinds one is needed. Give 50 or more."
        )
    closed = scan(model, texts, Translators(ridge), context=context, precision=precision)
    tuned = _descend(model, closed, fit, steps, seed, context, precision) if steps else closed
    asked = {name: _judged(each) for name, each in ((CLOSED, closed), (TUNED, tuned))}
    lenses = Lenses(asked, every=EVERY if len(check) >= MANY else 1)
    judged = scan(model, check, lenses, context=context, precision=precision)
    better = judged.gain_low[1] > 0
    names = [TUNED if chosen else CLOSED for chosen in better.tolist()]
    result = dataclasses.replace(
        closed,
        weight=torch.where(better[:, None, None], tuned.weight, closed.weight),
        bias=torch.where(better[:, None], tuned.bias, closed.bias),
        closed_kl=judged.kl[0],
        tuned_kl=judged.kl[1] if steps else closed.tuned_kl,
        gain_low=judged.gain_low[1] if steps else closed.gain_low,
        gain_high=judged.gain_high[1] if steps else closed.gain_high,
        how=[*names[:-1], IDENTITY],
        steps=steps,
        seed=seed,
    )
    described: TranslatorsResult = read_on(result, stories)
    return described


def _judged(lens: TranslatorsResult) -> TranslatorsResult:
    """The same translators, which the check stories may judge: neither stage learnt from these."""
    return dataclasses.replace(lens, story_hashes=lens.story_hashes[~is_check(lens.story_hashes)])


@gradients()
def _descend(
    model: "LanguageModel",
    closed: TranslatorsResult,
    texts: Sequence[str],
    steps: int,
    seed: int,
    context: int | None,
    precision: str,
) -> TranslatorsResult:
    """The translators after `steps` of Adam (Kingma and Ba 2015, arXiv 1412.6980) on the KL divergence from the model's
    own prediction, over batches of the stories in random order."""
    spec, tokenizer, unembedding = spec_of(model), story_tokenizer_of(model), Unembedding.of(model)
    dtype, device = forward.resolve_dtype(precision, model), next(model.parameters()).device
    window = min(context or spec.n_ctx, spec.n_ctx)
    kept = list(batches(texts, tokenizer, context=window, batch_tokens=STEP_TOKENS))
    maps = [
        tuple(part[depth].to(device).clone().requires_grad_() for part in (closed.weight, closed.bias))
        for depth in range(spec.n_layers)
    ]
    steered = torch.optim.Adam(_rates(unembedding, maps, _rows(model, kept[0], dtype)))
    falling = torch.optim.lr_scheduler.LambdaLR(steered, lambda step: 1 - step / steps)
    generator, order = torch.Generator().manual_seed(seed), list[int]()
    with bar("tuned lens", steps) as shown:
        for _ in range(steps):
            order = order or torch.randperm(len(kept), generator=generator).tolist()
            loss = _backward(unembedding, maps, _rows(model, kept[order.pop()], dtype))
            steered.step()
            steered.zero_grad()
            falling.step()
            shown.advance(1, note=f"KL {loss:.3f}")
    weight, bias = closed.weight.clone(), closed.bias.clone()
    for depth, (a, b) in enumerate(maps):
        weight[depth], bias[depth] = a.detach().cpu(), b.detach().cpu()
    return dataclasses.replace(closed, weight=weight, bias=bias)


def _rows(model: "LanguageModel", batch: Batch, dtype: torch.dtype) -> list[Tensor]:
    """The residuals of every depth where a next token is predicted."""
    names = hooks(spec_of(model))
    with torch.no_grad():
        found = forward.activations(model, batch.tokens.to(next(model.parameters()).device), names, dtype=dtype)
    return predicted_rows(found, names, batch)[0]


def _rates(
    unembedding: Unembedding, maps: Sequence[tuple[Tensor, ...]], rows: Sequence[Tensor]
) -> list[dict[str, Any]]:
    """The parameters with their learning rates: equal ones for residuals of unit scale, as the median token's is."""
    scales = [float(unembedding.scale(residual).median()) for residual in rows]
    groups: list[dict[str, Any]] = []
    for (a, b), scale in zip(maps, scales[:-1], strict=True):
        groups += [{"params": [a], "lr": RATE * scales[-1] / scale}, {"params": [b], "lr": RATE * scales[-1]}]
    return groups


def _backward(unembedding: Unembedding, maps: Sequence[tuple[Tensor, ...]], rows: Sequence[Tensor]) -> float:
    """Add the gradients of each depth's mean KL divergence; returns their mean over depths, nats per token.

    The divergence's gradient at a logit is the difference of the two probabilities, so at a normed residual it is that
    of two means of the unembedding's columns, and logits are written once.
    """
    n, total = len(rows[-1]), 0.0
    for start in range(0, n, ROWS):
        part = slice(start, start + ROWS)
        reference = FinalPrediction.of(unembedding, rows[-1][part])
        for (a, b), residual in zip(maps, rows, strict=False):
            h = unembedding.readable(residual[part])
            normed = unembedding.normed(h + h @ a + b)
            with torch.no_grad():
                logits = unembedding.logits(normed)
                highest, mean = logits.amax(-1, keepdim=True), reference.mean_logit(normed, logits)
                exponentials = (logits - highest).exp_()
                z = exponentials.sum(-1, keepdim=True)
                slope = reference.slope(logits, exponentials, z)
                kl = reference.own + (highest + z.log())[:, 0] - mean
            normed.backward(slope / n)
            total += float(kl.sum()) / n
    return total / len(maps)
