"""The threads of a worker. They take turns at reading calls; the thread that reads a call runs it.

While calls are short one thread does everything, and none is ever handed over. A further thread is brought in when a
call takes longer, which another thread looks for as long as there are calls.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable

from kgrid_python_runtime.invalid_input import InvalidInputError
from kgrid_python_runtime.worker.bridge import current_call
from kgrid_python_runtime.worker.confine import allow_more_memory
from kgrid_python_runtime.worker.coroutines import settle
from kgrid_python_runtime.worker.counters import BEGUN
from kgrid_python_runtime.worker.ending import end_on_error
from kgrid_python_runtime.worker.endpoints import Endpoints
from kgrid_python_runtime.worker.failure import Failure
from kgrid_python_runtime.worker.frames import (
    ANSWER,
    CALL,
    ENDPOINT,
    LINES,
    LOAD,
    RECORDS,
    RESULT,
    Frame,
    FrameBuffer,
    frame,
)
from kgrid_python_runtime.worker.values import read_input, write_result

STACK = 8 * 1024 * 1024
_ANY_LENGTH = 1 << 32
_LOOK_SECONDS = 0.003
_SHORT_SECONDS = 0.0005
_LOOKS_WITHOUT_CALLS = 16
_SEND_SECONDS = 0.005
_SEND_BYTES = 256 * 1024


class Calls:
    def __init__(
        self,
        descriptor: int,
        begun: memoryview,
        endpoints: Endpoints,
        limits: tuple[int, int, int],
        sealed: Callable[[int], None],
    ) -> None:
        """`begun`: see `counters.py`. `limits`: calls that run at once, threads, bytes of a result.

        `sealed` gets the number of the last call that began, once no further one will.
        """
        self._descriptor = descriptor
        self._begun = begun
        self._endpoints = endpoints
        self._concurrency, self._most_threads, self._output = limits
        self._on_sealed = sealed
        self._buffer = FrameBuffer(_ANY_LENGTH)
        self._waiting_calls: deque[Frame] = deque()
        self._turn = threading.Lock()
        self._sending = threading.Lock()
        self._counting = threading.Lock()
        self._running = 0
        self._threads = 1
        self._parked = 0
        self._wake = threading.Semaphore(0)
        # Answers that go together with the next.
        self._answers: deque[bytes] = deque()
        self._is_sealed = False
        self._has_left = False
        self._watched = False
        self._calls_come = threading.Event()

    def serve(self) -> None:
        """Runs calls, and waits to be brought in again whenever another thread has the turn. Never returns."""
        with end_on_error():
            while True:
                call = self._next()
                if call is None:
                    self._wake.acquire()
                    continue
                self._run(*call)
                with self._counting:
                    self._running -= 1

    def watch(self) -> None:
        """Brings further threads in while calls take long. Never returns."""
        with end_on_error():
            while True:
                self._calls_come.wait()
                self._calls_come.clear()
                seen, quiet = -1, 0
                while quiet < _LOOKS_WITHOUT_CALLS or not self._may_rest(seen):
                    time.sleep(_LOOK_SECONDS)
                    if self._answers:
                        self.flush()
                    begun = self._begun[BEGUN]
                    if begun != seen:
                        seen, quiet = begun, 0
                    elif self._running > 0:
                        quiet = 0
                        self._bring_in(len(self._waiting_calls))
                    else:
                        quiet += 1

    def seal(self) -> None:
        """From here on no call begins."""
        with self._counting:
            self._is_sealed = True
        self.flush()
        self._on_sealed(self._begun[BEGUN])

    def waiting(self, begins: bool) -> None:
        """A call that waits for another endpoint leaves its place to others: it may be waiting for one of them."""
        with self._counting:
            self._running += -1 if begins else 1
        if begins:
            self._bring_in(1)

    def leave(self, pipes: tuple[int, ...]) -> None:
        """In a process that code of the knowledge object has forked: it has no calls and no answers."""
        self._has_left = True
        for pipe in pipes:
            with contextlib.suppress(OSError):
                os.close(pipe)

    def send(self, data: bytes) -> None:
        if self._has_left:
            os._exit(0)
        with self._sending:
            view = memoryview(data)
            while view:
                view = view[os.write(self._descriptor, view) :]

    def flush(self) -> None:
        """Sends the answers that are there."""
        answers = []
        while self._answers:
            # Another thread may have taken it.
            with contextlib.suppress(IndexError):
                answers.append(self._answers.popleft())
        if answers:
            self.send(b"".join(answers))

    def _may_rest(self, seen: int) -> bool:
        """Whether nothing has begun since; then the next call will tell."""
        self._watched = False
        if self._begun[BEGUN] == seen and self._running <= 0:
            return True
        self._watched = True
        return False

    def _bring_in(self, unbegun: int) -> None:
        """Lets as many further threads in as calls wait and limits allow, or one that waits for the next call."""
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

    def _next(self) -> Frame | None:
        """The next call, or None when this thread is to park."""
        with self._counting:
            if self._running >= self._concurrency or not self._turn.acquire(blocking=False):
                self._parked += 1
                return None
        try:
            while True:
                while not self._waiting_calls:
                    self._read()
                call = self._waiting_calls.popleft()
                with self._counting:
                    if self._is_sealed:
                        continue
                    self._begun[BEGUN] = call[1]
                    self._running += 1
                if not self._watched:
                    self._watched = True
                    self._calls_come.set()
                return call
        finally:
            self._turn.release()

    def _read(self) -> None:
        data = os.read(self._descriptor, 65536)
        if not data:
            os._exit(0)
        for each in self._buffer.feed(data):
            if each[0] == ENDPOINT:
                self._endpoints.define(each[1], each[3])
            elif each[0] in (CALL, LOAD, RECORDS):
                self._waiting_calls.append(each)

    def _run(self, kind: int, number: int, about: int, text: bytes) -> None:
        loading = True
        began = time.perf_counter()
        try:
            if kind == LOAD:
                self._endpoints.function(about >> 1)
                answer = frame(ANSWER, number, RESULT, b"true")
            elif kind == RECORDS:
                function = self._endpoints.function(about >> 1)
                loading = False
                answer = self._run_records(number, function, text)
            else:
                value = read_input(about & 1, text)
                function = self._endpoints.function(about >> 1)
                loading = False
                current_call.set(number)
                result = function(value)
                if isinstance(result, Awaitable):
                    result = settle(result)
                answer = frame(ANSWER, number, RESULT, write_result(result, self._output))
        # Also SystemExit and KeyboardInterrupt: code of others must not end this thread.
        except BaseException as error:
            answer = self._failed(number, error, loading)
        self._answers.append(answer)
        # What took long may take long again: its answer is not kept back for the next call, nor those before it.
        if not self._waiting_calls or self._is_sealed or time.perf_counter() - began > _SHORT_SECONDS:
            self.flush()

    def _run_records(self, number: int, function: Callable[[object], object], text: bytes) -> bytes:
        """The frame with the last lines; those before are sent as they come."""
        current_call.set(number)
        lines: list[bytes] = []
        size = 0
        sent = time.perf_counter()
        for record in text.split(b"\n"):
            try:
                result = function(read_input(1, record))
                if isinstance(result, Awaitable):
                    result = settle(result)
                line = b'{"result":%b}\n' % write_result(result, self._output)
            except BaseException as error:
                line = b"!%d%b\n" % self._said_of(error, loading=False)
            lines.append(line)
            size += len(line)
            # Who knows of an answer need not run its record again where this process ends.
            if size > _SEND_BYTES or time.perf_counter() - sent > _SEND_SECONDS:
                self.send(frame(LINES, number, 0, b"".join(lines)))
                lines, size, sent = [], 0, time.perf_counter()
        return frame(LINES, number, 1, b"".join(lines))

    def _failed(self, number: int, error: BaseException, loading: bool) -> bytes:
        kind, said = self._said_of(error, loading)
        return frame(ANSWER, number, kind, said)

    def _said_of(self, error: BaseException, loading: bool) -> tuple[int, bytes]:
        describer = self._endpoints.describer
        if not isinstance(error, (Failure, InvalidInputError)):
            describer.log(error, __file__)
        return describer.describe(error, loading)
