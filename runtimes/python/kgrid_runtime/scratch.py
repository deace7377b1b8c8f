"""Folders for what is temporary, named after the process, so that what a killed runtime left can be told apart."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path


def prepare(folder: Path) -> None:
    """Makes the folder, and drops what runtimes that are gone have left in it. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.iterdir():
        if not _is_running(left.name.partition("-")[0]):
            shutil.rmtree(left, ignore_errors=True)


def make(folder: Path) -> Path:
    """A new folder in `folder`. Raises OSError."""
    return Path(tempfile.mkdtemp(dir=folder, prefix=f"{os.getpid()}-"))


def _is_running(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return int(pid) != os.getpid()
