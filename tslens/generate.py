"""What a model writes: batched sampling, greedy and beam search with a key/value cache.

Runs the fused forward's blocks on the model's own parameters. Prompts of different lengths are padded on the left and
the padding is masked. What is drawn for a row depends on the seed and the row's number, not on the rest of the batch.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tslens import forward
from tslens.models import CompressorSpec, Spec, shape_of, spec_of, tokenizer_of

if TYPE_CHECKING:
    from tslens.models import HookedTransformer

SEEDS = 2**32


@dataclasses.dataclass(frozen=True)
class Sampling:
    """How the next token is chosen: `temperature` 0 is greedy; `top_k` and `top_p` keep the likeliest tokens only
    (Fan et al. 2018; Holtzman et al. 2020, arXiv 1904.09751); `beams` above 1 is beam search at temperature 0: of the
    hypotheses found, the one with the highest mean log-probability per token."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    beams: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if not math.isfinite(self.temperature) or self.temperature < 0:
            raise ValueError(f"temperature is {self.temperature}; it must be 0 (greedy) or more, and finite.")
        if not isinstance(self.seed, int) or not 0 <= self.seed < SEEDS:
            raise ValueError(f"seed is {self.seed}; it must be a whole number from 0 to {SEEDS - 1}.")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top_k is {self.top_k}; it must be at least 1.")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ValueError(f"top_p is {self.top_p}; it must be above 0 and at most 1.")
        if self.beams < 1:
            raise ValueError(f"beams is {self.beams}; it must be at least 1.")
        if self.beams > 1 and self.temperature > 0:
            raise ValueError("Beam search looks for the likeliest story: set temperature to 0, or beams to 1.")


class Cache:
    """Keys and values of a stack of causal blocks for the places filled so far. Rows are padded on the left."""

    def __init__(self, stack: Any, spec: Spec, pad: Sequence[int], places: int, dtype: torch.dtype) -> None:
        self.spec, self.dtype = spec, dtype
        self.device = next(stack.parameters()).device
        self.layers = forward.layers(stack, spec, dtype, pack=True)
        shape = (len(pad), spec.key_value_heads, places, spec.d_head)
        self.keys = [torch.zeros(shape, dtype=dtype, device=self.device) for _ in self.layers]
        self.values = [torch.zeros(shape, dtype=dtype, device=self.device) for _ in self.layers]
        self.pad = torch.tensor(pad, device=self.device)
        self.ragged = any(pad)
        self.filled = 0

    def reorder(self, rows: Int[Tensor, " row"]) -> None:
        """Row i goes on from what was row `rows[i]`."""
        self.keys = [k[rows] for k in self.keys]
        self.values = [v[rows] for v in self.values]
        self.pad = self.pad[rows]

    def positions(self, n: int) -> Int[Tensor, "*row pos"]:
        """The positions of the next `n` places."""
        places = torch.arange(self.filled, self.filled + n, device=self.device)
        # A row whose context is full goes on for the others' sake, unheard: its position stays the last.
        return (places - self.pad[:, None]).clamp(0, self.spec.n_ctx - 1) if self.ragged else places

    def run(self, x: Float[Tensor, "row pos d_model"]) -> Float[Tensor, "row pos d_model"]:
        """The residual stream after the last block, from that before the first at the next places."""
        n = x.shape[1]
        turn = forward.rotary(self.spec, self.positions(n)) if self.spec.style == "llama" else None
        masks = {w: self._mask(n, w) for w in {forward.window_of(self.spec, i) for i in range(self.spec.n_layers)}}

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            end = self.filled + n
            keys, values = self.keys[layer], self.values[layer]
            keys[:, :, self.filled : end] = k.transpose(1, 2)
            values[:, :, self.filled : end] = v.transpose(1, 2)
            mask = masks[forward.window_of(self.spec, layer)]
            if n == 1 and q.device.type == "cpu":
                return _one_query(self.spec, q, keys[:, :, :end], values[:, :, :end], mask)
            return F.scaled_dot_product_attention(
                q.transpose(1, 2),
                keys[:, :, :end],
                values[:, :, :end],
                attn_mask=mask,
                is_causal=mask is None and n > 1,
                scale=None if self.spec.scaled else 1.0,
                enable_gqa=q.shape[2] != k.shape[2],
            ).transpose(1, 2)

        for i, layer in enumerate(self.layers):
            x = forward.block(self.spec, i, layer, x, turn, attend)
        self.filled += n
        return x

    def _mask(self, n: int, window: int | None) -> Bool[Tensor, "row 1 query key"] | None:
        """Where a query may look, or None where plain causality says it all. Padding sees itself, to stay finite."""
        end = self.filled + n
        if not self.ragged and (window is None or window >= end) and (n == 1 or self.filled == 0):
            return None
        query = torch.arange(self.filled, end, device=self.device)[:, None]
        key = torch.arange(end, device=self.device)[None, :]
        seen = key <= query
        if window is not None:
            seen &= key > query - window
        if not self.ragged:
            return seen[None, None]
        return (seen & (key >= self.pad[:, None, None]) | (key == query))[:, None]


def _one_query(
    spec: Spec,
    q: Float[Tensor, "row 1 head d_head"],
    keys: Float[Tensor, "row kv_head key d_head"],
    values: Float[Tensor, "row kv_head key d_head"],
    mask: Bool[Tensor, "_ 1 1 key"] | None,
) -> Float[Tensor, "row 1 head d_head"]:
    """Attention of one new token: two batched products, which take a CPU less time than its fused kernel."""
    grouped = q.reshape(-1, q.shape[2] // keys.shape[1], spec.d_head)
    scores = torch.bmm(grouped * spec.d_head**-0.5 if spec.scaled else grouped, keys.flatten(0, 1).mT)
    if mask is not None:
        scores.view(len(q), -1, scores.shape[-1]).masked_fill_(~mask.flatten(1, 2), -torch.inf)
    return torch.bmm(scores.softmax(-1), values.flatten(0, 1)).view(q.shape)


class _Writer(Cache):
    """A model that reads tokens and says the logits after them, with its cache."""

    def __init__(self, model: "HookedTransformer", rows: list[list[int]], places: int, dtype: torch.dtype) -> None:
        width, filler = max(len(row) for row in rows), rows[0][0]
        super().__init__(model, spec_of(model), [width - len(row) for row in rows], places, dtype)
        self.model = model
        self.unembed = forward.Product((model.unembed.W_U.to(dtype), None), pack=True)
        self.prompt = torch.tensor([[filler] * (width - len(row)) + row for row in rows], device=self.device)

    def step(self, tokens: Int[Tensor, "row pos"]) -> Float[Tensor, "row d_vocab"]:
        """Feed tokens, return the logits after the last of them."""
        x = self.run(forward.embed(self.model, self.spec, tokens, self.positions(tokens.shape[1])))
        final = self.model.ln_final
        last = forward.norm(x[:, -1], final.w, getattr(final, "b", None), self.spec.eps, self.spec.style)
        return self.unembed(last.to(self.dtype))[0].float()


def generate_ids(
    model: "HookedTransformer",
    prompts: Sequence[Sequence[int]],
    *,
    max_new_tokens: int = 256,
    sampling: Sampling | None = None,
    stop: int | None = None,
    precision: str = "float32",
) -> list[list[int]]:
    """The new tokens of each row, without the prompt and without the stop token.

    A row ends at `stop` (the tokenizer's end of story by default), after `max_new_tokens`, or where the model's
    context is full. ValueError for an empty prompt or one that fills the context.
    """
    sampling = sampling or Sampling()
    spec = shape_of(model)
    stop = tokenizer_of(model).bos if stop is None else stop
    rows = [list(p) for p in prompts]
    if not rows:
        return []
    longest = max(len(row) for row in rows)
    if not all(rows):
        raise ValueError("An empty prompt cannot be continued. Start it with the end-of-story token.")
    if longest >= spec.n_ctx:
        raise ValueError(f"A prompt of {longest} tokens fills this model's context of {spec.n_ctx}. Shorten it.")
    if max_new_tokens < 1:
        raise ValueError(f"max_new_tokens is {max_new_tokens}; it must be at least 1.")
    budgets = [min(max_new_tokens, spec.n_ctx - len(row)) for row in rows]
    new: list[list[int]] = [[] for _ in rows]
    with torch.inference_mode():
        for numbers in _in_step(spec, rows):
            own, budget = [rows[i] for i in numbers], [budgets[i] for i in numbers]
            cache = _writer(model, own, max(map(len, own)) + max(budget), forward.precision(precision))
            if sampling.beams > 1:
                made = _beam_search(cache, budget, sampling.beams, stop)
            else:
                made = _sample(cache, budget, sampling, stop, numbers)
            for i, row in zip(numbers, made, strict=True):
                new[i] = row
    return new


def _in_step(spec: Spec | CompressorSpec, rows: list[list[int]]) -> list[list[int]]:
    """The numbers of the rows that are written together: all of them; for a compressor, those at the same place of a
    pair."""
    if isinstance(spec, Spec):
        return [list(range(len(rows)))]
    by_place = [[i for i, row in enumerate(rows) if len(row) % 2 == place] for place in (0, 1)]
    return [numbers for numbers in by_place if numbers]


def _writer(model: Any, rows: list[list[int]], places: int, dtype: torch.dtype) -> Any:
    if isinstance(shape_of(model), Spec):
        return _Writer(model, rows, places, dtype)
    from tslens.compressor import Writer

    return Writer(model, rows, places, dtype)


def _sample(cache: Any, budgets: list[int], sampling: Sampling, stop: int, numbers: list[int]) -> list[list[int]]:
    n, steps = len(budgets), max(budgets)
    chance = torch.stack(
        [torch.rand(steps, generator=torch.Generator().manual_seed(sampling.seed * 1_000_003 + i)) for i in numbers]
    ).to(cache.device)
    chosen = torch.full((n, steps), stop, device=cache.device)
    alive = torch.ones(n, dtype=torch.bool, device=cache.device)
    budget = torch.tensor(budgets, device=cache.device)
    scores = cache.step(cache.prompt)
    for t in range(steps):
        token = choose(scores, chance[:, t], sampling)
        chosen[:, t] = torch.where(alive, token, stop)
        alive &= (token != stop) & (t + 1 < budget)
        if t + 1 == steps or not alive.any():
            break
        scores = cache.step(token[:, None])
    return [_until(row, stop) for row in chosen.tolist()]


def _until(row: list[int], stop: int) -> list[int]:
    return row[: row.index(stop)] if stop in row else row


def choose(
    scores: Float[Tensor, "row d_vocab"], chance: Float[Tensor, " row"], sampling: Sampling
) -> Int[Tensor, " row"]:
    """One token a row: the likeliest at temperature 0, else the one at which the cumulative probability of the kept
    tokens, likeliest first, passes `chance` (uniform on [0, 1))."""
    if sampling.temperature == 0:
        return scores.argmax(dim=-1)
    k = min(sampling.top_k or scores.shape[-1], scores.shape[-1])
    if sampling.top_k is None and sampling.top_p is None:
        cumulative = (scores / sampling.temperature).softmax(dim=-1).cumsum(dim=-1)
        place = torch.searchsorted(cumulative, (chance * cumulative[:, -1])[:, None], right=True)
        return place.squeeze(1).clamp(max=scores.shape[-1] - 1)
    values, tokens = scores.topk(k, dim=-1)
    probability = (values / sampling.temperature).softmax(dim=-1)
    cumulative = probability.cumsum(dim=-1)
    if sampling.top_p is not None:
        keep = cumulative - probability < sampling.top_p
        probability = probability * keep
        cumulative = probability.cumsum(dim=-1)
    place = torch.searchsorted(cumulative, (chance * cumulative[:, -1])[:, None], right=True)
    return tokens.gather(1, place.clamp(max=k - 1)).squeeze(1)


def _beam_search(cache: Any, budgets: list[int], beams: int, stop: int) -> list[list[int]]:
    """For each prompt, the hypothesis with the highest mean log-probability per token of those found: the finished
    ones and, where the budget ends first, the running ones. A prompt is done when none that runs is ahead."""
    n, steps, device = len(budgets), max(budgets), cache.device
    scores = cache.step(cache.prompt).log_softmax(dim=-1)
    vocabulary = scores.shape[-1]
    cache.reorder(torch.arange(n, device=device).repeat_interleave(beams))
    scores = scores.repeat_interleave(beams, dim=0)
    total = torch.full((n, beams), float("-inf"), device=device)
    total[:, 0] = 0.0  # the beams start alike: only one may speak
    text: list[list[list[int]]] = [[[] for _ in range(beams)] for _ in range(n)]
    best: list[tuple[float, list[int]]] = [(float("-inf"), [])] * n
    done = [False] * n
    for t in range(steps):
        reach = (total[:, :, None] + scores.view(n, beams, vocabulary)).flatten(1)
        values, places = reach.topk(min(2 * beams, reach.shape[1]), dim=-1)
        source, token = places // vocabulary, places % vocabulary
        rows: list[int] = []
        tokens: list[int] = []
        for i in range(n):
            if done[i]:  # it goes on for the others' sake, unheard
                rows += range(i * beams, (i + 1) * beams)
                tokens += [0] * beams
                continue
            kept: list[tuple[int, int, float]] = []
            for value, b, w in zip(values[i].tolist(), source[i].tolist(), token[i].tolist(), strict=True):
                if w == stop:
                    best[i] = max(best[i], (value / (t + 1), text[i][b]), key=lambda h: h[0])
                elif len(kept) < beams:
                    kept.append((b, w, value))
            text[i] = [text[i][b] + [w] for b, w, _ in kept]
            total[i] = torch.tensor([value for _, _, value in kept], device=device)
            rows += [i * beams + b for b, _, _ in kept]
            tokens += [w for _, w, _ in kept]
            done[i] = t + 1 == budgets[i] or best[i][0] >= float(total[i].max()) / (t + 1)
        if all(done):
            break
        cache.reorder(torch.tensor(rows, device=device))
        scores = cache.step(torch.tensor(tokens, device=device)[:, None]).log_softmax(dim=-1)
    for i in range(n):
        b = int(total[i].argmax())
        best[i] = max(best[i], (float(total[i, b]) / max(1, len(text[i][b])), text[i][b]), key=lambda h: h[0])
    return [hypothesis for _, hypothesis in best]


def generate(
    model: "HookedTransformer",
    prompts: str | Sequence[str] = "",
    *,
    n: int = 1,
    max_new_tokens: int = 256,
    sampling: Sampling | None = None,
    precision: str = "float32",
) -> list[str]:
    """Stories, prompt included: `n` for each prompt, in order. An empty prompt starts a new story.

    ValueError for more than one story of a prompt from beam search, which finds one."""
    tokenizer, sampling = tokenizer_of(model), sampling or Sampling()
    if n < 1:
        raise ValueError(f"n is {n}; it must be at least 1.")
    if n > 1 and sampling.beams > 1:
        raise ValueError(f"Beam search finds one story for a prompt, not {n}: ask for n=1, or sample with beams=1.")
    asked = [prompts] if isinstance(prompts, str) else list(prompts)
    rows = [row for row in tokenizer.encode(asked) for _ in range(n)]
    new = generate_ids(model, rows, max_new_tokens=max_new_tokens, sampling=sampling, precision=precision)
    return [tokenizer.decode(row + more) for row, more in zip(rows, new, strict=True)]
