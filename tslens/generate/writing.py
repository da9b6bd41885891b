"""Generation: the continuation of prompts, sampled or by beam search."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from tslens import forward
from tslens.errors import InputError
from tslens.generate.beams import beam_search
from tslens.generate.cache import TransformerWriter, Writer
from tslens.generate.compressor import CompressorWriter
from tslens.generate.hooked import HookedWriter
from tslens.generate.sampling import Sampling, sample_token
from tslens.models import CompressorSpec, HookedSpec, Spec, spec_of, tokenizer_of

if TYPE_CHECKING:
    from tslens.models import LanguageModel


def generate_ids(
    model: "LanguageModel",
    prompts: Sequence[Sequence[int]],
    *,
    max_new_tokens: int = 256,
    sampling: Sampling | None = None,
    stop: int | None = None,
    precision: str = "float32",
) -> list[list[int]]:
    """The new tokens of each row, without the prompt and without the stop token.

    A row ends at `stop` (the tokenizer's end of story by default), after `max_new_tokens`, or where the model's
    context is full. InputError for an empty prompt or one that fills the context.
    """
    sampling = sampling or Sampling()
    spec = spec_of(model, compressors=True)
    stop = tokenizer_of(model).bos if stop is None else stop
    rows = [list(p) for p in prompts]
    if not rows:
        return []
    longest = max(len(row) for row in rows)
    if not all(rows):
        raise InputError("An empty prompt cannot be continued. Start it with the end-of-story token.")
    if longest >= spec.n_ctx:
        raise InputError(f"A prompt of {longest} tokens fills this model's context of {spec.n_ctx}. Shorten it.")
    if max_new_tokens < 1:
        raise InputError(f"max_new_tokens is {max_new_tokens}; it must be at least 1.")
    budgets = [min(max_new_tokens, spec.n_ctx - len(row)) for row in rows]
    new: list[list[int]] = [[] for _ in rows]
    dtype = forward.resolve_dtype(precision, model)
    with torch.inference_mode():
        for numbers in _together(spec, rows):
            own, budget = [rows[i] for i in numbers], [budgets[i] for i in numbers]
            cache = _writer(model, spec, own, max(map(len, own)) + max(budget), dtype)
            if sampling.beams > 1:
                made = beam_search(cache, budget, sampling.beams, stop)
            else:
                made = _sample(cache, budget, sampling, stop, numbers)
            for i, row in zip(numbers, made, strict=True):
                new[i] = row
    return new


def _together(spec: Spec | CompressorSpec, rows: list[list[int]]) -> list[list[int]]:
    """Groups of row numbers that are generated together: all rows; for a compressor, those at the same place of a
    pair."""
    if isinstance(spec, Spec):
        return [list(range(len(rows)))]
    by_place = [[i for i, row in enumerate(rows) if len(row) % 2 == place] for place in (0, 1)]
    return [numbers for numbers in by_place if numbers]


def _writer(
    model: "LanguageModel", spec: Spec | CompressorSpec, rows: list[list[int]], places: int, dtype: torch.dtype
) -> Writer:
    if isinstance(spec, HookedSpec):
        return HookedWriter(model, rows)
    if isinstance(spec, Spec):
        return TransformerWriter(model, spec, rows, places, dtype)
    return CompressorWriter(model, spec, rows, places, dtype)


def _sample(cache: Writer, budgets: list[int], sampling: Sampling, stop: int, numbers: list[int]) -> list[list[int]]:
    n, steps = len(budgets), max(budgets)
    uniform = torch.stack(
        [torch.rand(steps, generator=torch.Generator().manual_seed(sampling.seed * 1_000_003 + i)) for i in numbers]
    ).to(cache.device)
    chosen = torch.full((n, steps), stop, device=cache.device)
    alive = torch.ones(n, dtype=torch.bool, device=cache.device)
    budget = torch.tensor(budgets, device=cache.device)
    scores = cache.step(cache.prompt)
    for t in range(steps):
        token = sample_token(scores, uniform[:, t], sampling)
        chosen[:, t] = torch.where(alive, token, stop)
        alive &= (token != stop) & (t + 1 < budget)
        if t + 1 == steps or not alive.any():
            break
        scores = cache.step(token[:, None])
    return [_until(row, stop) for row in chosen.tolist()]


def _until(row: list[int], stop: int) -> list[int]:
    return row[: row.index(stop)] if stop in row else row


def generate(
    model: "LanguageModel",
    prompts: str | Sequence[str] = "",
    *,
    n: int = 1,
    max_new_tokens: int = 256,
    sampling: Sampling | None = None,
    precision: str = "float32",
) -> list[str]:
    """Stories, prompt included: `n` for each prompt, in order. An empty prompt starts a new story.

    InputError for more than one story of a prompt from beam search, which finds one."""
    tokenizer, sampling = tokenizer_of(model), sampling or Sampling()
    if n < 1:
        raise InputError(f"n is {n}; it must be at least 1.")
    if n > 1 and sampling.beams > 1:
        raise InputError(f"Beam search finds one story for a prompt, not {n}: ask for n=1, or sample with beams=1.")
    asked = [prompts] if isinstance(prompts, str) else list(prompts)
    rows = [row for row in tokenizer.encode(asked) for _ in range(n)]
    new = generate_ids(model, rows, max_new_tokens=max_new_tokens, sampling=sampling, precision=precision)
    return [tokenizer.decode(row + more) for row, more in zip(rows, new, strict=True)]
