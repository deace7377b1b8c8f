"""Folders that code of packages may write in: looked at, read, taken over and removed by handles of folders.

No link is followed, nothing but regular files is read, and nothing without a bound, after the end of
the processes that wrote there.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import stat
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DEEPEST = 100
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A pipe is opened at once, and then refused, where nobody writes in it.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_AT_ONCE = 8 * 1024 * 1024


class TreeRefused(Exception):
    """What is wrong, to follow the words `Building the package`."""


@dataclass
class Count:
    """Raises TreeRefused as soon as there is more."""

    most_bytes: float = math.inf
    most_files: float = math.inf
    bytes: int = 0
    files: int = 0

    def add(self, size: int) -> None:
        self.bytes += size
        self.files += 1
        if self.bytes > self.most_bytes:
            raise TreeRefused(f"wrote more than the limit of {self.most_bytes // 1024**2:.0f} MB")
        if self.files > self.most_files:
            raise TreeRefused(f"wrote more than the limit of {self.most_files} files")


def read_file(folder: Path, *names: str, most: int) -> bytes | None:
    """A file below `folder`, by the names on the way; None where that is no file or larger than `most` bytes."""
    with contextlib.suppress(OSError), _opened(folder, names[:-1]) as parent:
        file = os.open(names[-1], _FILE, dir_fd=parent)
        with os.fdopen(file, "rb") as opened:
            found = os.fstat(file)
            if stat.S_ISREG(found.st_mode) and found.st_size <= most:
                content = opened.read(most + 1)
                return content if len(content) <= most else None
    return None


def take_file(folder: Path, names: tuple[str, ...], target: Path, count: Count) -> None:
    """Copies one file to a path that is not there yet. Raises TreeRefused and OSError."""
    with _opened(folder, names[:-1]) as parent, _opened(target.parent, ()) as into:
        _take(parent, names[-1], into, target.name, count)


def take_folder(folder: Path, target: Path, count: Count) -> None:
    """Copies a folder of regular files to a path that is not there yet. Raises TreeRefused and OSError."""
    target.mkdir()
    _take_folder(os.open(folder, _FOLDER), os.open(target, _FOLDER), count, 0)


def check_folder(folder: Path, count: Count) -> None:
    """Raises TreeRefused where there is more than regular files, and OSError."""
    _take_folder(os.open(folder, _FOLDER), None, count, 0)


def write_new(folder: Path, name: str, content: bytes) -> None:
    """Puts a file in the place of what has its name, which is not followed. Raises OSError."""
    with _opened(folder, ()) as parent:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=parent)
        with os.fdopen(os.open(name, _NEW_FILE, 0o644, dir_fd=parent), "wb") as file:
            file.write(content)


def _take_folder(source: int, target: int | None, count: Count, depth: int) -> None:
    """Closes both."""
    try:
        for name, found in _entries(source, depth):
            if not stat.S_ISDIR(found.st_mode):
                _take(source, name, target, name, count)
                continue
            count.add(0)
            inner = os.open(name, _FOLDER, dir_fd=source)
            into = None
            if target is not None:
                os.mkdir(name, 0o755, dir_fd=target)
                into = os.open(name, _FOLDER, dir_fd=target)
            _take_folder(inner, into, count, depth + 1)
    finally:
        if target is not None:
            os.close(target)


def _take(source: int, name: str, target: int | None, new_name: str, count: Count) -> None:
    try:
        file = os.open(name, _FILE, dir_fd=source)
    except OSError as error:
        raise TreeRefused(f"left {name[:100]!r}, which cannot be read as a file: {error.strerror}") from None
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            raise TreeRefused(f"left {name[:100]!r}, which is no file of its own")
        count.add(found.st_size)
        if target is None:
            return
        mode = 0o755 if found.st_mode & 0o111 else 0o644
        new = os.open(new_name, _NEW_FILE, mode, dir_fd=target)
        try:
            left = found.st_size
            while left > 0 and (sent := os.sendfile(new, file, None, min(left, _AT_ONCE))):
                left -= sent
            # Compiled modules name the time of their source.
            os.utime(new, ns=(found.st_atime_ns, found.st_mtime_ns))
        finally:
            os.close(new)
    finally:
        os.close(file)


def _entries(folder: int, depth: int) -> Iterator[tuple[str, os.stat_result]]:
    """Closes the folder at the end."""
    try:
        if depth > DEEPEST:
            raise TreeRefused(f"made folders that are nested more than {DEEPEST} deep")
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    found = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                yield entry.name, found
    finally:
        os.close(folder)


@contextlib.contextmanager
def _opened(folder: Path, names: tuple[str, ...]) -> Iterator[int]:
    at = os.open(folder, _FOLDER)
    try:
        for name in names:
            inner = os.open(name, _FOLDER, dir_fd=at)
            os.close(at)
            at = inner
        yield at
    finally:
        os.close(at)


def remove(folder: Path) -> None:
    """Also what is deeper than any path can be, or closed to its owner. Raises OSError."""
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        pass
    except (OSError, RecursionError):
        _flatten(str(folder))
        folder.rmdir()


def _flatten(folder: str) -> None:
    """Brings folders up to the first, so that all paths stay short, until it is empty."""
    os.chmod(folder, 0o700)  # noqa: PTH101
    while inner := _without_files(folder):
        for each in inner:
            os.chmod(each, 0o700)  # noqa: PTH101
            for deeper in _without_files(each):
                # Who moves a folder must be able to write in it.
                os.chmod(deeper, 0o700)  # noqa: PTH101
                os.rename(deeper, f"{folder}/{uuid.uuid4()}")  # noqa: PTH104
            os.rmdir(each)  # noqa: PTH106


def _without_files(folder: str) -> list[str]:
    """Removes what is no folder, and gives the folders."""
    folders = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            else:
                os.unlink(entry.path)  # noqa: PTH108
    return folders
