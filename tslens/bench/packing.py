"""Speed of packing stories to disk relative to tokenizing them only."""

import tempfile

from tslens.bench.measure import Benchmark, Measured, Target, faster, take_turns
from tslens.bench.size import Size, corpus, tokenizer
from tslens.stories.pack import BATCH, pack
from tslens.tokenizer import in_batches


def _run(size: Size) -> Measured:
    """Time both on the same batches of stories in memory."""
    stories, cut = corpus(size.packed), tokenizer(size)

    def ours() -> None:
        with tempfile.TemporaryDirectory() as folder:
            pack(stories, cut, folder, source="made")

    def bare() -> None:
        for texts in in_batches(stories, BATCH):
            cut.backend.encode_batch(texts, add_special_tokens=False)

    kilobytes = sum(len(story.encode()) for story in stories) / 1e3
    times = take_turns(ours, bare, repeats=size.repeats)
    return faster(times[:, 0], times[:, 1], units=kilobytes, unit="kB")


BENCHMARKS = (
    Benchmark(
        "packing", "packing stories to disk, in bytes of text", "bare tokenizers encode_batch", Target(0.8), _run
    ),
)
