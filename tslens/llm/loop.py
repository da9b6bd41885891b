"""Run a coroutine to its end, whether or not an event loop runs already."""

import asyncio
import contextlib
import contextvars
from collections.abc import Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

Made = TypeVar("Made")


def finish(work: Coroutine[Any, Any, Made]) -> Made:
    """Run to the end, in a thread of its own where a loop runs already, as in Jupyter; one error, not a group."""

    async def ungrouped() -> Made:
        try:
            return await work
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(ungrouped())
    return _in_a_thread(ungrouped())


def _in_a_thread(work: Coroutine[Any, Any, Made]) -> Made:
    """Run in a thread of its own; an interrupt of the caller cancels what is under way."""
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]] = Future()

    async def noted() -> Made:
        started.set_result((asyncio.get_running_loop(), asyncio.current_task()))
        return await work

    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(contextvars.copy_context().run, asyncio.run, noted())
        try:
            return found.result()
        except BaseException:
            if not found.done():
                loop, task = started.result()
                assert task is not None
                with contextlib.suppress(RuntimeError):  # it ended meanwhile
                    loop.call_soon_threadsafe(task.cancel)
            raise
