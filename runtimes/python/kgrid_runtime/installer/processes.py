"""The processes that fetch and build, which the activator starts, confines and ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Step:
    """What is to be run."""

    kind: str
    """`fetch`: with the network, and without code of packages. `build`: the other way round."""
    request: Mapping[str, object]
    folder: Path
    """In which it starts."""
    environment: Mapping[str, str]
    work: Path
    """The folder in which it may write."""


class InstallProcess:
    def __init__(self, kill: Callable[[], None]) -> None:
        """`kill` asks the activator to end it, with everything it has started."""
        self._kill = kill
        self._output = asyncio.StreamReader()
        self.returncode: int | None = None
        """None until it has ended, with everything it has started."""

    async def read(self) -> bytes:
        """What it printed since; nothing once it has ended."""
        return await self._output.read(65536)

    def kill(self) -> None:
        if self.returncode is None:
            self._kill()

    def printed(self, text: str) -> None:
        self._output.feed_data(text.encode())

    def ended(self, code: int) -> None:
        self.returncode = code
        self._output.feed_eof()


StartProcess = Callable[[Step], InstallProcess]
