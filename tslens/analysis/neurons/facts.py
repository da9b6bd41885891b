"""Classes that a token of a story may be in: parts of speech, names, places in sentence and story, speech."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from tslens import pos
from tslens.scan import Batch
from tslens.stories.sentences import quotations, spans
from tslens.tokenizer import Tokenizer

PLACES = ("sentence start", "inside a quotation", "first quarter", "last quarter")
CLASSES = (*pos.TAGS, "character name", *PLACES)
"""A character's name is a proper noun that the story has twice or more; quarters are of the tokens that are read."""
OF_WORDS = len(pos.TAGS) + 1
"""The first classes, which are of words; the others are of places."""
NAME, START, QUOTED, FIRST, LAST = (1 << i for i in range(OF_WORDS - 1, len(CLASSES)))


def facts(batch: Batch, tokenizer: Tokenizer) -> Int[Tensor, "batch pos"]:
    """The classes of each token, as the sum of the powers of two of their places in `CLASSES`; 0 where padded. Stories
    are tagged whole, however little of them is read."""
    found = torch.zeros(batch.tokens.shape, dtype=torch.int64)
    lengths = batch.mask.sum(1).tolist()
    for row, (text, tagged, n) in enumerate(zip(batch.texts, pos.tag_stories(batch.texts), lengths, strict=True)):
        found[row, :n] = torch.tensor(facts_of(text, tagged, tokenizer.offsets(text)[:n]))
    return found


def facts_of(text: str, tagged: Sequence[pos.Tagged], offsets: Sequence[tuple[int, int]]) -> list[int]:
    """The classes of each token of a text; `offsets` are those that are read, BOS first."""
    at = np.zeros(len(text), dtype=np.int64)
    names = Counter(text[start:end].casefold() for start, end, tag in tagged if tag == "PROPN")
    for start, end, tag in tagged:
        if tag == "PROPN" and names[text[start:end].casefold()] > 1:
            at[start:end] |= NAME
    for start, end in quotations(text):
        at[start + 1 : end - 1] |= QUOTED
    spoken = [(start, end) for start, end, tag in tagged if tag != "PUNCT"]
    for begin, stop in spans(text):
        first = next(((start, end) for start, end in spoken if begin <= start < stop), None)
        if first is not None:
            at[slice(*first)] |= START
    tags, _ = pos.align(tagged, offsets)
    found, quarter = [], max(len(offsets) - 1, 1) / 4
    for i, ((start, end), tag) in enumerate(zip(offsets, tags, strict=True)):
        under = [place for place in range(start, end) if not text[place].isspace()]
        place = (FIRST if i <= quarter else 0) | (LAST if i > 3 * quarter else 0)
        found.append((1 << pos.TAGS.index(tag)) | (int(at[under[0]]) if under else 0) | place)
    return found
