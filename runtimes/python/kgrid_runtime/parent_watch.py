"""Notices that the program which started the runtime is gone: its end of stdin closes, however it ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable


def watch_stdin(gone: Callable[[], None], at_the_latest: Callable[[], None], seconds: float) -> None:
    """Calls `gone` on the event loop, and `at_the_latest` on a thread `seconds` later, should the loop not respond."""
    loop = asyncio.get_running_loop()

    def watch() -> None:
        try:
            while os.read(0, 4096):
                pass
        except OSError:
            pass
        timer = threading.Timer(seconds, at_the_latest)
        timer.daemon = True
        timer.start()
        with contextlib.suppress(RuntimeError):  # already stopping
            loop.call_soon_threadsafe(gone)

    threading.Thread(target=watch, name="parent", daemon=True).start()
