"""Takes what a knowledge object writes to stdout and stderr, line by line, bounded in length and rate."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import IO

_LONGEST_LINE = 4096
_LINES_A_SECOND = 200
_BYTES_A_SECOND = 4 * 1024 * 1024


class OutputReader:
    def __init__(self, stream: IO[bytes], name: str, line: Callable[[str, str], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._stream = stream
        self._name = name
        self._line = line
        self._rest = b""
        self._second_ends = 0.0
        self._lines = 0
        self._bytes = 0
        self._dropped = 0
        self._cut = False
        self._resume: asyncio.TimerHandle | None = None
        os.set_blocking(stream.fileno(), False)
        self._loop.add_reader(stream.fileno(), self._read)

    def close(self) -> None:
        """Takes what is still there, up to the limits."""
        while self._read() and self._resume is None:
            pass
        if self._rest:
            self._take(self._rest)
        self._report_dropped()
        if self._resume is not None:
            self._resume.cancel()
        self._loop.remove_reader(self._stream.fileno())
        self._stream.close()

    def _read(self) -> bool:
        data = self._stream.read(65536)
        if data is None:
            return False
        if not data:
            self._loop.remove_reader(self._stream.fileno())
            return False
        now = self._loop.time()
        if now >= self._second_ends:
            self._report_dropped()
            self._second_ends = now + 1
            self._lines = self._bytes = 0
        self._bytes += len(data)
        if self._bytes > _BYTES_A_SECOND:
            # The pipe fills and the writer waits: reading on would cost the runtime more than the lines are worth.
            self._loop.remove_reader(self._stream.fileno())
            self._resume = self._loop.call_later(self._second_ends - now, self._read_on)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._take(line)
        if len(self._rest) > _LONGEST_LINE:
            self._take(self._rest)
            self._rest, self._cut = b"", True
        return True

    def _read_on(self) -> None:
        self._resume = None
        self._loop.add_reader(self._stream.fileno(), self._read)

    def _take(self, line: bytes) -> None:
        if self._cut:
            # The rest of a line whose beginning was passed on.
            self._cut = False
            return
        if self._lines >= _LINES_A_SECOND:
            self._dropped += 1
            return
        self._lines += 1
        text = line[:_LONGEST_LINE].decode("utf-8", "replace")
        self._line(self._name, text + "…" if len(line) > _LONGEST_LINE else text)

    def _report_dropped(self) -> None:
        if self._dropped:
            self._line(self._name, f"({self._dropped} more lines within a second were dropped)")
            self._dropped = 0
