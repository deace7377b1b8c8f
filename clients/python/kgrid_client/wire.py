"""A connection that takes what comes while it sends: neither side waits for the other."""

from __future__ import annotations

import io
import selectors
import socket
import ssl
import time
from typing import Any, Protocol

_Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)
_LATER = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Outgoing(Protocol):
    """What is to be sent, in pieces."""

    def take(self) -> bytes | None:
        """The next piece, or ``None`` where there is none for now."""

    def wait(self) -> float | None:
        """Seconds after which there may be one all the same, where nothing comes; ``None``: never."""

    def nothing_came(self) -> None:
        """Those seconds have passed."""


class Wire(io.RawIOBase):
    """The answer of one exchange; to read it is what sends the request.

    ``patience``: seconds in which the service may do nothing. ``deadline``: for the whole, by ``time.monotonic``.
    """

    def __init__(
        self, connection: socket.socket, outgoing: Outgoing, *, patience: float, deadline: float | None = None
    ) -> None:
        self._connection = connection
        self._outgoing = outgoing
        self._patience = patience
        self._deadline = deadline
        self._left = memoryview(b"")
        #: It takes nothing more. What it said before that may still be read.
        self.is_deaf = False
        self.has_received = False
        self._selector = _Selector()
        self._selector.register(connection, selectors.EVENT_READ)

    # Read by http.client, which asks a connection for a file.
    def makefile(self, *_: Any) -> io.BufferedReader:
        return io.BufferedReader(self, 256 * 1024)

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            self._selector.close()
        super().close()

    @property
    def has_sent_all(self) -> bool:
        return not self._left and not self.is_deaf

    def readinto(self, buffer: Any) -> int:
        """:raises TimeoutError: where the time is over :raises OSError: where the connection broke"""
        since = time.monotonic()
        while True:
            sent, is_full = self._send()
            received = self._receive(buffer)
            if received is not None:
                self.has_received = self.has_received or received > 0
                return received
            if sent:
                since = time.monotonic()
            if is_full or not sent:
                self._wait(since, is_full)

    def _send(self) -> tuple[bool, bool]:
        """Whether something was sent, and whether there is more than is taken at the moment."""
        if self.is_deaf:
            return False, False
        if not self._left:
            piece = self._outgoing.take()
            if piece is None:
                return False, False
            if not piece:
                return True, False
            self._left = memoryview(piece)
        try:
            count = self._connection.send(self._left)
        except _LATER:
            return False, True
        except OSError:
            self.is_deaf = True
            return False, False
        self._left = self._left[count:]
        return True, bool(self._left)

    def _receive(self, buffer: Any) -> int | None:
        try:
            return self._connection.recv_into(buffer)
        except _LATER:
            return None

    def _wait(self, since: float, is_full: bool) -> None:
        now = time.monotonic()
        end = since + self._patience if self._deadline is None else self._deadline
        if now >= end:
            raise TimeoutError
        pause = None if is_full or self.is_deaf else self._outgoing.wait()
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if is_full else 0)
        self._selector.modify(self._connection, wanted)
        ready = self._selector.select(end - now if pause is None else min(pause, end - now))
        if not ready and pause is not None:
            self._outgoing.nothing_came()
