"""A key for the server of the tests, and settings whose waits are short."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.llm.server import Server
from tslens import llm


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", Server.key)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)


@pytest.fixture
def settings() -> Callable[..., llm.Settings]:
    """`settings(SERVER, ...)`: a model with a price, and waits of a millisecond."""

    def made(server: Server, **more: Any) -> llm.Settings:
        usual: dict[str, Any] = {"model": "claude-haiku-4-5", "first_wait": 0.001, "longest_wait": 0.004, "poll": 0.001}
        return llm.Settings(base_url=server.url, **(usual | more))

    return made
