"""The log: JSON lines on stderr. Whoever reads it slowly loses lines, and holds nothing up."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import threading
from datetime import datetime, timezone

_MOST_WAITING = 2000


class Log:
    def __init__(self, debug: bool, descriptor: int = 2) -> None:
        self._debug = debug
        self._descriptor = descriptor
        self._lines: queue.Queue[bytes | None] = queue.Queue(_MOST_WAITING)
        self._writer = threading.Thread(target=self._write, name="log", daemon=True)
        self._writer.start()

    def debug(self, text: str) -> None:
        if self._debug:
            self._event("debug", text)

    def info(self, text: str) -> None:
        self._event("info", text)

    def warn(self, text: str) -> None:
        self._event("warn", text)

    def knowledge_object(self, ko: str, stream: str, text: str) -> None:
        self._put({"ko": ko, "stream": stream, "text": text})

    def close(self) -> None:
        """Waits shortly until what was said is written."""
        try:
            self._lines.put(None, timeout=0.5)
        except queue.Full:
            return
        self._writer.join(0.5)

    def _event(self, level: str, text: str) -> None:
        self._put({"time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"), "level": level, "text": text})

    def _put(self, line: dict[str, str]) -> None:
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(json.dumps(line).encode() + b"\n")

    def _write(self) -> None:
        while True:
            line = self._lines.get()
            if line is None:
                return
            try:
                view = memoryview(line)
                while view:
                    view = view[os.write(self._descriptor, view) :]
            except OSError:  # nobody reads any more
                return
