"""How fast are stories written, beside other people's generate?

Greedy, the same number of new tokens for every row, key/value caches on, fp32 (everybody's default) unless a row says
otherwise. A turn reads the prompts and writes all new tokens.
"""

from functools import partial
from typing import Any

import torch

from tslens import forward
from tslens.bench.measure import Bar, Benchmark, Measured, Work, race
from tslens.bench.size import Size, gpt2, hooked, random_tokens
from tslens.generate import Sampling, generate_ids

NEVER = -1  # no token ends a story


def _prompts(size: Size) -> torch.Tensor:
    return random_tokens(size.batch, size.prompt, size.vocabulary)


def ours(size: Size, model: Any, precision: str = "float32") -> list[list[int]]:
    """The new tokens of each row."""
    prompts = _prompts(size).tolist()
    greedy = Sampling(temperature=0)
    return generate_ids(
        model, prompts, max_new_tokens=size.new_tokens, sampling=greedy, stop=NEVER, precision=precision
    )


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


def by_transformers(size: Size, model: Any, precision: str = "float32") -> torch.Tensor:
    """Prompts and new tokens as transformers' generate writes them."""
    prompts, low = _prompts(size), forward.precision(precision) is torch.bfloat16
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=low):
        made: torch.Tensor = model.generate(
            input_ids=prompts,
            attention_mask=torch.ones_like(prompts),
            max_new_tokens=size.new_tokens,
            do_sample=False,
            use_cache=True,
            pad_token_id=0,
        )
    return made


def _hooked(size: Size) -> tuple[Work, Work]:
    model = hooked(size.spec)
    return partial(ours, size, model), partial(by_hooked, size, model)


def _transformers(size: Size) -> tuple[Work, Work]:
    return partial(ours, size, hooked(size.spec)), partial(by_transformers, size, gpt2(size.spec))


def _run(size: Size, pair: Any) -> Measured:
    mine, theirs = pair(size)
    made = size.batch * size.new_tokens
    return race(mine, theirs, repeats=size.repeats, units=made, unit="tokens")


WHAT = "generation, 256x8, batch 16, 100 new tokens, fp32"
BENCHMARKS = (
    Benchmark("generate-hooked", WHAT, "HookedTransformer.generate", Bar(4), partial(_run, pair=_hooked)),
    Benchmark("generate-transformers", WHAT, "transformers' generate", Bar(2), partial(_run, pair=_transformers)),
)
