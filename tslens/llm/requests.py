"""What a large model is asked, by which settings, and what came of it."""

import json
import os
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel

from tslens.errors import InputError

OVERHEAD = 1000
"""Tokens that the API may add to a request: its frame, and what it says about the schema."""
BUDGET = "budget"
"""The failure of what was not asked because the limit might have been exceeded."""
VENDOR = "api.anthropic.com"
"""The host of the API's own server."""


@dataclass(frozen=True)
class Request:
    """One question to a large model, with the form of its answer."""

    system: str
    """the instructions, or rubric, that many requests share; the API caches this prefix"""
    text: str
    """what this request alone says"""
    answer: type[BaseModel]
    """the answer's fields; bounds of numbers are not enforced by the API, so scores are enumerations"""
    max_tokens: int
    """longest answer, in tokens"""
    repetition: int = 0
    """another answer to the same question has another repetition"""

    def key(self, model: str) -> str:
        """The hash of all that decides the answer: 32 hexadecimal digits, the name of the answer in the cache.

        `model` is the name by which `Settings.name` calls it.
        """
        parts = [model, self.system, self.text, _schema(self.answer), self.max_tokens, self.repetition]
        return blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()

    @property
    def kind(self) -> str:
        """The hash of what requests of a kind share: their answers are about as long as one another."""
        return blake2b((self.system + _schema(self.answer)).encode(), digest_size=6).hexdigest()

    def parameters(self, settings: "Settings", thinking: str) -> dict[str, Any]:
        """The arguments of `messages.create`, and of a request in a message batch."""
        longest = self.max_tokens + settings.thinking
        return {**self.counted(settings.model), "max_tokens": longest, "thinking": {"type": thinking}}

    def counted(self, model: str) -> dict[str, Any]:
        """The arguments of `messages.count_tokens`."""
        from anthropic import transform_schema

        system = {"type": "text", "text": self.system, "cache_control": {"type": "ephemeral"}}
        return {
            "model": model,
            "system": [system],
            "messages": [{"role": "user", "content": self.text}],
            "output_config": {"format": {"type": "json_schema", "schema": transform_schema(self.answer)}},
        }

    @property
    def most_input(self) -> int:
        """An upper bound of the input in tokens: a token is a byte or more."""
        return len((self.system + self.text + _schema(self.answer)).encode()) + OVERHEAD


def dollars(usd: float) -> str:
    """An amount of US dollars, to the cent or, below ten cents, to the millionth."""
    return f"${usd:,.2f}" if usd >= 0.1 or usd == 0 else f"${usd:.6f}"


def host_of(base_url: str | None = None) -> str:
    """Host and port of another server than the API's own, by its address, else by ANTHROPIC_BASE_URL; empty for the
    API's.

    Answers of another server, as in a rehearsal, never stand for the API's. InputError for what is no address.
    """
    address = base_url or os.environ.get("ANTHROPIC_BASE_URL", "")
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or address, parts.port
    except ValueError as error:
        raise InputError(f"{address!r} is no address of a server ({error}); correct ANTHROPIC_BASE_URL") from None
    if host == VENDOR:
        return ""
    named = f"[{host}]" if ":" in host else host
    return f"{named}:{port}" if port else named


@lru_cache(maxsize=256)
def _schema(answer: type[BaseModel]) -> str:
    return json.dumps(answer.model_json_schema(), sort_keys=True)


@dataclass
class Outcome:
    """What came of a request: an answer, or the reason why there is none, and what it cost in this run."""

    request: Request
    answer: BaseModel | None = None
    failure: str | None = None
    """why there is no answer, for good; `budget` if it was not asked"""
    cached: bool = False
    """read from the cache, at no cost"""
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    """paid in this run, useless answers included"""
    lost_usd: float = 0.0
    """most that answers cost which were lost on the way"""


@dataclass
class Settings:
    """How requests are asked. The key is no setting: it comes from ANTHROPIC_API_KEY alone."""

    model: str
    thinking: int = 0
    """tokens that the model may think before it answers, besides `max_tokens`"""
    concurrency: int = 8
    """requests under way at once"""
    limit_usd: float | None = None
    """never exceeded by a call: the worst case of each request is reserved before it is sent"""
    batch: bool = False
    """by message batches, at half the price; needs a cache, which remembers the batches"""
    cache: Path | None = None
    """file of the answers; None keeps none"""
    base_url: str | None = None
    """another server; else ANTHROPIC_BASE_URL, else the API's own"""
    prices: Path | None = None
    """TOML file of prices; else the user's own, else the package's"""
    tries: int = 8
    """of one answer, while the server is busy, fails, or cannot be reached"""
    misses: int = 3
    """useless answers to one request (malformed, cut off) after which it has failed"""
    first_wait: float = 1.0
    """seconds before the second try, doubled for each further one; `retry-after` counts first"""
    longest_wait: float = 60.0
    """seconds"""
    poll: float = 20.0
    """seconds between two looks at a batch"""
    timeout: float = 600.0
    """seconds that an answer may take"""
    batch_size: int = 10_000
    """most requests in one batch"""

    @property
    def name(self) -> str:
        """The model, how it answers, and at which server if not the API's own: part of every answer's key."""
        thinking = f" thinking {self.thinking}" if self.thinking else ""
        return self.model + thinking + (f" at {self.host}" if self.host else "")

    @property
    def host(self) -> str:
        """Host and port of another server than the API's own; else empty."""
        return host_of(self.base_url)

    def __post_init__(self) -> None:
        if self.thinking < 0:
            raise InputError(f"{self.thinking} tokens of thinking are none; give 0 or more")
        for name in ("concurrency", "tries", "misses", "batch_size"):
            if getattr(self, name) < 1:
                raise InputError(f"{name}={getattr(self, name)} asks nothing; give 1 or more")
        if self.limit_usd is not None and not self.limit_usd > 0:
            raise InputError(f"a limit of {self.limit_usd} US dollars allows nothing; give more than 0, or no limit")
        if self.batch and self.cache is None:
            raise InputError("message batches need a cache, which remembers a batch when this process ends; name one")
