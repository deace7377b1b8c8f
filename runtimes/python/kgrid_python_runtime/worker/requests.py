"""Calls of other endpoints by the knowledge object. What has started the worker makes them: it has the credentials."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable

from kgrid_python_runtime.worker.frames import NESTED, frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_CHARACTERS = 2000


class Refusal(Exception):
    """The answer was an error; the text is its Detail."""


class _Pending:
    __slots__ = ("arrived", "status", "text")

    def __init__(self) -> None:
        self.arrived = threading.Event()
        self.status = 0
        self.text = b""


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

    def execute(self, call: int, uri: str, body: str) -> Any:
        """The result of an endpoint for the JSON text `body`. Raises Refusal."""
        if len(body.encode()) > self._largest:
            raise Refusal(f"the input of an endpoint has at most {self._largest} bytes")
        return self._ask(call, {"what": "call", "id": uri, "contentType": "application/json"}, body)

    def metadata(self, call: int, uri: str) -> Any:
        """What the activator says about an endpoint. Raises Refusal."""
        return self._ask(call, {"what": "metadata", "id": uri})

    def reply(self, number: int, status: int, text: bytes) -> None:
        """An answer has come."""
        pending = self._pending.get(number)
        if pending is not None:
            pending.status, pending.text = status, text
            pending.arrived.set()

    def _ask(self, call: int, question: dict[str, str], body: str = "") -> Any:
        if len(question["id"].encode()) > 1000:
            raise Refusal("the id of an endpoint has at most 1000 bytes")
        number = next(self._numbers)
        pending = self._pending[number] = _Pending()
        self._waiting(True)
        try:
            self._send(frame(NESTED, number, call, f"{json.dumps(question)}\n{body}".encode()))
            pending.arrived.wait()
        finally:
            self._waiting(False)
            self._pending.pop(number, None)
        try:
            answer = json.loads(pending.text)
        except (ValueError, RecursionError):
            answer = None
            if pending.status < 300:
                raise Refusal("the activator's answer is not JSON") from None
        if pending.status >= 300:
            raise Refusal(_detail(answer) or f"the activator answered {pending.status}")
        return answer["result"] if isinstance(answer, dict) and "result" in answer else answer


def _detail(answer: object) -> str:
    if isinstance(answer, dict):
        for key in ("Detail", "detail", "description", "Error", "Title"):
            if isinstance(answer.get(key), str) and answer[key]:
                return str(answer[key])[:_MOST_CHARACTERS]
    return ""
