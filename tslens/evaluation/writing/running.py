"""Completions of prompts by models, from the store where they are there, else written now."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tslens import models, progress
from tslens.errors import InputError
from tslens.evaluation.lines import ending_log_probabilities
from tslens.evaluation.writing.result import WritingResult, from_completions
from tslens.evaluation.writing.sources import StoryPrompt
from tslens.evaluation.writing.store import Asked, Completion, Store, opened
from tslens.files import cache
from tslens.generate import Sampling, stream

if TYPE_CHECKING:
    from tslens.models import LanguageModel

STORE = "completions"
"""The folder of completions in the cache."""

MOST = 10_000
"""Texts of a prompt that are held at once."""
AT_ONCE = 1_000
"""Prompts whose tokens are held at once."""


class WritingSettings(NamedTuple):
    """What is written of every prompt: `n` samples at a temperature, and one text by beam search."""

    n: int = 10
    temperature: float = 1.0
    beams: int = 5
    """Beams of the search; 0 for none"""
    limit_tokens: int = 200
    seed: int = 0
    precision: str = "float32"

    def samplings(self) -> list[tuple[Sampling, int]]:
        """The ways of choosing tokens, each with the number of texts it gives of a prompt."""
        if self.n < 0 or self.beams < 0 or self.n + self.beams == 0:
            raise InputError(f"--n is {self.n} and --beams {self.beams}; neither may be negative, nor both 0.")
        if self.n > MOST:
            raise InputError(f"--n is {self.n:,}; give {MOST:,} or fewer texts of a prompt.")
        if self.limit_tokens < 1:
            raise InputError(f"--limit-tokens is {self.limit_tokens}; it must be at least 1.")
        sampled = (Sampling(self.temperature, seed=self.seed), self.n)
        searched = (Sampling(0.0, beams=max(1, self.beams)), min(1, self.beams))  # draws nothing, so no seed
        return [(sampling, count) for sampling, count in (sampled, searched) if count]


def write(
    written_by: "Iterable[LanguageModel]", found: Sequence[StoryPrompt], settings: WritingSettings, store: Path
) -> WritingResult:
    """What each model writes after each prompt. A text is written once: it is added to the store in the folder
    `store`, by the hash of the model, as soon as it has ended, and taken from there ever after.

    A run that was stopped goes on where it was; texts that it still writes are the same but for the rounding of other
    batches. InputError for a prompt that fills a model's context, and for a store that cannot be used.
    """
    asked = [
        [Asked(b.prompt, sampling, i, settings.limit_tokens, settings.precision) for i in range(count)]
        for b in found
        for sampling, count in settings.samplings()
    ]
    flat = [one for group in asked for one in group]
    names, made, endings = [], [], []
    for model in written_by:
        with opened(store, models.weights_key(model)) as kept:
            complete(model, flat, kept)
            made.append([kept.kept[one.key] for one in flat])
        names.append(models.name_of(model))
        endings.append(ending_log_probabilities(model, found, precision=settings.precision))
    return from_completions(names, found, flat, made, endings)


def continuations(
    model: "LanguageModel",
    prompts: Sequence[str],
    *,
    limit_tokens: int,
    temperature: float = 1.0,
    seed: int = 0,
    precision: str = "float32",
) -> list[str]:
    """One text after each prompt, without the prompt, from the store in the cache folder where it is there. A prompt
    that is given several times has as many samples.

    InputError for a prompt that fills the model's context.
    """
    sampling, before, asked = Sampling(temperature, seed=seed), Counter[str](), list[Asked]()
    for prompt in prompts:
        asked.append(Asked(prompt, sampling, before[prompt], limit_tokens, precision))
        before[prompt] += 1
    with opened(cache() / STORE, models.weights_key(model)) as kept:
        complete(model, asked, kept)
        return [kept.kept[one.key].text for one in asked]


def complete(model: "LanguageModel", asked: Sequence[Asked], store: Store) -> None:
    """Write the completions that the store does not have, and add each as soon as it has ended."""
    distinct = {one.key: one for one in asked}
    missing = [one for key, one in distinct.items() if key not in store.kept]
    with progress.bar(f"{models.name_of(model)} writes", len(distinct)) as bar:
        bar.update(len(distinct) - len(missing))
        for key, made in _made(model, missing):
            store.add(key, made)
            bar.advance()


def _made(model: "LanguageModel", asked: Sequence[Asked]) -> Iterator[tuple[str, Completion]]:
    """The key and the text of each completion, in the order in which they end."""
    tokenizer, n_ctx = models.tokenizer_of(model), models.spec_of(model, compressors=True).n_ctx
    row_of = lru_cache(AT_ONCE)(lambda prompt: tokenizer.encode([prompt])[0])
    for prompt in dict.fromkeys(one.prompt for one in asked):
        if len(row_of(prompt)) >= n_ctx:
            raise InputError(
                f"prompt {prompt[:40]!r}... takes {len(row_of(prompt))} tokens, and the context of "
                f"{models.name_of(model)} is {n_ctx}. Shorten it."
            )
    for how in dict.fromkeys((one.sampling, one.limit, one.precision) for one in asked):
        chosen = [i for i, one in enumerate(asked) if (one.sampling, one.limit, one.precision) == how]
        given = stream(
            model,
            (row_of(asked[i].prompt) for i in chosen),
            numbers=(asked[i].number for i in chosen),
            sampling=how[0],
            max_new_tokens=how[1],
            precision=how[2],
        )
        for place, new in given:
            row = row_of(asked[chosen[place]].prompt)
            begun, whole = tokenizer.decode(row), tokenizer.decode(row + new)
            text = whole.removeprefix(begun) if whole.startswith(begun) else tokenizer.decode(new)
            yield asked[chosen[place]].key, Completion(text, len(new), len(new) < min(how[1], n_ctx - len(row)))
