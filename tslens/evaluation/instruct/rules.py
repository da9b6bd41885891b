"""Rules that tell whether a story has what an instruction asks for: words, features, a sentence, its summary."""

import math
import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from tslens.evaluation.rouge import rouge_2, words
from tslens.pos import tag_texts
from tslens.stories.features import has_dialogue, has_moral
from tslens.stories.generator import lexicon
from tslens.stories.instruct import Instruction

MEASURES = ("words", "dialogue", "moral", "sentence", "summary")
"""words: share of the words asked for that the story has. dialogue, moral: whether it has the feature, by a rule.
sentence: whether it has the sentence. summary: ROUGE-2 recall of the summary. Twist, BadEnding, Conflict and
Foreshadowing are not scored: no rule tells them."""


class ReadStory(NamedTuple):
    """A story as the rules read it."""

    text: str
    forms: frozenset[tuple[str, str]]
    """Its words in small letters, each with its parts of speech."""


def read(texts: Sequence[str]) -> list[ReadStory]:
    """The stories with their words and tags."""
    tagged = tag_texts(texts)
    return [
        ReadStory(text, frozenset((text[a:b].lower().removesuffix("'s"), tag) for a, b, tag in spans))
        for text, spans in zip(texts, tagged, strict=True)
    ]


@cache
def inflections(word: str) -> frozenset[tuple[str, str]]:
    """The inflections of a word, each with the part of speech that it has there; the base form is not among them."""
    verb, low = lexicon.verb(word).forms, word.lower()
    stem = low[:-1] if low.endswith("e") else low[:-1] + "i" if re.search("[^aeiou]y$", low) else low
    doubled = stem + stem[-1:] if re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", low) else stem
    grades = [(doubled + end, tag) for end in ("er", "est") for tag in ("ADJ", "ADV")]
    return frozenset([(lexicon.plural(low), "NOUN"), *((form, "VERB") for form in verb.values()), *grades]) - {
        (low, tag) for tag in ("NOUN", "VERB", "ADJ", "ADV")
    }


def has_word(story: ReadStory, word: str) -> bool:
    """Whether a story has a word, in its base form or in an inflection that is tagged as one."""
    low = word.lower()
    if not re.fullmatch(r"[a-z]+", low):
        return low in story.text.lower()
    return any(form == low for form, _ in story.forms) or not inflections(low).isdisjoint(story.forms)


def scores(instruction: Instruction, story: ReadStory) -> list[float]:
    """The story's score on each of `MEASURES`, from 0 to 1; NaN for what the instruction does not ask."""
    asked, features, said = instruction.words, instruction.features, instruction.sentence
    found = [has_word(story, word) for word in asked]
    held = f" {' '.join(words(story.text))} "
    return [
        sum(found) / len(found) if found else math.nan,
        float(has_dialogue(story.text)) if "Dialogue" in features else math.nan,
        float(has_moral(story.text)) if "MoralValue" in features else math.nan,
        float(f" {' '.join(words(said))} " in held) if said else math.nan,
        rouge_2(instruction.summary, story.text).recall if instruction.summary else math.nan,
    ]


def told(instructions: Sequence[Instruction]) -> list[bool]:
    """For each instruction, whether it asks for something that the rules can tell."""
    nothing = ReadStory("", frozenset())
    return [not all(map(math.isnan, scores(each, nothing))) for each in instructions]
