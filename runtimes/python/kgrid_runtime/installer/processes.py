"""The processes that fetch and build: how they are started is a matter of who runs the installer."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Step:
    """What is to be run."""

    kind: str
    """`fetch`: with the network, and without code of packages. `build`: the other way round."""
    command: list[str]
    """Arguments for Python; the request follows."""
    request: Mapping[str, object]
    folder: Path
    """In which it starts."""
    environment: Mapping[str, str]
    work: Path
    """The folder in which it may write."""

    def arguments(self, parent: int) -> list[str]:
        """`parent`: id of the process that starts it, with which it ends."""
        return [*self.command, json.dumps({"parent": parent, **self.request})]


class InstallProcess(Protocol):
    @property
    def returncode(self) -> int | None:
        """None until it has ended."""

    async def read(self) -> bytes:
        """What it printed since; nothing once it has closed its output."""

    async def wait(self) -> object:
        """Returns when it has ended."""

    def kill(self) -> None:
        """Ends it, with everything it has started."""

    def has_ended(self) -> bool:
        """With everything it has started."""


StartProcess = Callable[[Step], Awaitable[InstallProcess]]


class _Child:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @property
    def returncode(self) -> int | None:
        return self._process.returncode

    async def read(self) -> bytes:
        return b"" if self._process.stdout is None else await self._process.stdout.read(65536)

    async def wait(self) -> object:
        return await self._process.wait()

    def kill(self) -> None:
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def has_ended(self) -> bool:
        if self.returncode is None:
            return False
        alive = _lives(self._process.pid)
        if alive:
            self.kill()
        return not alive


def _lives(group: int) -> bool:
    """Whether a process of the group has not ended; one that only waits to be collected has."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            state, _, member = (folder / "stat").read_text("latin-1").rpartition(")")[2].split()[:3]
            if int(member) == group and state not in "ZX":
                return True
    return False


async def start_here(step: Step) -> InstallProcess:
    """As a child of this process."""
    return _Child(
        await asyncio.create_subprocess_exec(
            *(sys.executable, *step.arguments(os.getpid())),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=step.folder,
            env=step.environment,
            start_new_session=True,
        )
    )
