"""Requests of the knowledge object to the activator. They go through the runtime, which has the credentials."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable

from kgrid_python_runtime.worker.frames import REPLY, REQUEST, REQUEST_HEAD, frame


class Refusal(Exception):
    """The answer was an error; the text is its Detail."""


class _Pending:
    __slots__ = ("arrived", "kind", "payload")

    def __init__(self) -> None:
        self.arrived = threading.Event()
        self.kind = 0
        self.payload = b""


class Requests:
    def __init__(self, send: Callable[[bytes], None], waiting: Callable[[bool], None], largest: int) -> None:
        """`waiting(True)` is called before a thread waits for an answer, `waiting(False)` afterwards.

        `largest`: bytes of an input.
        """
        self._send = send
        self._largest = largest
        self._waiting = waiting
        self._numbers = itertools.count(1)
        self._pending: dict[int, _Pending] = {}

    def ask(self, call: int, what: int, uri: str, body: bytes) -> bytes:
        """The answer as JSON. Raises Refusal."""
        name = uri.encode()
        if len(name) > 1000:
            raise Refusal("the id of an endpoint has at most 1000 bytes")
        if len(body) > self._largest:
            raise Refusal(f"the input of an endpoint has at most {self._largest} bytes")
        number = next(self._numbers)
        pending = self._pending[number] = _Pending()
        self._waiting(True)
        try:
            self._send(frame(REQUEST, number, REQUEST_HEAD.pack(call, what, len(name)) + name + body))
            pending.arrived.wait()
        finally:
            self._waiting(False)
            self._pending.pop(number, None)
        if pending.kind != REPLY:
            raise Refusal(pending.payload.decode("utf-8", "replace"))
        return pending.payload

    def answer(self, kind: int, number: int, payload: bytes) -> None:
        pending = self._pending.get(number)
        if pending is not None:
            pending.kind = kind
            pending.payload = payload
            pending.arrived.set()
