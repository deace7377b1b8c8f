"""The program which started the runtime: what its first line on stdin says, and that it is gone when that closes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

_LONGEST_LINE = 1_000_000


@dataclass(frozen=True)
class HandedOver:
    """What must not stand in an environment, which other processes can read."""

    secret: str | None = None
    """Every request must carry it, and those to the activator do."""
    installer: Mapping[str, str] = field(default_factory=dict)
    """Variables for pip, which may hold credentials."""


def read_first_line() -> HandedOver | None:
    """The first line is JSON {"secret"?, "installer"?}, or empty. None where stdin ends before."""
    line = bytearray()
    while not line.endswith(b"\n"):
        data = os.read(0, 1)
        if not data or len(line) > _LONGEST_LINE:
            return None
        line += data
    said = json.loads(line) if line.strip() else {}
    return HandedOver(said.get("secret") or None, said.get("installer") or {})


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
