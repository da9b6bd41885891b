"""Speed of generating stories relative to other libraries' `generate`.

Greedy, the same number of new tokens for every row, key/value caches on, in fp32 (every library's default) and in bf16
where its products are faster: ours against transformers' own bf16, and against HookedTransformer's default. A turn
reads the prompts and generates all new tokens.
"""

from functools import cache, partial
from typing import Any

import numpy as np
import torch

from tslens.bench.measure import Benchmark, Measured, Target, Work, faster, take_turns
from tslens.bench.peers import gpt2, stock
from tslens.bench.size import Size, random_tokens
from tslens.forward import resolve_dtype
from tslens.generate import Sampling, generate_ids
from tslens.models import LanguageModel, build

NEVER = -1  # no token ends a story


def _prompts(size: Size) -> torch.Tensor:
    return random_tokens(size.batch, size.prompt, size.vocabulary)


def ours(size: Size, model: LanguageModel, dtype: str = "float32") -> list[list[int]]:
    """The new tokens of each row."""
    prompts = _prompts(size).tolist()
    sampling = Sampling(temperature=0)
    return generate_ids(model, prompts, max_new_tokens=size.new_tokens, sampling=sampling, stop=NEVER, precision=dtype)


def by_hooked(size: Size, model: LanguageModel) -> torch.Tensor:
    """Prompts and new tokens from HookedTransformer.generate."""
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
    """Prompts and new tokens from transformers' generate."""
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
def _times(size: Size, dtype: str) -> dict[str, np.ndarray]:
    """Seconds of every side, all in turns; HookedTransformer's default is among them in either precision."""
    model, theirs = build(size.spec), stock(size.spec)
    other = gpt2(size.spec).to(resolve_dtype(dtype, model))
    works: dict[str, Work] = {
        "ours": partial(ours, size, model, dtype),
        "HookedTransformer fp32": partial(by_hooked, size, theirs),
        "transformers": partial(by_transformers, size, other),
    }
    return dict(zip(works, take_turns(*works.values(), repeats=size.repeats).T, strict=True))


def _row(name: str, dtype: str, peer: str, against: str, target: Target | None) -> Benchmark:
    def run(size: Size) -> Measured:
        times = _times(size, dtype)
        return faster(times["ours"], times[peer], units=size.batch * size.new_tokens, unit="tokens")

    shown = "fp32" if dtype == "float32" else "bf16 where it is faster"
    return Benchmark(name, f"generation, 256x8, batch 16, 100 new tokens, {shown}", against, target, run)


HOOKED, BY_HOOKED = "HookedTransformer fp32", "HookedTransformer.generate, fp32"
OTHER, BY_OTHER = "transformers", "transformers' generate, same precision"
BENCHMARKS = (
    _row("generate-hooked", "float32", HOOKED, BY_HOOKED, Target(4)),
    _row("generate-transformers", "float32", OTHER, BY_OTHER, Target(2)),
    _row("generate-hooked-bf16", "auto", HOOKED, BY_HOOKED, None),
    _row("generate-transformers-bf16", "auto", OTHER, BY_OTHER, Target(2)),
)
