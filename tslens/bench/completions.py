"""Speed of writing many completions, as evaluation does, relative to transformers' `generate` at its best batch size.

Fifty prompts of 8 to 24 tokens, ten completions of each, sampled at temperature 1, key/value caches on, in fp32. Both
sides have the same weights. The bias of the final norm makes the end of the story as likely at every step as gives the
mean length that the bundled model's completions of story beginnings have. The peer draws from all tokens as we do (its
`top_k` of 50 is off); its batch size is the one that takes least time per row of those tried, on the first tokens. Its
batches are alike, so a turn times one and counts for all; ours is the whole stream, filling and draining included.
"""

import math
from functools import cache
from typing import Any

import torch

from tslens.bench.measure import Benchmark, Measured, Target, faster, seconds, take_turns
from tslens.bench.peers import gpt2
from tslens.bench.size import Size, random_tokens
from tslens.generate import Sampling, stream
from tslens.models import LanguageModel, build, load_weights
from tslens.models.huggingface import FAMILIES

BATCHES = (32, 64, 128, 256, 500)
"""Batch sizes of the peer that are tried."""
TRIED = 30  # tokens of each row in a trial
SHORTEST, LONGEST = 8, 24  # tokens of a prompt
MEAN = 575  # tokens of a completion if nothing limited it: 169 of 200
STOP = 0


def models(size: Size) -> tuple[LanguageModel, Any]:
    """Our model and the peer, with the same weights."""
    spec = size.spec
    torch.manual_seed(0)
    theirs = gpt2(spec)
    with torch.no_grad():
        end = theirs.transformer.wte.weight[STOP]
        odds = (size.vocabulary - 1) / (MEAN - 1)  # of the end, in units of another token's
        theirs.transformer.ln_f.bias.copy_(end * math.log(odds) / end.square().sum())
    named = {name.removeprefix("transformer."): weight for name, weight in theirs.state_dict().items()}
    ours = build(spec, seed=None)
    load_weights(ours, FAMILIES["gpt2"].read(spec, named), origin="the peer")
    return ours, theirs


def rows(size: Size) -> list[list[int]]:
    """The prompts, each as often as it is completed."""
    drawn = random_tokens(size.completed, LONGEST, size.vocabulary).clamp(min=1).tolist()
    lengths = range(SHORTEST, min(LONGEST, size.context - size.completion_tokens) + 1)
    return [row[: lengths[i % len(lengths)]] for i, row in enumerate(drawn) for _ in range(size.completions)]


def ours(size: Size, model: LanguageModel) -> list[list[int]]:
    """The new tokens of every row, in the order in which rows ended."""
    made = stream(model, rows(size), max_new_tokens=size.completion_tokens, sampling=Sampling(), stop=STOP)
    return [new for _, new in made]


def theirs(size: Size, model: Any, batch: int, tokens: int) -> torch.Tensor:
    """Prompts and new tokens of the first `batch` rows, from transformers' generate."""
    asked = rows(size)[:batch]
    width = max(map(len, asked))
    pad = torch.tensor([width - len(row) for row in asked])
    with torch.inference_mode():
        made: torch.Tensor = model.generate(
            input_ids=torch.tensor([[STOP] * (width - len(row)) + row for row in asked]),
            attention_mask=(torch.arange(width) >= pad[:, None]).long(),
            max_new_tokens=tokens,
            do_sample=True,
            temperature=1.0,
            top_k=0,
            use_cache=True,
            eos_token_id=STOP,
            pad_token_id=STOP,
        )
    return made


@cache
def best_batch(size: Size) -> int:
    """The peer's batch size of least time per row."""
    model, most = models(size)[1], size.completed * size.completions
    sizes = [batch for batch in BATCHES if batch <= most] or [most]
    theirs(size, model, sizes[0], 2)
    tokens = min(TRIED, size.completion_tokens)
    return min(sizes, key=lambda batch: seconds(lambda: theirs(size, model, batch, tokens)) / batch)


def completions(size: Size) -> Measured:
    """Our speed relative to the peer's."""
    model, peer = models(size)
    batch, most = best_batch(size), size.completed * size.completions
    times = take_turns(
        lambda: ours(size, model),
        lambda: theirs(size, peer, batch, size.completion_tokens),
        repeats=min(3, size.repeats),
    )
    found = faster(times[:, 0], times[:, 1] * most / batch, units=most, unit="completions")
    return Measured(found.value, found.low, found.high, found.repeats, found.ours, f"{found.theirs}, batch {batch}")


BENCHMARKS = (
    Benchmark(
        "completions",
        "writing 50 x 10 completions of at most 200 tokens, 256x8, fp32",
        "transformers' generate at its best batch size",
        Target(2),
        completions,
    ),
)
