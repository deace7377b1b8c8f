"""Records on their way to a service: lines, gathered into pieces, of which so many are on their way as it can take."""

from __future__ import annotations

import json
import time
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

_PIECE_BYTES = 64 * 1024
#: A piece is not gathered for longer, so that answers are given while records come slowly.
_PIECE_SECONDS = 0.02
#: Pieces on their way: what the service has for its workers, and what fills the connection.
_WINDOW = 8
#: Something in between may wait for all of a request before it passes it on: then more is sent.
_SILENCE_SECONDS = 1.0


def to_json(value: Any) -> bytes:
    """:raises ValueError, TypeError: for what JSON cannot say, such as NaN"""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain).encode()


def to_line(record: Any) -> bytes:
    """A record as its line. Bytes are JSON already. :raises ValueError, TypeError:"""
    if not isinstance(record, bytes):
        return to_json(record)
    line = record.rstrip(b"\r\n")
    if not line.strip() or b"\n" in line:
        raise ValueError("bytes are one record as JSON, on one line")
    return line


def _plain(value: Any) -> Any:
    """What libraries of data have in place of the values of JSON."""
    if isinstance(value, Decimal):
        return int(value) if value.is_finite() and value == value.to_integral_value() else float(value)
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    # Those of numpy.
    if callable(getattr(value, "tolist", None)):
        return value.tolist()
    raise TypeError(f"A record may hold what JSON has, not {type(value).__name__}")


class Sending:
    """The body of a request of many records, in chunks of HTTP. It takes records no sooner than it can send them."""

    def __init__(self, head: bytes, records: Iterable[Any], *, compress: bool) -> None:
        self._head = head
        self._records: Iterator[Any] = iter(records)
        self._compressor = zlib.compressobj(6, zlib.DEFLATED, 31) if compress else None
        #: For each piece on its way, how many records there are up to its end.
        self._on_their_way: deque[int] = deque()
        self._window = _WINDOW
        self.taken = 0
        self.answered = 0
        self.has_ended = False
        #: What the records themselves failed with.
        self.problem: BaseException | None = None

    def take(self) -> bytes | None:
        while self._on_their_way and self._on_their_way[0] <= self.answered:
            self._on_their_way.popleft()
        if self.has_ended or len(self._on_their_way) >= self._window:
            return None
        try:
            lines = self._gather()
        except BaseException as problem:
            self.problem = problem
            raise
        head, self._head = self._head, b""
        return head + self._chunks_of(b"\n".join([*lines, b""]) if lines else b"")

    def wait(self) -> float | None:
        return None if self.has_ended else _SILENCE_SECONDS

    def nothing_came(self) -> None:
        self._window *= 2

    def _gather(self) -> list[bytes]:
        lines: list[bytes] = []
        size = 0
        begun = time.monotonic()
        for record in self._records:
            line = self._line_of(record, self.taken + len(lines))
            lines.append(line)
            size += len(line) + 1
            if size >= _PIECE_BYTES or time.monotonic() - begun > _PIECE_SECONDS:
                break
        else:
            self.has_ended = True
        self.taken += len(lines)
        if lines:
            self._on_their_way.append(self.taken)
        return lines

    @staticmethod
    def _line_of(record: Any, index: int) -> bytes:
        try:
            return to_line(record)
        except (TypeError, ValueError) as problem:
            raise ValueError(f"Record {index} cannot be sent: {problem}") from problem

    def _chunks_of(self, piece: bytes) -> bytes:
        if self._compressor is not None:
            last = zlib.Z_FINISH if self.has_ended else zlib.Z_SYNC_FLUSH
            piece = self._compressor.compress(piece) + self._compressor.flush(last)
        chunk = b"%x\r\n%b\r\n" % (len(piece), piece) if piece else b""
        return chunk + b"0\r\n\r\n" if self.has_ended else chunk


class Whole:
    """A request that is small enough to be there at once."""

    def __init__(self, request: bytes) -> None:
        self._request: bytes | None = request

    def take(self) -> bytes | None:
        request, self._request = self._request, None
        return request

    def wait(self) -> float | None:
        return None

    def nothing_came(self) -> None:
        return
