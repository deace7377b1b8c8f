"""Folders for what is temporary, named after the process, so that what a killed runtime left can be told apart."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from kgrid_runtime.installer import tree


def prepare(folder: Path) -> None:
    """Makes the folder, and drops what runtimes that are gone have left in it. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.iterdir():
        if not _is_running(left.name.partition("-")[0]):
            drop(left)


def make(folder: Path) -> Path:
    """A new folder in `folder`. Raises OSError."""
    return Path(tempfile.mkdtemp(dir=folder, prefix=f"{os.getpid()}-"))


def drop(folder: Path) -> None:
    """Once nothing writes there any more; what cannot be removed stays for the next start."""
    with contextlib.suppress(OSError):
        tree.remove(folder)


def _is_running(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return int(pid) != os.getpid()
