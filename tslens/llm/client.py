"""The client of the Messages API: the key, what a try of a call came to, and what an answer holds."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from tslens.errors import InputError
from tslens.llm.prices import Tokens
from tslens.llm.requests import Settings

if TYPE_CHECKING:
    from anthropic import APIStatusError, AsyncAnthropic

Got = TypeVar("Got")

KEY = "ANTHROPIC_API_KEY"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
BUSY = {409, 429, 529}
"""Status codes that say that nothing was answered, and that another try helps."""
TIMEOUT = 408


class UnreachableError(InputError):
    """No answer came in all tries."""


class AbsentError(InputError):
    """The API does not have what was asked for."""


class RejectedError(InputError):
    """The API rejects this request, however often it is sent."""


def has_key() -> bool:
    """Whether there is a key."""
    return bool(_key())


def _key() -> str:
    """The key without white space around it, such as the end of a line; empty if there is none."""
    return os.environ.get(KEY, "").strip()


def check_key(model: str) -> None:
    """InputError without a key, or with one that cannot be sent."""
    if not has_key():
        raise InputError(f"there is no key for {model}: set the environment variable {KEY}")
    if not all("!" <= character <= "~" for character in _key()):
        raise InputError(f"the key in {KEY} has a space, or a character that is not of ASCII; copy it again")


def connect(settings: Settings) -> "AsyncAnthropic":
    """A client. InputError without the SDK, without a key, or where TSLENS_OFFLINE forbids the network."""
    try:
        from anthropic import AsyncAnthropic
    except ImportError as error:
        raise InputError("Asking a large model needs the extra `grader`: pip install 'tslens[grader]'.") from error
    check_key(settings.model)
    client = AsyncAnthropic(api_key=_key(), base_url=settings.base_url, max_retries=0, timeout=settings.timeout)
    if os.environ.get("TSLENS_OFFLINE", "") not in ("", "0") and client.base_url.host not in LOOPBACK:
        raise InputError("TSLENS_OFFLINE forbids the network, which asking a large model needs; unset it")
    return client


@dataclass(frozen=True)
class Lost:
    """A try whose answer may have been made and billed, and did not arrive."""

    why: str
    wait: float | None = None
    """seconds that the server asks for"""


@dataclass(frozen=True)
class Busy:
    """A try that made no answer; another may."""

    why: str
    wait: float | None
    """seconds that the server asks for"""


async def attempt(call: Callable[[], Awaitable[Got]], settings: Settings) -> Got | Lost | Busy:
    """One try of a call.

    Raises:
        RejectedError: this request can never be answered.
        InputError: none can: the key, the model or the account is refused.
    """
    from anthropic import APIConnectionError, APIError, APIStatusError
    from httpx2 import ConnectError, ConnectTimeout, HTTPError, PoolTimeout, UnsupportedProtocol

    try:
        return await call()
    except APIStatusError as error:
        if error.status_code in BUSY:
            return Busy(f"status {error.status_code}", _retry_after(error))
        if error.status_code == TIMEOUT or error.status_code >= 500:  # a gateway may say so of what was answered
            return Lost(f"status {error.status_code}", _retry_after(error))
        said = _said(error)
        if error.status_code in (401, 403):
            raise InputError(f"the API refuses the key in {KEY} (status {error.status_code}{said})") from None
        if error.status_code == 402:
            raise InputError(f"the API refuses to be paid by this account (status 402{said})") from None
        if error.status_code == 404:
            raise AbsentError(f"the API knows no model {settings.model!r} (status 404{said}); give another") from None
        raise RejectedError(f"rejected (status {error.status_code}{said})") from None
    except APIConnectionError as error:
        if isinstance(error.__cause__, ConnectError | ConnectTimeout | PoolTimeout | UnsupportedProtocol):
            return Busy("no connection", None)  # nothing was sent
        return Lost("timeout" if "timed out" in str(error) else "connection lost")
    except (APIError, HTTPError, json.JSONDecodeError, UnicodeDecodeError) as error:
        return Lost(type(error).__name__)


def wait_of(settings: Settings, key: str, number: int, asked: float | None) -> float:
    """Seconds to wait after try `number` (from 0): what the server asks for, or twice as long as the last time.

    The share that keeps requests apart is drawn from the key, so it is the same in every run.
    """
    if asked is not None:
        return asked
    share = blake2b(f"{key}:{number}".encode(), digest_size=2).digest()
    longest = min(settings.longest_wait, settings.first_wait * 2.0**number)
    return longest * (0.5 + int.from_bytes(share) / 2**17)


async def insist(
    call: Callable[[], Awaitable[Got]],
    settings: Settings,
    key: str,
    rest: Callable[[float], Awaitable[None]] | None = None,
) -> Got:
    """The answer of a call that costs nothing, tried again until it comes. UnreachableError after all tries.

    Between two tries it waits some seconds, by `rest` if that is given.
    """
    why = ""
    for number in range(settings.tries):
        found = await attempt(call, settings)
        if not isinstance(found, Lost | Busy):
            return found
        why = found.why
        await (rest or asyncio.sleep)(wait_of(settings, key, number, found.wait))
    raise UnreachableError(f"no answer in {settings.tries} tries ({why})")


def tokens_of(message: Any) -> Tokens | None:
    """The tokens that an answer is billed for; None if it does not say."""
    usage = getattr(message, "usage", None)
    counts = [
        getattr(usage, name, None) or 0
        for name in ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    ]
    if not all(isinstance(count, int) for count in counts) or not any(counts):
        return None
    return Tokens(*counts)


def read(message: Any, answer: type[BaseModel]) -> BaseModel | str:
    """The answer in a message, or what is wrong with it: `refusal`, `truncated` or `malformed`."""
    reason = getattr(message, "stop_reason", None)
    if reason == "refusal":
        return "refusal"
    if reason in ("max_tokens", "model_context_window_exceeded"):
        return "truncated"
    content = getattr(message, "content", None)
    blocks = content if isinstance(content, list) else []
    texts = [block.text for block in blocks if getattr(block, "type", None) == "text"]
    try:
        return answer.model_validate_json("".join(texts))
    except (ValidationError, TypeError):
        return "malformed"


def _retry_after(error: "APIStatusError") -> float | None:
    """Seconds of the header `retry-after`, at most an hour."""
    try:
        seconds = float(error.response.headers["retry-after"])
    except (KeyError, ValueError):  # a date is not what this API sends
        return None
    return min(seconds, 3600.0) if seconds >= 0 else None


def _said(error: "APIStatusError") -> str:
    """The API's own words, without the key should they repeat it."""
    said = quoted(error.api_message)
    return f": {said}" if said else ""


def quoted(message: object) -> str:
    """What a server said, in one short line, without the key should it repeat that."""
    return " ".join(str(message or "").replace(_key() or "\0", "***").split())[:200]
