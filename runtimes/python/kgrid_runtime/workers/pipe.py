"""One end of a socket pair on the event loop: writes are gathered, nothing blocks."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

_READ_SIZE = 262144


class Pipe:
    def __init__(self, end: socket.socket, received: Callable[[bytes], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._socket = end
        self._received = received
        self._out: list[bytes | memoryview] = []
        self._flushing = False
        self._open = True
        end.setblocking(False)
        self._loop.add_reader(end.fileno(), self.read)

    def send(self, data: bytes, at_once: bool = False) -> None:
        """Sends, and unless `at_once` together with everything else that is sent in this turn of the loop."""
        self._out.append(data)
        if at_once and not self._flushing:
            self._flushing = True
            self._flush()
        elif not self._flushing and self._open:
            self._flushing = True
            self._loop.call_soon(self._flush)

    def read(self) -> bool:
        """Passes on what has arrived; False when there is nothing."""
        if not self._open:
            return False
        try:
            data = self._socket.recv(_READ_SIZE)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._socket.fileno())
            return False
        self._received(data)
        return True

    def close(self) -> None:
        if self._open:
            self._open = False
            self._loop.remove_reader(self._socket.fileno())
            self._loop.remove_writer(self._socket.fileno())
            self._socket.close()

    def _flush(self) -> None:
        if not self._open:
            return
        # What a large message still has to send waits as a view: it is copied for no part of it.
        first = self._out[0]
        alone = len(self._out) == 1 or isinstance(first, memoryview)
        data = first if alone else b"".join(self._out)
        del self._out[: 1 if alone else None]
        try:
            sent = self._socket.send(data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:  # the worker is gone; its exit is noticed elsewhere
            self._flushing = False
            return
        if sent < len(data):
            self._out.insert(0, memoryview(data)[sent:])
        if self._out:
            self._loop.add_writer(self._socket.fileno(), self._flush)
        else:
            self._flushing = False
            self._loop.remove_writer(self._socket.fileno())
