"""Size of the page of a model of 12 layers x 8 heads, besides CircuitsVis's bundle.

A page that would exceed its budget leaves something out, so the row counts only if the page has the attention of all
heads over 128 tokens. The rest of the budget goes to contexts of neurons, so a page of many neurons nearly fills it.
"""

from tslens.bench.measure import Benchmark, Measured, Target
from tslens.bench.size import Size, corpus, tokenizer
from tslens.models import Spec, attach_tokenizer, build
from tslens.report import compute, draw
from tslens.report.page import BUDGET
from tslens.report.shell import bundle


def _run(size: Size) -> Measured:
    words = tokenizer(size)
    model = build(Spec.parse(size.page_shape, d_vocab=words.size, n_ctx=2 * size.page_tokens))
    attach_tokenizer(model, words)
    stories = corpus(size.page_stories)
    longest = max(stories, key=len)  # shown first; the page cuts it to its 128 tokens
    data = compute(model, stories, texts=[longest], shown=2, live=False, max_new_tokens=32)
    assert len(data.patterns[0].tokens) >= size.page_tokens, "the story shown first is shorter than what is measured"
    page = draw(data)
    if "attention is here for the first" in page:
        return Measured.exactly(float("inf"), "the attention did not fit")
    return Measured.exactly((len(page.encode()) - len(bundle().encode())) / 1e6)


BENCHMARKS = (
    Benchmark(
        "page",
        "page besides the bundle, 12 layers x 8 heads at 128 tokens",
        "the page's budget",
        Target(BUDGET / 1e6, True),
        _run,
        " MB",
    ),
)
