"""A limit on spending that is never exceeded: the worst case of every request is reserved before it is sent."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from tslens.llm.requests import dollars


class Budget:
    """What was spent and lost, and what is reserved for requests under way, in US dollars.

    Calls of `ask`, one after another, may share it: the limit holds for all of them together.
    """

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.spent = 0.0
        """for answers that arrived"""
        self.lost = 0.0
        """reserved for answers that were lost on the way; they may have been billed"""
        self._reserved: list[float] = []
        self._changed = asyncio.Condition()

    def begin(self) -> None:
        """Begin another call. What a call that was interrupted had reserved counts as lost."""
        self.end()
        self._changed = asyncio.Condition()  # it belongs to the event loop of one call

    def end(self) -> None:
        """End a call. What is still reserved, for requests that were interrupted, counts as lost."""
        self.lost += sum(self._reserved)
        self._reserved.clear()

    @contextmanager
    def noted(self) -> Iterator[None]:
        """An error or Ctrl-C that ends the block has a note of what was spent and lost, once."""
        try:
            yield
        except BaseException as error:
            self.end()
            if (self.spent or self.lost) and str(self) not in getattr(error, "__notes__", ()):
                error.add_note(str(self))
            raise

    def __str__(self) -> str:
        missing = f", and at most {dollars(self.lost)} for answers lost on the way" if self.lost else ""
        return f"the answers cost {dollars(self.spent)}{missing}"

    @property
    def left(self) -> float:
        """What may still be reserved."""
        return float("inf") if self.limit is None else self.limit - self.spent - self.lost - sum(self._reserved)

    async def reserve(self, usd: float, *, always: bool = False) -> bool:
        """Reserve the worst case of a request; waits for others under way where that may help. False: it does not fit.

        What was sent by an earlier process is reserved `always`.
        """
        async with self._changed:
            while not always and usd > self.left:
                if not self._reserved:
                    return False
                await self._changed.wait()
            self._reserved.append(usd)
            return True

    async def settle(self, reserved: float, *, spent: float = 0.0, lost: float = 0.0) -> None:
        """Give back what was reserved, less what was spent or lost."""
        async with self._changed:
            self._reserved.remove(reserved)
            self.spent += spent
            self.lost += lost
            self._changed.notify_all()
