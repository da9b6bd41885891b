"""The part of speech of the token that each position predicts."""

import torch
from jaxtyping import Int
from torch import Tensor

from tslens import pos
from tslens.analysis.lens.reducer import predicted
from tslens.scan import Batch
from tslens.tokenizer import Tokenizer

NUMBERS = {tag: i for i, tag in enumerate(pos.TAGS)}


def tags_of_rows(batch: Batch, tokenizer: Tokenizer, every: int = 1) -> Int[Tensor, " row"]:
    """The universal tag of the next token's word, as an index into `pos.TAGS`, in the rows of `reducer.predicted_rows`.
    The whole story is tagged, however little of it is read."""
    found: list[int] = []
    lengths = batch.mask.sum(1).tolist()
    for text, words, length in zip(batch.texts, pos.tag_stories(batch.texts), lengths, strict=True):
        tags, _ = pos.align(words, tokenizer.offsets(text)[1:length])
        found += [NUMBERS[tag] for tag in tags]
    return torch.tensor(found, dtype=torch.int64)[predicted(batch, every)[predicted(batch)]]
