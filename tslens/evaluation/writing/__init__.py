"""Completions of prompts by models: written once, kept, and measured by themselves."""

from tslens.evaluation.writing.measures import TextMeasures, measures
from tslens.evaluation.writing.result import WritingResult
from tslens.evaluation.writing.running import MOST, STORE, WritingSettings, continuations, write
from tslens.evaluation.writing.sources import StoryPrompt, cut_at, prompts_of

__all__ = [
    "MOST",
    "STORE",
    "StoryPrompt",
    "TextMeasures",
    "WritingResult",
    "WritingSettings",
    "continuations",
    "cut_at",
    "measures",
    "prompts_of",
    "write",
]
