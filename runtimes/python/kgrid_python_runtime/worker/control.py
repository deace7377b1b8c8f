"""The control socket: nudges and the answers of nested calls."""

from __future__ import annotations

import os
from collections.abc import Callable

from kgrid_python_runtime.worker.ending import end_on_error
from kgrid_python_runtime.worker.frames import NUDGE, FrameBuffer

_ANY_LENGTH = 1 << 32


def read_control(descriptor: int, nudge: Callable[[int], None], answer: Callable[[int, int, bytes], None]) -> None:
    """Never returns: when the runtime closes its end, or dies, this process ends at once."""
    buffer = FrameBuffer(_ANY_LENGTH)
    with end_on_error():
        while True:
            data = os.read(descriptor, 65536)
            if not data:
                os._exit(0)
            for kind, number, payload in buffer.feed(data):
                if kind == NUDGE:
                    nudge(number)
                else:
                    answer(kind, number, payload)
