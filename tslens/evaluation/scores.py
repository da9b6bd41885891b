"""Names of what a suite is scored by: kinds of prompts, scorings, and the labels fail, partial and success."""

import math

SCORINGS = {"sum": "margin", "byte": "margin_per_byte"}
PARTS = ("hand-written", "templated")
FAIL, PARTIAL, SUCCESS = 0, 1, 2
VERDICTS = ("fail", "partial", "success")
EVEN = math.log(2)
"""The margin, in nats, below which two endings count as about as probable: a factor of two."""

Labels = list[list[list[int | None]]]
"""A label (0 fail, 1 partial, 2 success; None where there is none) of each completion, by model and prompt."""
