"""Keeps the cache from growing: what was not used for long goes, and beyond a size what was used longest ago."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kgrid_runtime.installer.tree import Count, TreeRefused, measure

# Seconds.
_KEEP = 30 * 24 * 3600
# Another runtime with the same cache may be using it: each marks what it uses more often than that.
_RECENT = 3600
_BETWEEN_LOOKS = _RECENT / 3
_GONE = ".gone"
_FOLDERS = ("dependencies", "packages")


@dataclass(frozen=True)
class _Entry:
    used_at: float
    path: Path
    size: int


class CacheLimits:
    def __init__(self, folder: Path, most: int, in_use: Callable[[], set[Path]]) -> None:
        """`most`: bytes. `in_use`: paths in folders of the cache that active endpoints need."""
        self._folder = folder
        self._most = most
        self._in_use = in_use
        self._sizes: dict[Path, int] = {}

    async def keep(self) -> None:
        """Looks now, and again and again."""
        while True:
            used = self._in_use()
            await asyncio.to_thread(self.shrink, used)
            await asyncio.sleep(_BETWEEN_LOOKS)

    def shrink(self, used: set[Path]) -> None:
        now = time.time()
        for left in self._folder.glob(f"*/*{_GONE}"):
            shutil.rmtree(left, ignore_errors=True)
        needed = {folder for path in used for folder in (path, *path.parents)}
        entries = sorted(self._entries(), key=lambda entry: entry.used_at)
        total = sum(entry.size for entry in entries)
        for entry in entries:
            if entry.path in needed:
                with contextlib.suppress(OSError):
                    entry.path.touch()
            elif entry.used_at < now - _KEEP or (total > self._most and entry.used_at < now - _RECENT):
                # First out of sight, so that it is never there by half.
                with contextlib.suppress(OSError):
                    gone = entry.path.rename(entry.path.with_suffix(_GONE))
                    shutil.rmtree(gone, ignore_errors=True)
                    total -= entry.size
                    self._sizes.pop(entry.path, None)

    def _entries(self) -> list[_Entry]:
        found = []
        for name in _FOLDERS:
            with contextlib.suppress(OSError):
                for path in (self._folder / name).iterdir():
                    # What is installed stays as it is, and may be thousands of files.
                    if path not in self._sizes or name == "packages":
                        self._sizes[path] = _size(path)
                    found.append(_Entry(path.stat().st_mtime, path, self._sizes[path]))
        return found


def _size(folder: Path) -> int:
    count = Count()
    with contextlib.suppress(TreeRefused):
        measure(folder, count)
    return count.bytes
