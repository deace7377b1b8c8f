"""What is installed, each in a folder that is there whole or not at all, under a key that says what is in it."""

from __future__ import annotations

import asyncio
import hashlib
import sys
import sysconfig
from collections.abc import Awaitable, Callable
from pathlib import Path

from kgrid_runtime.installer import scratch

Progress = Callable[[str], None]
Make = Callable[[Path, Path, Progress], Awaitable[None]]
"""Makes the second folder, with the first for what is temporary: programs get folders in that, and never all of it."""


class Environments:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "installs"
        self._staging = folder / "installing"
        self._making: dict[str, asyncio.Task[None]] = {}
        self._told: dict[str, list[Progress]] = {}

    def prepare(self) -> None:
        """Makes the folders, and drops what was interrupted. Raises OSError."""
        scratch.prepare(self._staging)
        self.folder.mkdir(parents=True, exist_ok=True)

    async def obtain(self, key: str, make: Make, progress: Progress) -> Path:
        """The folder of that key, made where it is not there yet. Raises what `make` raises, and OSError."""
        target = self.folder / key
        if not target.is_dir():
            told = self._told.setdefault(key, [])
            told.append(progress)
            # One installation for all who need it, which goes on when one of them gives up.
            task = self._making.get(key)
            if task is None:
                task = self._making[key] = asyncio.ensure_future(self._make(target, make, told))
                task.add_done_callback(lambda done: self._made(key, done))
            await asyncio.shield(task)
        target.touch()
        return target

    def _made(self, key: str, task: asyncio.Task[None]) -> None:
        del self._making[key]
        self._told.pop(key, None)
        if not task.cancelled():
            # Nobody may be waiting any more.
            task.exception()

    async def _make(self, target: Path, make: Make, told: list[Progress]) -> None:
        def tell_all(doing: str) -> None:
            for progress in told:
                progress(doing)

        staging = scratch.make(self._staging)
        try:
            made = staging / "packages"
            await make(staging, made, tell_all)
            made.mkdir(exist_ok=True)
            _publish(made, target)
        finally:
            await asyncio.to_thread(scratch.drop, staging)


def _publish(made: Path, target: Path) -> None:
    try:
        made.replace(target)
    except OSError:
        # Another runtime with the same cache was faster.
        if not target.is_dir():
            raise


def key_of(*parts: str) -> str:
    """For what depends on these texts, on the version of Python, and on the platform."""
    return hashlib.sha256("\0".join([*parts, sys.version, sysconfig.get_platform()]).encode()).hexdigest()
