"""How long tests wait, and what they judge of time. Others may keep the cores busy while they run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# Seconds within which what happens at all has happened, on any machine.
PATIENCE = 60.0


def promised(seconds: float) -> float:
    """The most that something may take of which so many seconds are promised: those in the long rounds, which run at
    rest. In every other run only what does not end at all is found."""
    return in_round(max(seconds, PATIENCE), seconds)


def in_round(short: T, long: T) -> T:
    """Amount of work that could go on without end: one for every run, one for the long rounds."""
    return long if "KGRID_LONG_ROUND" in os.environ else short


def wait_until(condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.01)
