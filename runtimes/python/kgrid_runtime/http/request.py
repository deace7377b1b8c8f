"""Reads requests from a stream of bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kgrid_runtime.http.head import Head, Refused, read_head

_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?")
_LONGEST_CHUNK_LINE = 1024


@dataclass(frozen=True)
class SizeLimits:
    """Bytes."""

    head: int = 16 * 1024
    body: int = 11 * 1024 * 1024


class Request:
    __slots__ = ("body", "head")

    def __init__(self, head: Head, body: bytes) -> None:
        self.head = head
        self.body = body


class RequestReader:
    def __init__(self, limits: SizeLimits) -> None:
        self._limits = limits
        self._buffer = bytearray()
        self._head: Head | None = None
        self._told_to_continue = False
        # An object for each chunk would take many times the memory of a small one.
        self._chunks = bytearray()

    @property
    def waiting_for_body(self) -> bool:
        return self._head is not None

    @property
    def buffered(self) -> int:
        return len(self._buffer)

    def expects_continue(self) -> bool:
        """Whether the client waits for a go-ahead before it sends the body. True once for each request."""
        waits = self._head is not None and self._head.expects_continue and not self._told_to_continue
        self._told_to_continue = self._told_to_continue or waits
        return waits

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def next_request(self) -> Request | None:
        """The next complete request, None until there is one. Raises Refused."""
        head = self._head
        if head is None:
            head = self._head = self._read_head()
            if head is None:
                return None
        body = self._read_chunked() if head.chunked else self._read_plain(head.length)
        if body is None:
            return None
        self._head = None
        return Request(head, body)

    def _read_head(self) -> Head | None:
        buffer = self._buffer
        # Empty lines before a request are allowed (RFC 9112, 2.2).
        while buffer.startswith(b"\r\n"):
            del buffer[:2]
        end = buffer.find(b"\r\n\r\n", 0, self._limits.head + 4)
        if end < 0:
            if len(buffer) > self._limits.head:
                raise Refused(431, "The header is too large")
            return None
        head = read_head(bytes(buffer[:end]))
        if head.length > self._limits.body:
            raise Refused(413, f"The body is larger than {self._limits.body} bytes")
        del buffer[: end + 4]
        self._told_to_continue = False
        return head

    def _read_plain(self, length: int) -> bytes | None:
        if len(self._buffer) < length:
            return None
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        return body

    def _read_chunked(self) -> bytes | None:
        while True:
            end = self._buffer.find(b"\r\n", 0, _LONGEST_CHUNK_LINE)
            if end < 0:
                if len(self._buffer) >= _LONGEST_CHUNK_LINE:
                    raise Refused(400, "A chunk cannot be read")
                return None
            match = _CHUNK.fullmatch(self._buffer[:end])
            if match is None:
                raise Refused(400, "A chunk cannot be read")
            size = int(match[1], 16)
            if size == 0:
                return self._end_chunks(end)
            if len(self._chunks) + size > self._limits.body:
                raise Refused(413, f"The body is larger than {self._limits.body} bytes")
            start, stop = end + 2, end + 2 + size
            if len(self._buffer) < stop + 2:
                return None
            if self._buffer[stop : stop + 2] != b"\r\n":
                raise Refused(400, "A chunk cannot be read")
            self._chunks += self._buffer[start:stop]
            del self._buffer[: stop + 2]

    def _end_chunks(self, end: int) -> bytes | None:
        """The whole body; the last chunk and the trailers that follow it are dropped. None until they are there."""
        close = self._buffer.find(b"\r\n\r\n", end)
        if close < 0:
            if len(self._buffer) - end > self._limits.head:
                raise Refused(431, "The trailers are too large")
            return None
        del self._buffer[: close + 4]
        body = bytes(self._chunks)
        self._chunks = bytearray()
        return body
