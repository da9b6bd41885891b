"""How fast are stories written, beside other people's generate?

Greedy, the same number of new tokens for every row, key/value caches on, fp32 (everybody's default). A turn reads the
prompts and writes all new tokens.
"""

from functools import cache, partial
from typing import Any

import numpy as np
import torch

from tslens.bench.measure import Bar, Benchmark, Measured, faster, take_turns
from tslens.bench.size import Size, gpt2, hooked, random_tokens
from tslens.generate import Sampling, generate_ids

NEVER = -1  # no token ends a story


def _prompts(size: Size) -> torch.Tensor:
    return random_tokens(size.batch, size.prompt, size.vocabulary)


def ours(size: Size, model: Any) -> list[list[int]]:
    """The new tokens of each row."""
    prompts = _prompts(size).tolist()
    greedy = Sampling(temperature=0)
    return generate_ids(model, prompts, max_new_tokens=size.new_tokens, sampling=greedy, stop=NEVER)


def by_hooked(size: Size, model: Any) -> torch.Tensor:
    """Prompts and new tokens as HookedTransformer.generate writes them."""
    with torch.inference_mode():
        made: torch.Tensor = model.generate(
            _prompts(size),
            max_new_tokens=size.new_tokens,
            do_sample=False,
            stop_at_eos=False,
            use_past_kv_cache=True,
            return_type="tokens",
            verbose=False,
        )
    return made


def by_transformers(size: Size, model: Any) -> torch.Tensor:
    """Prompts and new tokens as transformers' generate writes them."""
    prompts = _prompts(size)
    with torch.inference_mode():
        made: torch.Tensor = model.generate(
            input_ids=prompts,
            attention_mask=torch.ones_like(prompts),
            max_new_tokens=size.new_tokens,
            do_sample=False,
            use_cache=True,
            pad_token_id=0,
        )
    return made


@cache
def _times(size: Size) -> np.ndarray:
    """Seconds of ours, HookedTransformer's and transformers', `[repeat, side]`, all in turns."""
    model, other = hooked(size.spec), gpt2(size.spec)
    works = partial(ours, size, model), partial(by_hooked, size, model), partial(by_transformers, size, other)
    return take_turns(*works, repeats=size.repeats)


def _run(size: Size, side: int) -> Measured:
    times = _times(size)
    return faster(times[:, 0], times[:, side], units=size.batch * size.new_tokens, unit="tokens")


WHAT = "generation, 256x8, batch 16, 100 new tokens, fp32"
BENCHMARKS = (
    Benchmark("generate-hooked", WHAT, "HookedTransformer.generate", Bar(4), partial(_run, side=1)),
    Benchmark("generate-transformers", WHAT, "transformers' generate", Bar(2), partial(_run, side=2)),
)
