"""The threads of a worker. They take turns at reading calls; the thread that reads a call runs it.

While calls are short one thread does everything, and none is ever handed over. When a call takes longer the runtime
sees that others wait unbegun and nudges, which brings in a further thread.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Awaitable

from kgrid_python_runtime.invalid_input import InvalidInputError
from kgrid_python_runtime.worker.bridge import current_call
from kgrid_python_runtime.worker.confine import allow_more_memory
from kgrid_python_runtime.worker.coroutines import settle
from kgrid_python_runtime.worker.counters import BEGUN, HEARD
from kgrid_python_runtime.worker.ending import end_on_error
from kgrid_python_runtime.worker.failure import Describer, Failure
from kgrid_python_runtime.worker.frames import CALL_HEAD, FAILURE, INPUT_NONE, RESULT, FrameBuffer, frame
from kgrid_python_runtime.worker.loader import Functions
from kgrid_python_runtime.worker.values import read_input, write_result

STACK = 8 * 1024 * 1024
_ANY_LENGTH = 1 << 32


class Calls:
    def __init__(
        self,
        descriptor: int,
        counters: memoryview,
        loader: Functions,
        describer: Describer,
        limits: tuple[int, int, int],
    ) -> None:
        """`counters`: see `counters.py`. `limits`: calls that run at once, threads, bytes of a result."""
        self._descriptor = descriptor
        self._counters = counters
        self._loader = loader
        self._describer = describer
        self._concurrency, self._most_threads, self._output = limits
        self._buffer = FrameBuffer(_ANY_LENGTH)
        self._waiting_calls: deque[tuple[int, int, bytes]] = deque()
        self._turn = threading.Lock()
        self._sending = threading.Lock()
        self._counting = threading.Lock()
        self._running = 0
        self._threads = 1
        self._parked = 0
        self._wake = threading.Semaphore(0)

    def serve(self) -> None:
        """Runs calls, and waits for a nudge whenever another thread has the turn. Never returns."""
        with end_on_error():
            while True:
                call = self._next()
                if call is None:
                    self._wake.acquire()
                    continue
                self._run(*call)
                with self._counting:
                    self._running -= 1

    def nudge(self, unbegun: int) -> None:
        """Lets as many further threads in as calls wait and limits allow, or one that waits for the next call."""
        self._counters[HEARD] += 1
        self._bring_in(unbegun)

    def _bring_in(self, unbegun: int) -> None:
        for _ in range(max(unbegun, 1)):
            with self._counting:
                room = self._running < self._concurrency
                if not room or (self._turn.locked() and not self._waiting_calls):
                    return
                if self._parked > 0:
                    self._parked -= 1
                    self._wake.release()
                elif self._threads < self._most_threads:
                    allow_more_memory(STACK)
                    try:
                        threading.Thread(target=self.serve, daemon=True).start()
                    except RuntimeError:  # no memory for its stack: the call waits for a thread that is free
                        return
                    self._threads += 1

    def waiting(self, begins: bool) -> None:
        """A call that waits for another endpoint leaves its place to others: it may be waiting for one of them."""
        with self._counting:
            self._running += -1 if begins else 1
        if begins:
            self._bring_in(1)

    def send(self, data: bytes) -> None:
        with self._sending:
            view = memoryview(data)
            while view:
                view = view[os.write(self._descriptor, view) :]

    def _next(self) -> tuple[int, int, bytes] | None:
        """The next call, or None when this thread is to park."""
        with self._counting:
            if self._running >= self._concurrency or not self._turn.acquire(blocking=False):
                self._parked += 1
                return None
        try:
            while not self._waiting_calls:
                data = os.read(self._descriptor, 65536)
                if not data:
                    os._exit(0)
                self._waiting_calls.extend(self._buffer.feed(data))
            call = self._waiting_calls.popleft()
            self._counters[BEGUN] += 1
            with self._counting:
                self._running += 1
            return call
        finally:
            self._turn.release()

    def _run(self, _kind: int, number: int, payload: bytes) -> None:
        kind, length = CALL_HEAD.unpack_from(payload)
        start = CALL_HEAD.size + length
        loading = True
        try:
            if kind == INPUT_NONE:
                self._loader.function(payload[CALL_HEAD.size : start])
                answer = frame(RESULT, number)
            else:
                value = read_input(kind, payload[start:])
                function = self._loader.function(payload[CALL_HEAD.size : start])
                loading = False
                current_call.set(number)
                result = function(value)
                if isinstance(result, Awaitable):
                    result = settle(result)
                answer = frame(RESULT, number, write_result(result, self._output))
        # Also SystemExit and KeyboardInterrupt: code of others must not end this thread.
        except BaseException as error:
            if not isinstance(error, (Failure, InvalidInputError)):
                self._describer.log(error, __file__)
            answer = frame(FAILURE, number, self._describer.describe(error, loading))
        self.send(answer)
