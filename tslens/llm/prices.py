"""Prices of large models, from a file that a person can edit."""

import os
import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from tslens.errors import InputError, MissingInputError
from tslens.llm.requests import Request, Settings
from tslens.parsing import parse_toml
from tslens.paths import absent, contents

NAME = "prices.toml"
MILLION = 1e6
DEAREST = 1e9  # no price is as high: beyond it, the cost of many tokens would be no number


@dataclass(frozen=True)
class Tokens:
    """Tokens of one answer, as the API bills them."""

    input: int = 0
    output: int = 0
    cache_write: int = 0
    cache_read: int = 0

    @property
    def all_input(self) -> int:
        return self.input + self.cache_write + self.cache_read


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens."""

    input: float
    output: float
    cache_write: float
    cache_read: float
    batch: float
    """factor of message batches"""
    longest: float = float("inf")
    """tokens of a prompt from which on the price is not known"""
    thinking: str = "disabled"
    """the API's word for not thinking before the answer; `adaptive` where a model always does"""

    def usd(self, tokens: Tokens, *, batch: bool = False) -> float:
        """What these tokens cost."""
        total = (
            tokens.input * self.input
            + tokens.cache_write * self.cache_write
            + tokens.cache_read * self.cache_read
            + tokens.output * self.output
        )
        return total * (self.batch if batch else 1.0) / MILLION

    def most(self, request: Request, settings: Settings) -> float:
        """The most that one answer to this request costs: all input at the dearest price, and the longest answer.
        InputError for a prompt whose price is not known."""
        if request.most_input >= self.longest:
            raise InputError(
                f"a request may have {request.most_input:,} tokens of input, and the prices hold for fewer than "
                f"{self.longest:,.0f}: give shorter texts, or prices for such ones with --prices"
            )
        dearest = max(self.input, self.cache_write, self.cache_read)
        total = request.most_input * dearest + (request.max_tokens + settings.thinking) * self.output
        return total * (self.batch if settings.batch else 1.0) / MILLION


def price_of(model: str, path: Path | None = None) -> Price:
    """The price of a model by the file at `path`; else by the user's own file, else by the package's.

    Raises:
        InputError: no such file, one that is not as it should be, or a model without a price.
    """
    path = path or _own()
    if path is None:
        source, data = f"tslens's {NAME}", resources.files("tslens.llm").joinpath(NAME).read_bytes()
    elif path.is_file():
        source, data = str(path), contents(path)
    else:
        raise MissingInputError(f"{absent(path, 'file of prices')}; give another --prices, or none for the usual ones")
    found = parse_toml(data, source)
    try:
        models: dict[str, Any] = found["models"]
        name = model if model in models else re.sub(r"-\d{8}$", "", model)
        if name not in models:
            known = ", ".join(sorted(models))
            raise InputError(
                f"{source} has no price for the model {model!r} (it has {known}); write `{model} = {{ input = ..., "
                f"output = ... }}` under [models] of a copy of it, and give --prices FILE"
            )
        price = _price({"thinking": "disabled", "longest": float("inf"), **found["factors"], **models[name]})
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{source} is no file of prices ({error}); it holds [factors] with batch, cache_write and cache_read, and "
            "[models] with lines such as `claude-haiku-4-5 = { input = 1, output = 5 }`"
        ) from error
    return price


def _price(given: dict[str, Any]) -> Price:
    for name in ("input", "output", "batch", "cache_write", "cache_read"):
        value = given[name]
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < DEAREST:
            raise ValueError(f"{name} is {value!r}")
    return Price(
        input=given["input"],
        output=given["output"],
        cache_write=given["cache_write"] * given["input"],
        cache_read=given["cache_read"] * given["input"],
        batch=given["batch"],
        longest=float(given["longest"]),
        thinking=str(given["thinking"]),
    )


def thinking_of(settings: Settings, price: Price) -> str:
    """How a model is told to think or not. InputError for one that always does, if it is given no room."""
    if settings.thinking:
        return "adaptive"
    if price.thinking == "adaptive":
        raise InputError(
            f"{settings.model} always thinks before it answers: give --thinking TOKENS, such as 4000, or another model"
        )
    return price.thinking


def _own() -> Path | None:
    """The user's own file of prices, if there is one."""
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "tslens"
    return folder / NAME if (folder / NAME).is_file() else None
