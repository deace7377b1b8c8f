"""The control pipe: answers of nested calls, whether the worker is alive, and the end of its work."""

from __future__ import annotations

import os
from collections.abc import Callable

from kgrid_python_runtime.worker.calls import Calls
from kgrid_python_runtime.worker.ending import end_on_error
from kgrid_python_runtime.worker.frames import PING, REPLY, SEALED, FrameBuffer, frame

_ANY_LENGTH = 1 << 32


def read_control(descriptor: int, calls: Calls, reply: Callable[[int, int, bytes], None]) -> None:
    """Never returns: when the other side closes its end, or dies, this process ends at once."""
    buffer = FrameBuffer(_ANY_LENGTH)
    with end_on_error():
        while True:
            data = os.read(descriptor, 65536)
            if not data:
                os._exit(0)
            for kind, a, b, text in buffer.feed(data):
                if kind == REPLY:
                    reply(a, b, text)
                elif kind == PING:
                    os.write(descriptor, frame(PING, a, b))
                elif kind == SEALED:
                    calls.seal()
