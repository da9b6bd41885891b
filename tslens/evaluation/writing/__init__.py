"""Completions of prompts by models: written once, kept, and measured by themselves."""

from tslens.evaluation.writing.beginnings import Beginning, beginnings, cut_at
from tslens.evaluation.writing.measures import TextMeasures, measures
from tslens.evaluation.writing.result import WritingResult
from tslens.evaluation.writing.running import WritingSettings, write

__all__ = ["Beginning", "TextMeasures", "WritingResult", "WritingSettings", "beginnings", "cut_at", "measures", "write"]
