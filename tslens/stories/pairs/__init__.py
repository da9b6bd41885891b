"""Minimal pairs from the story generator, of two kinds that share nothing but their words.

Pairs of prompts with a known answer, for circuits: two prompts that differ in one fact, and its word. A task (`tasks`)
says which fact; `written` renders it twice, `encoded` turns the pairs into tokens that stand under one another.

Pairs of whole texts, one good and one bad, for scores (`evaluation.pairs`): `phenomena` makes them from the frames of
`grammar_frames` and `meaning_frames`, and its names (`MinimalPair`, `minimal_pairs`) are imported from there.
"""

from tslens.stories.pairs.encoded import Pairs, encode, pairs
from tslens.stories.pairs.tasks import TASKS, Task, task
from tslens.stories.pairs.written import WrittenPair, write

__all__ = ["TASKS", "Pairs", "Task", "WrittenPair", "encode", "pairs", "task", "write"]
