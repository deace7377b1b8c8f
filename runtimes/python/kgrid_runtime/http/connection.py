"""One client connection: requests are answered one after another, in their order."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import cast

from kgrid_runtime.http.head import Head, Refused
from kgrid_runtime.http.request import Request, RequestReader, SizeLimits

Handler = Callable[[Request, "Connection"], None]
Headers = tuple[tuple[str, str], ...]

_OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
_MOST_READ_AHEAD = 64 * 1024


@dataclass(frozen=True)
class TimeLimits:
    """Seconds."""

    head: float = 10
    body: float = 30
    idle: float = 75
    write: float = 30
    linger: float = 1
    """How long a refused client may go on sending before it is cut off: it could not read the answer otherwise."""
    check: float = 1
    """How often the others are checked."""


@dataclass(frozen=True)
class HttpLimits:
    sizes: SizeLimits = field(default_factory=SizeLimits)
    times: TimeLimits = field(default_factory=TimeLimits)
    connections: int = 1000


class Connection(asyncio.Protocol):
    def __init__(self, handler: Handler, limits: HttpLimits, open_connections: set[Connection]) -> None:
        self._handler = handler
        self._limits = limits
        self._open = open_connections
        self._now = asyncio.get_running_loop().time
        self._reader = RequestReader(limits.sizes)
        self._transport: asyncio.Transport | None = None
        self._answering: Head | None = None
        self._advancing = False
        self._closing = False
        self._since = self._now()
        self._write_blocked_since: float | None = None

    @property
    def busy(self) -> bool:
        return self._answering is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._open.add(self)
        if len(self._open) > self._limits.connections:
            self._refuse(Refused(503, "There are too many connections"))

    def connection_lost(self, _error: Exception | None) -> None:
        self._open.discard(self)
        self._closing = True
        self._transport = None

    def data_received(self, data: bytes) -> None:
        if self._closing:
            return
        reader = self._reader
        if not reader.buffered and not reader.waiting_for_body:
            self._since = self._now()
        reader.feed(data)
        if self._answering is None:
            self._advance()
        elif reader.buffered > _MOST_READ_AHEAD and self._transport is not None:
            self._transport.pause_reading()

    def pause_writing(self) -> None:
        self._write_blocked_since = self._now()

    def resume_writing(self) -> None:
        self._write_blocked_since = None

    def respond(self, status: int, body: bytes, headers: Headers = ()) -> None:
        """Answers the request at hand with JSON. Does nothing when the client is gone."""
        head, transport = self._answering, self._transport
        if head is None or transport is None:
            return
        if status == 200 and head.keep_alive and head.method != "HEAD" and not headers:
            transport.write(b"%b%d\r\n\r\n%b" % (_OK, len(body), body))
        else:
            transport.write(
                _head(status, len(body), headers, head.keep_alive) + (b"" if head.method == "HEAD" else body)
            )
        self._answered(head, transport)

    def begin_stream(self, content_type: str) -> None:
        """Begins an answer that comes in pieces."""
        if self._transport is not None:
            head = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nTransfer-Encoding: chunked\r\n\r\n"
            self._transport.write(head.encode("latin-1"))

    def send(self, data: bytes, *, last: bool) -> None:
        """Sends a piece, which must not be empty. Does nothing when the client is gone."""
        head, transport = self._answering, self._transport
        if head is None or transport is None:
            return
        transport.write(b"%x\r\n%b\r\n%b" % (len(data), data, b"0\r\n\r\n" if last else b""))
        if last:
            self._answered(head, transport)

    def _answered(self, head: Head, transport: asyncio.Transport) -> None:
        self._answering = None
        self._since = self._now()
        if not head.keep_alive:
            self.close()
        elif self._reader.buffered:
            transport.resume_reading()
            self._advance()

    def close(self) -> None:
        """Closes when what was written is sent."""
        self._closing = True
        if self._transport is not None:
            self._transport.close()

    def check_time(self) -> None:
        """Closes the connection when its client is too slow."""
        limits, now = self._limits.times, self._now()
        if self._write_blocked_since is not None:
            if now - self._write_blocked_since > limits.write and self._transport is not None:
                self._transport.abort()
            return
        waited = now - self._since
        if self._closing and waited > limits.linger and self._transport is not None:
            self._transport.abort()
        if self.busy or self._closing:
            return
        if self._reader.waiting_for_body:
            if waited > limits.body:
                self._refuse(Refused(408, "The body did not arrive in time"))
        elif self._reader.buffered:
            if waited > limits.head:
                self._refuse(Refused(408, "The header did not arrive in time"))
        elif waited > limits.idle:
            self.close()

    def _advance(self) -> None:
        # An answer that is given at once would otherwise come here again, one level deeper for each request.
        if self._advancing:
            return
        self._advancing = True
        try:
            while self._answering is None and not self._closing:
                request = self._reader.next_request()
                if request is None:
                    if self._reader.expects_continue() and self._transport is not None:
                        self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                    return
                self._answering = request.head
                self._handler(request, self)
        except Refused as refused:
            self._refuse(refused)
        finally:
            self._advancing = False

    def _refuse(self, refused: Refused) -> None:
        name = HTTPStatus(refused.status).phrase
        body = json.dumps({"code": refused.status, "name": name, "description": refused.reason}).encode()
        if self._transport is not None:
            self._transport.write(_head(refused.status, len(body), (), False) + body)
            self._transport.write_eof()
        self._closing = True
        self._since = self._now()


def _head(status: int, length: int, headers: Headers, keep_alive: bool) -> bytes:
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        "Content-Type: application/json",
        f"Content-Length: {length}",
    ]
    lines += [f"{name}: {value}" for name, value in headers]
    if not keep_alive:
        lines.append("Connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
