"""Labels of completions by the words that they say first."""

import re
from functools import lru_cache

from tslens.evaluation.scores import FAIL, PARTIAL, SUCCESS
from tslens.evaluation.suites import Prompt
from tslens.pos.trigrams import trigrams


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
