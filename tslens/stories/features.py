"""Rules that tell from a story's text whether it has dialogue, and whether it has a moral."""

import re

SPEECH = re.compile(r"[\"“][^\"“”]*\w[^\"“”]*[\"”]")
MORAL = re.compile(
    r"\b(?:moral|lesson|learn(?:ed|t) (?:that|to|a|an|the|how|not|never|from|about)"
    r"|(?:this|the) story (?:teaches|tells)|never forgot|always remember(?:ed)?"
    r"|(?:found out|realized|understood|knew|remembered) that)\b",
    re.IGNORECASE,
)
LAST = 3  # sentences in which a moral is looked for
_SENTENCE = re.compile(r"[^.!?]+[.!?]*")


def has_dialogue(text: str) -> bool:
    """Whether somebody speaks: words stand between quotation marks."""
    return SPEECH.search(text) is not None


def has_moral(text: str) -> bool:
    """Whether one of the last sentences says what was learned."""
    return MORAL.search("".join(_SENTENCE.findall(text)[-LAST:])) is not None
