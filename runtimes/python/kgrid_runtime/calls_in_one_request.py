"""Many calls of one endpoint in one request, for an activator that has several at once.

The answer to POST /endpoints offers it as `"batch": true`; a call by itself works as ever. The body, of type
`application/vnd.kgrid.calls`, is JSON inputs joined by NUL, which no JSON text holds. The answer is a stream of
records, each ended by NUL, in the order in which calls end: `<number>=<result as JSON>`, or
`<number>!<status>,<description>`; for an activator that accepts it, the latter is `<number>!` and a JSON object with
`status` and what the answer to a single call would hold.
"""

from __future__ import annotations

import asyncio
import json

from kgrid_runtime.http.connection import Connection
from kgrid_runtime.workers.call import Reply

CALLS_TYPE = "application/vnd.kgrid.calls"
ANSWERS_TYPE = "application/vnd.kgrid.answers"

_FAILURES_AS_JSON = ANSWERS_TYPE + ";failures=json"
_HEAD = b'{"result":'
_TAIL = b"}"


class Answers:
    """Sends the answers of a request's calls; those that come in one turn of the event loop go together."""

    def __init__(self, connection: Connection, calls: int, accept: str) -> None:
        """`accept`: the header of the request."""
        self._connection = connection
        self._failures_as_json = _FAILURES_AS_JSON in accept
        self._left = calls
        self._ready: list[bytes] = []
        self._loop = asyncio.get_running_loop()
        connection.begin_stream(ANSWERS_TYPE)

    def reply_to(self, number: int) -> Reply:
        def reply(status: int, body: bytes, _headers: tuple[tuple[str, str], ...]) -> None:
            if not self._ready:
                self._loop.call_soon(self._send)
            self._ready.append(b"%d%b\0" % (number, record(status, body, self._failures_as_json)))
            self._left -= 1

        return reply

    def _send(self) -> None:
        data = b"".join(self._ready)
        self._ready.clear()
        self._connection.send(data, last=self._left == 0)


def record(status: int, body: bytes, failures_as_json: bool) -> bytes:
    """The code of a knowledge object writes the result, and must not be able to write a record of another call."""
    if status == 200:
        if body.startswith(_HEAD) and body.endswith(_TAIL) and b"\0" not in body:
            return b"=" + body[len(_HEAD) : -len(_TAIL)]
        status, body = 500, b'{"description": "The result is not JSON"}'
    if failures_as_json:
        return b"!" + json.dumps({**json.loads(body), "status": status}).encode()
    return b"!%d,%b" % (status, _description(body).replace("\0", " ").encode())


def _description(body: bytes) -> str:
    try:
        return str(json.loads(body)["description"])
    except (ValueError, KeyError, TypeError):
        return "The call failed"
