"""What requests will cost, before anything is spent."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from tslens import progress
from tslens.llm.asking import known
from tslens.llm.client import RejectedError, UnreachableError, connect, has_key, insist
from tslens.llm.loop import finish
from tslens.llm.prices import Tokens, price_of, thinking_of
from tslens.llm.requests import Request, Settings, dollars
from tslens.llm.store import AnswerStore

SAMPLE = 24
"""Requests whose tokens the API counts; the others follow by their bytes."""
BYTES_PER_TOKEN = 3.5
"""Of English text, where nobody counts."""


@dataclass(frozen=True)
class CostEstimate:
    """Expected and largest cost of the requests that the cache does not answer, in US dollars."""

    model: str
    requests: int
    """that will be asked"""
    cached: int
    """that the cache answers, at no cost"""
    input_tokens: int
    output_tokens: int
    """of answers as long as those of their kind in the cache, or half as long as they may be"""
    usd: float
    """expected, without discounts for a cached prefix"""
    most_usd: float
    """if every answer is as long as it may be, and all that may follow is asked; answers that are lost or useless and
    asked again come on top"""
    counted: str
    """how tokens were counted"""
    batch: bool
    batch_usd: float
    """expected, by message batches"""
    limit_usd: float | None
    further: int = 0
    """requests that may follow, by what the answers are"""
    under_way: int = 0
    """of the requests, those in a message batch that was submitted before: billed already, so not in `usd`"""

    def __str__(self) -> str:
        if not self.requests:
            return f"the cache answers all {self.cached:,} requests to {self.model}"
        way = "by message batches" if self.batch else f"{dollars(self.batch_usd)} by message batches"
        more = f"; {self.further:,} further requests may follow" if self.further else ""
        limit = "" if self.limit_usd is None else f" At most {dollars(self.limit_usd)} are spent on what is sent now."
        paid = f"; {self.under_way:,} of these are under way in a batch that was paid" if self.under_way else ""
        return (
            f"{self.requests:,} requests to {self.model} ({self.cached:,} more are answered by the cache{paid}): about "
            f"{self.input_tokens:,} tokens of input ({self.counted}) and {self.output_tokens:,} of output. "
            f"Expected {dollars(self.usd)}, {way}{more}; at most {dollars(self.most_usd)} if each is asked once.{limit}"
        )


def estimate(requests: Sequence[Request], settings: Settings, further: Sequence[Request] = ()) -> CostEstimate:
    """What `ask` would cost. The API counts the tokens of some requests, for nothing, where there is a key.

    The `further` requests, which may follow, count in the worst case alone.

    Raises:
        InputError: no price for the model, a file of prices or a cache that cannot be read.
    """
    price, store = price_of(settings.model, settings.prices), AnswerStore(settings.cache)
    thinking_of(settings, price)
    asked, later = (_unknown(some, settings, store) for some in (requests, further))
    under_way = store.under_way
    new = [request for request in asked if request.key(settings.name) not in under_way]
    per_byte, counted = _tokens_per_byte(new, settings)
    tokens_in = round(per_byte * sum(request.most_input for request in new))
    usual = {kind: sum(past) / len(past) for kind, past in store.output_tokens.items()}
    tokens_out = round(sum(usual.get(one.kind, (one.max_tokens + settings.thinking) / 2) for one in new))
    usd = price.usd(Tokens(tokens_in, tokens_out))
    return CostEstimate(
        model=settings.model,
        requests=len(asked),
        cached=len({request.key(settings.name) for request in requests}) - len(asked),
        input_tokens=tokens_in,
        output_tokens=tokens_out,
        usd=usd * (price.batch if settings.batch else 1.0),
        most_usd=sum(price.most(request, settings) for request in asked + later),
        counted=counted,
        batch=settings.batch,
        batch_usd=usd * price.batch,
        limit_usd=settings.limit_usd,
        further=len(later),
        under_way=len(asked) - len(new),
    )


def _unknown(requests: Sequence[Request], settings: Settings, store: AnswerStore) -> list[Request]:
    """Those that the cache does not answer, each once."""
    by_key = {request.key(settings.name): request for request in requests}
    return [request for key, request in by_key.items() if known(request, key, store) is None]


def _tokens_per_byte(requests: list[Request], settings: Settings) -> tuple[float, str]:
    """Tokens per byte of input, and who says so."""
    if requests and has_key():
        sample = requests[:: max(1, len(requests) // SAMPLE)][:SAMPLE]
        try:
            with progress.stage("counting tokens"):
                counts = finish(_counted(sample, settings))
        except (UnreachableError, RejectedError):
            pass
        else:
            by = f"the API's count of {len(sample):,} of them"
            return sum(counts) / sum(request.most_input for request in sample), by
    return 1 / BYTES_PER_TOKEN, f"a token for {BYTES_PER_TOKEN} bytes, because nobody counted"


async def _counted(requests: list[Request], settings: Settings) -> list[int]:
    async with connect(settings) as client:

        async def count(request: Request) -> int:
            given = request.counted(settings.model)
            found = await insist(lambda: client.messages.count_tokens(**given), settings, request.key(settings.name))
            return found.input_tokens

        return list(await asyncio.gather(*(count(request) for request in requests)))
