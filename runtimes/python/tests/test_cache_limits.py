"""What the cache keeps, and for how long."""

from __future__ import annotations

import os
import time
from pathlib import Path

from kgrid_runtime.cache_limits import CacheLimits

HOUR = 3600
DAY = 24 * HOUR
MEGABYTE = 1024 * 1024


def entry(cache: Path, name: str, age: float) -> Path:
    """A megabyte that was used `age` seconds ago."""
    folder = cache / name
    (folder / "files").mkdir(parents=True)
    (folder / "files" / "data").write_bytes(b"x" * MEGABYTE)
    os.utime(folder, (time.time() - age, time.time() - age))
    return folder


def test_what_was_used_longest_ago_goes_where_there_is_too_much(tmp_path: Path) -> None:
    oldest = entry(tmp_path, "dependencies/oldest", 5 * HOUR)
    old = entry(tmp_path, "packages/old", 4 * HOUR)
    newer = entry(tmp_path, "dependencies/newer", 3 * HOUR)
    CacheLimits(tmp_path, int(2.5 * MEGABYTE), set).shrink(set())
    assert [each.exists() for each in (oldest, old, newer)] == [False, True, True]
    assert [each.name for each in (tmp_path / "dependencies").iterdir()] == ["newer"]


def test_what_is_used_or_was_a_moment_ago_stays(tmp_path: Path) -> None:
    used = entry(tmp_path, "packages/used", 40 * DAY)
    recent = entry(tmp_path, "dependencies/recent", 60)
    unused = entry(tmp_path, "dependencies/unused", 31 * DAY)
    limits = CacheLimits(tmp_path, 0, set)
    limits.shrink({used / "files"})
    assert [each.exists() for each in (used, recent, unused)] == [True, True, False]
    # It counts as used from now on, also for other runtimes with the same cache.
    limits.shrink(set())
    assert used.exists()
