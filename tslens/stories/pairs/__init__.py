"""Minimal pairs with a known answer, made by the story generator: two prompts that differ in one fact, and its word.

A task (`tasks`) says which fact; `written` renders it twice, `encoded` turns the pairs into tokens that stand under
one another.
"""

from tslens.stories.pairs.encoded import Pairs, encode, pairs
from tslens.stories.pairs.tasks import TASKS, Task, task
from tslens.stories.pairs.written import WrittenPair, write

__all__ = ["TASKS", "Pairs", "Task", "WrittenPair", "encode", "pairs", "task", "write"]
