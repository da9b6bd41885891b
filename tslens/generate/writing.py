"""Generation: the continuation of prompts, sampled or by beam search."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tslens.errors import InputError
from tslens.generate.sampling import Sampling
from tslens.generate.streaming import budget_of, stream
from tslens.models import spec_of, tokenizer_of

if TYPE_CHECKING:
    from tslens.models import LanguageModel

ENDED, *LIMITS = ENDS = ("end of story", "most new tokens", "full context")
"""Why a story ends: the model ended it, or a limit did."""
MOST = 100_000
"""Stories of a prompt that are held at once."""


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

    A row ends at `stop` (the tokenizer's end of story and BOS by default), after `max_new_tokens`, or where the model's
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


def with_room(model: "LanguageModel", prompts: Sequence[str]) -> list[str]:
    """The prompts that leave half of the context for the story."""
    rows, room = tokenizer_of(model).encode(list(prompts)), spec_of(model, compressors=True).n_ctx // 2
    return [prompt for prompt, row in zip(prompts, rows, strict=True) if len(row) <= room]


@dataclass(frozen=True)
class Written:
    """A story that a model wrote."""

    prompt: str
    text: str
    """The story, prompt included."""
    tokens: int
    """New tokens, without the end of the story."""
    ended: str
    """Why it ended: one of `ENDS`."""


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
    made = generate_written(model, prompts, n=n, max_new_tokens=max_new_tokens, sampling=sampling, precision=precision)
    return [one.text for one in made]


def generate_written(
    model: "LanguageModel",
    prompts: str | Sequence[str] = "",
    *,
    n: int = 1,
    max_new_tokens: int = 256,
    sampling: Sampling | None = None,
    precision: str = "float32",
) -> list[Written]:
    """The stories of `generate`, each with its prompt and why it ended. InputError as there."""
    tokenizer, sampling = tokenizer_of(model), sampling or Sampling()
    if n < 1:
        raise InputError(f"n is {n}; it must be at least 1.")
    if n > MOST:
        raise InputError(f"n is {n:,}; at most {MOST:,} are written at a time. Ask for the others with another seed.")
    if n > 1 and sampling.beams > 1:
        raise InputError(f"Beam search finds one story for a prompt, not {n}: ask for n=1, or sample with beams=1.")
    asked = [prompts] if isinstance(prompts, str) else list(prompts)
    rows = [row for row in tokenizer.encode(asked) for _ in range(n)]
    new = generate_ids(model, rows, max_new_tokens=max_new_tokens, sampling=sampling, precision=precision)
    n_ctx, begun = spec_of(model, compressors=True).n_ctx, [prompt for prompt in asked for _ in range(n)]
    return [
        Written(prompt, tokenizer.decode(row + more), len(more), _end(len(row), len(more), n_ctx, max_new_tokens))
        for prompt, row, more in zip(begun, rows, new, strict=True)
    ]


def _end(before: int, new: int, n_ctx: int, most: int) -> str:
    """Why a story of so many new tokens ended: a limit is reached only by a token that is not the end."""
    if new < min(most, n_ctx - before):
        return ENDED
    return LIMITS[0] if new == most else LIMITS[1]
