"""The frames that the runtime and a worker exchange: a fixed header, then the payload.

The runtime sends calls on one socket, which the worker's threads take turns to read, and everything else
(nudges, answers to nested calls) on a second one, so that a long call cannot hold up an answer it waits for.
"""

from __future__ import annotations

import struct

# Length of the payload, kind, id.
HEADER = struct.Struct("<IBI")

# Runtime to worker, call socket. Id: of the call. Payload: CALL_HEAD, target, input.
CALL = 1
# Runtime to worker, control socket. Id: how many calls wait unbegun.
NUDGE = 2
# Runtime to worker, control socket. Id: of the request. Payload: JSON, or the reason in plain text.
REPLY = 3
REFUSAL = 4
# Worker to runtime. Id: of the call. Payload: the body of the answer, or a JSON object (see `failure.py`).
RESULT = 5
FAILURE = 6
# Worker to runtime. Id: of the request, chosen by the worker. Payload: REQUEST_HEAD, uri, input as JSON.
REQUEST = 7

# Kind of input, length of the target `<entry>\0<function>`.
CALL_HEAD = struct.Struct("<BH")
INPUT_JSON = 0
INPUT_TEXT = 1
# Only load the function: no call.
INPUT_NONE = 2

# Call during which the request is made, what is asked for, length of the uri.
REQUEST_HEAD = struct.Struct("<IBH")
REQUEST_EXECUTE = 0
REQUEST_METADATA = 1


class FrameTooLarge(Exception):
    """The other side announced more than the limit."""


def frame(kind: int, number: int, payload: bytes = b"") -> bytes:
    return HEADER.pack(len(payload), kind, number) + payload


class FrameBuffer:
    """Cuts a stream of bytes into frames."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._chunks: list[bytes] = []
        self._have = 0
        self._need = HEADER.size

    def feed(self, data: bytes) -> list[tuple[int, int, bytes]]:
        """The frames that `data` completes, as kind, id and payload. Raises FrameTooLarge."""
        self._chunks.append(data)
        self._have += len(data)
        if self._have < self._need:
            return []
        data = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        frames: list[tuple[int, int, bytes]] = []
        at = 0
        self._need = HEADER.size
        while len(data) - at >= HEADER.size:
            length, kind, number = HEADER.unpack_from(data, at)
            if length > self._limit:
                raise FrameTooLarge(f"a frame of {length} bytes; the limit is {self._limit}")
            end = at + HEADER.size + length
            if end > len(data):
                self._need = end - at
                break
            frames.append((kind, number, data[at + HEADER.size : end]))
            at = end
        rest = data[at:] if at else data
        self._chunks = [rest] if rest else []
        self._have = len(rest)
        return frames
