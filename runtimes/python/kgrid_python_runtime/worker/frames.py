"""The frames that a worker and what has started it exchange: a fixed header of 13 bytes, then a text in UTF-8.

The same for all programs: `src/engines/supervisor/messages.ts`. Endpoints and calls come on the data
pipe, which the worker's threads take turns to read, and everything else on the control pipe, so that a long call
cannot hold up an answer it waits for.
"""

from __future__ import annotations

import struct

# Length of the text, kind, two numbers: a and b.
HEADER = struct.Struct("<IBII")

# To the worker, data pipe. a: its index. Text: JSON, see `endpoints.py`.
ENDPOINT = 1
# To the worker, data pipe. a: number of the call, b: index of the endpoint * 2. Answered like a call.
LOAD = 2
# To the worker, data pipe. a: its number, b: index * 2, and 1 more where the text, its input, is JSON.
CALL = 3
# From the worker, data pipe. a: number of the call, b: one of those below.
# Text: the result as JSON, or see `failure.py`.
ANSWER = 4
RESULT, THROWN, FAILED, INVALID = 0, 1, 2, 3
# The input is not JSON; the code could not be loaded; JSON cannot hold the result, or it is too large; too much memory.
UNREADABLE, UNLOADED, UNWRITABLE, MEMORY = 4, 5, 6, 7
# From the worker, data pipe. a: its number, chosen by the worker, b: number of the call that asks. Text: JSON.
NESTED = 5
# To the worker, control pipe. a: number of the nested call, b: HTTP status. Text: JSON `{result}` or the reason.
REPLY = 6
# To the worker, control pipe, and back; and once from the worker, data pipe, before any code of others runs.
PING = 7
# To the worker, control pipe: begin no further call. From the worker, a: number of the last that began.
SEALED = 8

# To the worker, data pipe. a: number of the calls, b: index of the endpoint * 2. Text: inputs, joined by line feeds.
RECORDS = 10
# From the worker, data pipe. a: their number, b: 1 where these are the last of them. Text: a line for each of the next,
# `{"result":...}`, or `!`, the kind of the answer, and the text that it has.
LINES = 32

FROM_WORKER = frozenset((ANSWER, NESTED, PING, SEALED))

Frame = tuple[int, int, int, bytes]


class OddFrame(Exception):
    """What the other side does not send."""


def frame(kind: int, a: int, b: int, text: bytes = b"") -> bytes:
    return HEADER.pack(len(text), kind, a, b) + text


class FrameBuffer:
    """Cuts a stream of bytes into frames."""

    def __init__(self, limit: int, kinds: frozenset[int] | None = None) -> None:
        """`limit`: bytes of a text. `kinds`: those that may come; all where there is None."""
        self._limit = limit
        self._kinds = kinds
        self._chunks: list[bytes] = []
        self._have = 0
        self._need = HEADER.size

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that `data` completes, as kind, a, b and text. Raises OddFrame."""
        self._chunks.append(data)
        self._have += len(data)
        if self._have < self._need:
            return []
        data = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        frames: list[Frame] = []
        at = 0
        self._need = HEADER.size
        while len(data) - at >= HEADER.size:
            length, kind, a, b = HEADER.unpack_from(data, at)
            if length > self._limit or (self._kinds is not None and kind not in self._kinds):
                raise OddFrame(f"a frame of kind {kind} with {length} bytes; the limit is {self._limit}")
            end = at + HEADER.size + length
            if end > len(data):
                self._need = end - at
                break
            frames.append((kind, a, b, data[at + HEADER.size : end]))
            at = end
        rest = data[at:] if at else data
        self._chunks = [rest] if rest else []
        self._have = len(rest)
        return frames
