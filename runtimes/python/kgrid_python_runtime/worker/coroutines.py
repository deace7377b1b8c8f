"""Runs `async def` functions. Each thread has an event loop of its own, so that one that blocks holds up no other."""

from __future__ import annotations

import threading
from collections.abc import Awaitable

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio


class _Local(threading.local):
    loop: asyncio.AbstractEventLoop | None = None


_local = _Local()


def settle(awaitable: Awaitable[object]) -> object:
    # Imported by the first function that needs it: most do not, and it doubles the start of a worker.
    import asyncio  # noqa: PLC0415

    loop = _local.loop
    if loop is None:
        loop = _local.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(_result_of(awaitable))
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))


async def _result_of(awaitable: Awaitable[object]) -> object:
    return await awaitable
