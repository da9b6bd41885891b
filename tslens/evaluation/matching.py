"""Completions of a suite's prompts, and labels of them by the words that they say first."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from tslens import progress
from tslens.evaluation.scores import FAIL, PARTIAL, SUCCESS
from tslens.evaluation.suites import Prompt
from tslens.generate import Sampling, generate_ids
from tslens.models import tokenizer_of
from tslens.pos.trigrams import trigrams

if TYPE_CHECKING:
    from tslens.models import LanguageModel

NEW_TOKENS = 40
"""The length of a completion: mostly two or three sentences."""
ROWS = 64  # continued together, so that memory is bounded


def completions(
    model: "LanguageModel", prompts: Sequence[Prompt], n: int, seed: int = 0, precision: str = "float32"
) -> list[list[str]]:
    """`n` continuations of each prompt at temperature 1, of at most 40 tokens, without the prompt."""
    return continuations(model, [prompt.text for prompt in prompts], n, seed, NEW_TOKENS, precision)


def continuations(
    model: "LanguageModel", texts: Sequence[str], n: int, seed: int, max_new_tokens: int, precision: str
) -> list[list[str]]:
    """`n` continuations of each text at temperature 1, without the text itself, which is read as the model reads it."""
    tokenizer = tokenizer_of(model)
    rows = [row for row in tokenizer.encode(list(texts)) for _ in range(n)]
    found: list[str] = []
    for start in progress.track(range(0, len(rows), ROWS), "completions"):
        own, sampling = rows[start : start + ROWS], Sampling(seed=seed * 100_003 + start)
        new = generate_ids(model, own, max_new_tokens=max_new_tokens, sampling=sampling, precision=precision)
        for row, more in zip(own, new, strict=True):
            found.append(tokenizer.decode(row + more)[len(tokenizer.decode(row)) :])
    return [found[i : i + n] for i in range(0, len(found), n)]


def label(text: str, prompt: Prompt) -> int:
    """Success if the completion says an accepted ending first, fail if a rejected one or if it says no word at all,
    partial if it says neither.

    Words are compared whole, by their base forms (HanTa's): *flew* is *fly*. Of endings that begin at the same word the
    longer one counts.
    """
    said = _base_forms(text)
    if not said:
        return FAIL
    found = [
        (place, -len(words), verdict)
        for endings, verdict in ((prompt.accepted, SUCCESS), (prompt.rejected, FAIL))
        for words in map(_base_forms, endings)
        for place in range(len(said) - len(words) + 1)
        if said[place : place + len(words)] == words
    ]
    return min(found)[2] if found else PARTIAL


def _base_forms(text: str) -> list[str]:
    return [_base_form(word) for word in re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)?", text)]


@lru_cache(maxsize=20_000)
def _base_form(word: str) -> str:
    """The base form in lower case: of *flew* fly, of *wings* wing."""
    lower = word.lower()
    return lower if "'" in lower or len(lower) > 25 else str(trigrams().tagger.analyze(lower)[0]).lower()
