"""Labels of completions by the words that they say first."""

import re
from collections.abc import Sequence
from functools import lru_cache

from tslens.evaluation.scores import FAIL, PARTIAL, SUCCESS
from tslens.evaluation.suites import Prompt
from tslens.pos.trigrams import trigrams

WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
DENIALS, ARTICLES = {"not", "never", "no", "cannot"}, {"a", "an", "the"}


def label(text: str, prompt: Prompt) -> int:
    """Success if the completion says an accepted ending first, fail if a rejected one or if it says no word at all,
    partial if it says neither.

    Words are compared whole, by their base forms (HanTa's): *flew* is *fly*. Of endings that begin at the same word the
    longer one counts. One behind a *not* is not said: *not fly*, *never a bird*, *didn't fly*.
    """
    spoken = WORD.findall(text)
    said = [_base_form(word) for word in spoken]
    if not said:
        return FAIL
    found = [
        (place, -len(words), verdict)
        for endings, verdict in ((prompt.accepted, SUCCESS), (prompt.rejected, FAIL))
        for words in map(_base_forms, endings)
        for place in range(len(said) - len(words) + 1)
        if said[place : place + len(words)] == words and not _is_denied(spoken[:place])
    ]
    return min(found)[2] if found else PARTIAL


def _is_denied(before: Sequence[str]) -> bool:
    """Whether the last of the words before an ending denies it; an article may stand between."""
    words = [word.lower().replace("’", "'") for word in before[-2:]]
    last = words[-2:-1] if words[-1:] and words[-1] in ARTICLES else words[-1:]
    return any(word in DENIALS or word.endswith("n't") for word in last)


def _base_forms(text: str) -> list[str]:
    return [_base_form(word) for word in WORD.findall(text)]


@lru_cache(maxsize=20_000)
def _base_form(word: str) -> str:
    """The base form in lower case: of *flew* fly, of *wings* wing."""
    lower = word.lower()
    return lower if "'" in lower or len(lower) > 25 else str(trigrams().tagger.analyze(lower)[0]).lower()
