"""Log-probability of lines of tokens under a model, batched by length."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from tslens import forward, progress
from tslens.models import LanguageModel, spec_of, tokenizer_of


def log_probabilities(
    model: LanguageModel,
    lines: Sequence[Sequence[int]],
    starts: Sequence[int],
    *,
    precision: str = "float32",
    batch_tokens: int = 1024,
    what: str = "lines",
) -> Float[Tensor, " line"]:
    """Summed log-probability of each line's tokens from its start on (1 or later), in nats, in double precision.
    Batches as those of `token_log_probabilities`."""
    found = token_log_probabilities(model, lines, precision=precision, batch_tokens=batch_tokens, what=what)
    sums = [row[start - 1 :].sum() for row, start in zip(found, starts, strict=True)]
    return torch.stack(sums) if sums else torch.zeros(0, dtype=torch.float64)


def token_log_probabilities(
    model: LanguageModel,
    lines: Sequence[Sequence[int]],
    *,
    precision: str = "float32",
    batch_tokens: int = 1024,
    what: str = "lines",
    ends: Sequence[int] = (),
) -> list[Float[Tensor, " token"]]:
    """The log-probability of each token of every line after the first, in nats, in double precision; `ends` as in
    `forward.token_losses`.

    Lines of like length are read together, `batch_tokens` with their padding at a time.
    """
    dtype, device = forward.resolve_dtype(precision, model), next(model.parameters()).device
    found = {i: torch.zeros(0, dtype=torch.float64) for i, line in enumerate(lines) if len(line) < 2}
    for group in progress.track(list(_batches(lines, batch_tokens)), what):
        tokens = torch.zeros(len(group), len(lines[group[-1]]), dtype=torch.long)
        for place, i in enumerate(group):
            tokens[place, : len(lines[i])] = torch.tensor(lines[i])
        read = -forward.token_losses(model, tokens.to(device), dtype=dtype, ends=ends).cpu().double()
        found |= {i: read[place, : len(lines[i]) - 1] for place, i in enumerate(group)}
    return [found[i] for i in range(len(lines))]


def ending_log_probabilities(
    model: LanguageModel, begun: Sequence[tuple[str, str]], *, precision: str = "float32"
) -> list[float]:
    """The log-probability of each ending given its prompt, in nats; NaN for an empty ending, and where both together
    are longer than the model's context."""
    tokenizer, context = tokenizer_of(model), spec_of(model, compressors=True).n_ctx
    prompts = tokenizer.encode([prompt for prompt, _ in begun])
    wholes = tokenizer.encode([prompt + ending for prompt, ending in begun])
    chosen = [i for i, (_, ending) in enumerate(begun) if ending and len(wholes[i]) - 1 <= context]
    starts = [max(1, first_of_ending(prompts[i], wholes[i])) for i in chosen]
    rows = [wholes[i] for i in chosen]
    read = log_probabilities(model, rows, starts, precision=precision, what="true endings").tolist() if rows else []
    found = dict(zip(chosen, read, strict=True))
    return [found.get(i, float("nan")) for i in range(len(begun))]


def first_of_ending(prompt: Sequence[int], whole: Sequence[int]) -> int:
    """The index of an ending's first token: the first that differs from those of the prompt alone."""
    return next((i for i, (a, b) in enumerate(zip(prompt, whole, strict=False)) if a != b), len(prompt))


def _batches(lines: Sequence[Sequence[int]], batch_tokens: int) -> list[list[int]]:
    """The places of lines of two tokens or more in groups of like length, the longest line of each last."""
    groups: list[list[int]] = [[]]
    for i in sorted((i for i, line in enumerate(lines) if len(line) > 1), key=lambda i: len(lines[i])):
        if groups[-1] and len(lines[i]) * (len(groups[-1]) + 1) > batch_tokens:
            groups.append([])
        groups[-1].append(i)
    return [group for group in groups if group]
