"""A number in memory that the worker shares with what has started it, which reads it also when the worker is gone."""

from __future__ import annotations

# The number of the last call that began.
BEGUN = 0
COUNTERS_SIZE = 16


def shared_numbers(descriptor: int | None) -> memoryview:
    """Maps the file of the descriptor; plain memory where there is none."""
    if descriptor is None:
        return memoryview(bytearray(COUNTERS_SIZE)).cast("Q")
    import mmap  # noqa: PLC0415

    return memoryview(mmap.mmap(descriptor, COUNTERS_SIZE)).cast("Q")
