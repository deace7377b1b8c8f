"""Runs `async def` functions. Each thread has an event loop of its own, so that one that blocks holds up no other."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable

_local = threading.local()


def settle(awaitable: object) -> object:
    # Imported by the first function that needs it: most do not, and it doubles the start of a worker.
    import asyncio  # noqa: PLC0415

    loop = cast("asyncio.AbstractEventLoop | None", getattr(_local, "loop", None))
    if loop is None:
        loop = _local.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(_result_of(cast("Awaitable[object]", awaitable)))
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))


async def _result_of(awaitable: Awaitable[object]) -> object:
    return await awaitable
