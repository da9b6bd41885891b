"""Generation: the continuation of prompts, sampled or by beam search."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tslens.errors import InputError
from tslens.generate.sampling import Sampling
from tslens.generate.streaming import budget_of, stream
from tslens.models import spec_of, tokenizer_of

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
    rows = [list(p) for p in prompts]
    spec = spec_of(model, compressors=True)
    for row in rows:  # before any work
        budget_of(row, spec.n_ctx, max_new_tokens)
    new: list[list[int]] = [[] for _ in rows]
    made = stream(model, rows, max_new_tokens=max_new_tokens, sampling=sampling, stop=stop, precision=precision)
    for place, tokens in made:
        new[place] = tokens
    return new


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
