"""The names of who writes, of kinds of copies, and of what is measured of a text."""

import numpy as np

WHO = ("written", "true endings")
KINDS = ("none", "exact", "template")
PLOT = "plot"  # a text that is shown for its plot, not for a copy
COMPARISONS = {
    "ending": "ROUGE-2 precision to the true ending",
    "among": "largest ROUGE-2 F to another text of the set",
    "nearest": "ROUGE-2 precision to the nearest training story",
}
BITS = "bits_per_byte of the true ending"
OTHERS = {
    "nearest_f": "ROUGE-2 F to the nearest training story",
    "longest": "longest copied span (words and marks)",
    "template": "longest span with a training story's skeleton",
    "plot": "cosine to the nearest plot in other words",
    "words": "words and marks of the text",
    "with_prompt": "ROUGE-2 precision, prompt counted too",
    "floor": "the same for an ending that shares nothing",
}

COUNTS = ("longest", "template", "words")
"""Those of them that count words; all others are shares."""


def sample(who: str, share: float) -> str:
    """The name of a set of texts."""
    return who if np.isnan(share) else f"{who}, cut at {share:.0%}"
