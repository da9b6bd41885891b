"""Whether requests are still asked: an error or Ctrl-C ends that, and cuts waits short that wait for no answer."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LOOK = 0.1
"""Seconds between two looks whether somebody asked to stop."""


class Halt:
    """Why nothing more is asked, once there is a reason. Answers under way are waited for all the same."""

    def __init__(self) -> None:
        self.why: BaseException | None = None
        self.is_stopped: Callable[[], bool] = lambda: False
        """whether somebody asked to stop"""
        self.reason: Callable[[], BaseException] = KeyboardInterrupt
        """says that it stops, and gives what is raised then"""
        self._resting: set[asyncio.Task[None]] = set()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look now and again, inside the block, whether somebody asked to stop."""
        loop = asyncio.get_running_loop()
        later: asyncio.TimerHandle

        def look() -> None:
            nonlocal later
            later = loop.call_later(LOOK, look)
            self._take()

        later = loop.call_later(0, look)
        try:
            yield
        finally:
            later.cancel()

    def set(self, why: BaseException) -> None:
        """Nothing more is asked, for this reason or an earlier one."""
        self.why = self.why or why
        for resting in self._resting:
            resting.cancel()

    def check(self) -> None:
        """Raise the reason, if there is one."""
        self._take()
        if self.why is not None:
            raise self.why

    async def rest(self, seconds: float) -> None:
        """Wait so long, or until nothing more is asked."""
        if self.why is None:
            self._resting.add(resting := asyncio.create_task(asyncio.sleep(seconds)))
            await asyncio.wait([resting])
            self._resting.discard(resting)

    async def rest_or_raise(self, seconds: float) -> None:
        """Wait so long; raises the reason as soon as there is one."""
        await self.rest(seconds)
        self.check()

    def _take(self) -> None:
        if self.why is None and self.is_stopped():
            self.set(self.reason())
