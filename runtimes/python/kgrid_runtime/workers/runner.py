"""Runs the calls of one version of a knowledge object: starts its worker, queues, keeps the limits."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Iterator

from kgrid_python_runtime.worker.frames import (
    ANSWER,
    INVALID,
    MEMORY,
    NESTED,
    PING,
    RESULT,
    SEALED,
    THROWN,
    UNLOADED,
    UNREADABLE,
    UNWRITABLE,
)
from kgrid_runtime.failures import Failure, overloaded
from kgrid_runtime.settings import WorkerLimits
from kgrid_runtime.workers.call import Call
from kgrid_runtime.workers.process import Code
from kgrid_runtime.workers.requests import ActivatorRequests
from kgrid_runtime.workers.worker import Frames, StartProcess, Worker

# Calls that a worker may hold beyond those it runs, so that it never waits for the next one.
_READ_AHEAD = 32
# How long a worker with a call past its limit may go on with its other calls.
_GRACE = 1.0
# … and one that did not answer when it was asked whether it is alive.
_LAST_CHANCE = 0.15
_SHORTEST_LOOK = 0.005
_LONGEST_LOOK = 0.05
_MEMORY_LOOK = 0.1
_MOST_FAILED_STARTS = 3
# What became of the code, in the words of the activator's errors.
_FAULTS = {THROWN: "code-error", UNLOADED: "code-error", UNWRITABLE: "invalid-result", MEMORY: "out-of-memory"}


class Runner:
    def __init__(self, code: Code, start: StartProcess, limits: WorkerLimits, requests: ActivatorRequests) -> None:
        self.code = code
        self._start = start
        self._limits = limits
        self._requests = requests
        self._loop = asyncio.get_running_loop()
        self._queue: deque[Call] = deque()
        self._worker: Worker | None = None
        self._retired: list[Worker] = []
        self._failed_starts = 0
        self._asks = False
        self._closed = False
        self._timer: asyncio.TimerHandle | None = None
        self._pause = _SHORTEST_LOOK
        self._memory_look_at = 0.0

    @property
    def idle(self) -> bool:
        return not self._queue and not any(worker.outstanding for worker in self._workers())

    @property
    def has_workers(self) -> bool:
        return any(True for _ in self._workers())

    @property
    def used_at(self) -> float | None:
        """When the last call ended, or None when there is no worker."""
        return None if self._worker is None else self._worker.used_at

    def submit(self, call: Call) -> None:
        worker, queue = self._worker, self._queue
        held = len(queue) + (0 if worker is None else len(worker.outstanding))
        if worker is not None and not queue and held < self._limits.concurrency:
            worker.send(call)
            self._look_soon()
            return
        if held >= self._limits.concurrency + self._limits.queue:
            refusal = overloaded(f"{held} calls of {self.code.ko} are waiting; try again later")
            call.answer(refusal.status, refusal.body(), refusal.headers)
            return
        if call.nested and self._asks:
            queue.appendleft(call)
        else:
            queue.append(call)
        self._send_queued()

    def stop_idle(self) -> None:
        """Ends the worker if it has no calls. The next call starts another."""
        if self._worker is not None and self.idle:
            self._worker.end("it was idle")
            self._worker = None

    def close(self) -> None:
        """Lets the calls at hand finish, then ends the worker for good."""
        self._closed = True
        self.stop_idle()

    def kill(self) -> None:
        for worker in self._workers():
            worker.end("the runtime is stopping")

    def check(self) -> None:
        """Looks after workers that nobody calls."""
        for worker in self._workers():
            worker.process.check_exit()
            self._check_memory(worker)

    def _workers(self) -> Iterator[Worker]:
        if self._worker is not None:
            yield self._worker
        yield from list(self._retired)

    def _send_queued(self) -> None:
        if self._worker is None and self._queue:
            self._start_worker()
        worker = self._worker
        if worker is None:
            return
        while self._queue:
            call = self._queue[0]
            if not call.done:
                if not self._has_room(worker, call):
                    break
                worker.send(call)
            self._queue.popleft()
        if worker.outstanding:
            self._look_soon()

    def _has_room(self, worker: Worker, call: Call) -> bool:
        held, most = len(worker.outstanding), self._limits.concurrency
        if not self._asks:
            return held < most + _READ_AHEAD
        # A knowledge object that calls others may wait for a call of its own: that one must not queue behind those
        # that wait, and so these get no more than their share.
        return call.nested or held - worker.nested < most

    def _start_worker(self) -> None:
        try:
            self._worker = Worker(self.code, self._start, self._received, self._ended)
        except OSError as error:
            self._fail_queue(f"no process could be started ({error.strerror})")
            return
        self._worker.used_at = self._loop.time()

    def _received(self, worker: Worker, frames: Frames) -> None:
        try:
            for kind, a, b, text in frames:
                self._receive(worker, kind, a, b, text)
        except (ValueError, KeyError, TypeError, AttributeError):
            # Code of others shares the process with what writes these frames.
            worker.end("it sent what cannot be read")
        if all(kind == PING for kind, *_ in frames):
            # Nothing is free that was not before.
            return
        worker.used_at = self._loop.time()
        if self._closed:
            self.stop_idle()
        self._send_queued()

    def _receive(self, worker: Worker, kind: int, a: int, b: int, text: bytes) -> None:
        if kind == ANSWER:
            self._failed_starts = 0
            if b == RESULT:
                call = worker.take(a)
                if call is not None:
                    call.answer(200, b'{"result":' + text + b"}")
            else:
                self._failed(worker, a, b, text)
        elif kind == NESTED:
            self._asks = True
            self._requests.begin(worker, a, b, text)
        elif kind == PING:
            worker.heard()
        elif kind == SEALED:
            self._sealed(worker, a)

    def _failed(self, worker: Worker, number: int, kind: int, text: bytes) -> None:
        said = json.loads(text)
        status = 400 if kind == UNREADABLE else 500
        if kind == INVALID:
            status = 400 if said["status"] == 400 else 422
        failure = Failure(status, str(said["description"]), str(said["name"]))
        failure.more = {"place": said["place"]} if "place" in said else {}
        if kind == INVALID:
            failure.more["title"] = "Invalid Input"
        if kind in _FAULTS:
            failure.more["fault"] = _FAULTS[kind]
        body = failure.body()
        call = worker.take(number)
        if call is not None:
            call.answer(status, body)
        if said.get("retire"):
            # What took the memory may be there for good: later calls get a fresh worker.
            self._retire(worker, self._limits.execution_timeout, "it passed its memory limit")

    def _sealed(self, worker: Worker, last: int) -> None:
        """No further call begins there."""
        if worker.ends_at is None:
            # Nobody has asked: the code may write here too.
            return
        self._queue.extendleft(reversed(worker.take_back(last)))
        self._look_soon()

    def _retire(self, worker: Worker, grace: float, reason: str) -> None:
        """Gives the worker no more calls, and ends it when its others are done or after `grace` seconds."""
        if worker.ends_at is None:
            worker.ends_at = self._loop.time() + grace
            worker.reason = reason
            worker.seal()
            self._retired.append(worker)
            if self._worker is worker:
                self._worker = None
            self._look_soon()

    def _ended(self, worker: Worker) -> None:
        if self._worker is worker:
            self._worker = None
        if worker in self._retired:
            self._retired.remove(worker)
        self._requests.end(worker)
        if worker.process.begun == 0 and worker.outstanding:
            self._failed_starts += 1
        failure = Failure(500, f"The worker of {self.code.ko} was lost during the call: {worker.reason}", "WorkerLost")
        too_large = worker.reason is not None and worker.reason.startswith("it passed its memory limit")
        failure.more["fault"] = "out-of-memory" if too_large else "process-ended"
        lost = failure.body()
        for call in reversed(list(worker.outstanding.values())):
            if worker.has_begun(call):
                call.answer(500, lost)
            elif not call.done:
                self._queue.appendleft(call)
        worker.outstanding.clear()
        if self._failed_starts >= _MOST_FAILED_STARTS:
            self._failed_starts = 0
            self._fail_queue(worker.reason or "")
        self._send_queued()

    def _fail_queue(self, reason: str) -> None:
        body = Failure(500, f"The worker of {self.code.ko} does not start: {reason}", "WorkerLost").body()
        while self._queue:
            self._queue.popleft().answer(500, body)

    def _look_soon(self) -> None:
        if self._timer is None or self._pause > _SHORTEST_LOOK:
            self._look_in(_SHORTEST_LOOK)

    def _look_in(self, pause: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._pause = pause
        self._timer = self._loop.call_later(pause, self._look)

    def _look(self) -> None:
        """Keeps the limits while there are calls."""
        self._timer = None
        now = self._loop.time()
        for worker in self._workers():
            worker.ping_if_stalled(now)
            self._check_deadlines(worker, now)
            if worker.is_over(now):
                worker.end(worker.reason or "")
        if now >= self._memory_look_at:
            self._memory_look_at = now + _MEMORY_LOOK
            self.check()
        for call in [call for call in self._queue if now >= call.deadline]:
            self._expire(call)
            self._queue.remove(call)
        if not self.idle or self._retired:
            self._look_in(min(self._pause * 2, _LONGEST_LOOK))

    def _check_deadlines(self, worker: Worker, now: float) -> None:
        for call in worker.outstanding.values():
            if now >= call.deadline and not call.done:
                if worker.has_begun(call):
                    call.answer(500, self._too_long(call).body())
                else:
                    self._expire(call)
        if worker.is_stuck(now):
            if worker.must_answer_from is None:
                worker.must_answer_from = now + _LAST_CHANCE
            self._retire(worker, _GRACE, "another call passed its time limit")

    def _too_long(self, call: Call) -> Failure:
        limit = self._limits.execution_timeout
        own = call.deadline >= call.last_moment
        text = (
            f"The call passed the time limit of {limit:g} s"
            if own
            else "The call passed the time that its caller had left"
        )
        failure = Failure(500, text, "TimeLimit")
        failure.more["fault"] = "execution-timeout"
        return failure

    def _expire(self, call: Call) -> None:
        refusal = overloaded(f"The call of {self.code.ko} waited too long for others to end; try again later")
        call.answer(refusal.status, refusal.body(), refusal.headers)

    def _check_memory(self, worker: Worker) -> None:
        if worker.process.alive and worker.process.too_large():
            limit = self._limits.memory // (1024 * 1024)
            if self._worker is worker:
                self._worker = None
                self._retired.append(worker)
            worker.reason = None
            worker.end(f"it passed its memory limit of {limit} MB")
