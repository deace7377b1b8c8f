"""The processes that fetch and build, which are started and confined by who runs the installer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


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
