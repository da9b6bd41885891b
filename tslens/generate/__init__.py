"""Generation: batched sampling, greedy and beam search with a key/value cache.

Runs the fused forward's blocks on the model's own parameters. Prompts of different lengths are padded on the left and
the padding is masked. Rows that have ended leave the batch, and others take their places. What is drawn for a row
depends on the seed and the row's number, not on the rest of the batch.
"""

from tslens.generate.cache import Cache
from tslens.generate.sampling import Sampling, sample_token
from tslens.generate.streaming import stream
from tslens.generate.writing import ENDED, Written, generate, generate_ids, generate_written, with_room

__all__ = [
    "ENDED",
    "Cache",
    "Sampling",
    "Written",
    "generate",
    "generate_ids",
    "generate_written",
    "sample_token",
    "stream",
    "with_room",
]
