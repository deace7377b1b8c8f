"""Keeps the activator aware of this runtime."""

from __future__ import annotations

import asyncio

from kgrid_runtime import VERSION
from kgrid_runtime.activator import Activator, Refused
from kgrid_runtime.log import Log

ENGINE = "python"
APP = "kgrid-python-runtime"
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 30.0


class Registration:
    def __init__(self, activator: Activator, url: str, heartbeat: float, log: Log) -> None:
        """`heartbeat` in seconds; 0: register once and never again."""
        self._activator = activator
        self._url = url
        self._heartbeat = heartbeat
        self._log = log
        self._trouble: str | None = None

    async def keep(self) -> None:
        """Registers until it succeeds, then with each heartbeat."""
        pause = _FIRST_PAUSE
        # The activator forgets what it had activated here: this process has none of it any more.
        while not await self.register(force_update=True):
            await asyncio.sleep(min(pause, self._heartbeat or _LONGEST_PAUSE))
            pause = min(pause * 2, _LONGEST_PAUSE)
        while self._heartbeat:
            await asyncio.sleep(self._heartbeat)
            await self.register(force_update=False)

    async def register(self, force_update: bool) -> bool:
        """Whether the activator took note. Each change between yes and no is logged once."""
        registration = {"engine": ENGINE, "app": APP, "version": VERSION, "url": self._url, "forceUpdate": force_update}
        try:
            await self._activator.register(registration)
        except Refused as refused:
            if self._trouble != str(refused):
                self._trouble = str(refused)
                self._log.warn(f"Cannot register at {self._activator.url}: {refused}")
            return False
        if self._trouble is not None or force_update:
            self._trouble = None
            self._log.info(f"Registered at {self._activator.url} as {self._url}")
        return True
