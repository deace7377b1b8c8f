"""A worker process and the calls that it has been given."""

from __future__ import annotations

import signal
from collections.abc import Callable

from kgrid_python_runtime.worker.ending import EXIT_MEMORY
from kgrid_python_runtime.worker.frames import ENDPOINT, PING, SEALED, Frame, frame
from kgrid_runtime.workers.call import Call
from kgrid_runtime.workers.process import Code, WorkerProcess

# A worker whose threads get the interpreter in turn answers within milliseconds, where the machine is not busy.
_UNHEARD_SECONDS = 0.5

Frames = list[Frame]
StartProcess = Callable[[Callable[[Frames], None], Callable[[int], None]], WorkerProcess]


class Worker:
    def __init__(
        self,
        code: Code,
        start: StartProcess,
        received: Callable[[Worker, Frames], None],
        exited: Callable[[Worker], None],
    ) -> None:
        """Raises OSError when no process can be started."""
        self.outstanding: dict[int, Call] = {}
        self.used_at = 0.0
        # When a worker that gets no more calls is ended at the latest, and why.
        self.ends_at: float | None = None
        # From when on it is ended where it does not even answer a ping.
        self.must_answer_from: float | None = None
        self.reason: str | None = None
        # Calls among the outstanding ones that other endpoints made.
        self.nested = 0
        self._exited = exited
        self._sent = 0
        self._code = code
        self._endpoints: dict[tuple[str, str], int] = {}
        self._seen = (0, 0)
        # When it was asked whether it is alive, until it answers.
        self._pinged_at: float | None = None
        self.process = start(lambda frames: received(self, frames), self._ended)

    def send(self, call: Call) -> None:
        call.order = self._sent
        self._sent += 1
        # A worker with nothing to do begins now; further calls are gathered.
        idle = not self.outstanding
        self.outstanding[self._sent] = call
        self.nested += call.nested
        self.process.calls.send(
            self._definition(call) + call.frame(self._sent, self._endpoints[call.target]), at_once=idle
        )

    def take(self, number: int) -> Call | None:
        """The call that an answer belongs to, which is no longer outstanding."""
        call = self.outstanding.pop(number, None)
        if call is not None:
            self.nested -= call.nested
        return call

    def has_begun(self, call: Call) -> bool:
        return call.order < self.process.begun

    def is_stuck(self, now: float) -> bool:
        """Whether a call is past its last moment, or one waits until then though nothing runs."""
        late = [call for call in self.outstanding.values() if now >= call.last_moment]
        return any(map(self.has_begun, late)) or bool(late and not any(map(self.has_begun, self.outstanding.values())))

    def is_over(self, now: float) -> bool:
        """Whether it is to be ended, of a worker that gets no more calls."""
        if self.ends_at is None:
            return False
        # Its threads do not get the interpreter in turn: none of its calls can go on.
        silent = self._pinged_at is not None and now - self._pinged_at >= _UNHEARD_SECONDS
        if silent and self.must_answer_from is not None and now >= self.must_answer_from:
            return True
        return now >= self.ends_at or all(call.done for call in self.outstanding.values())

    def ping_if_stalled(self, now: float) -> None:
        """Asks whether it is alive, when nothing has moved since the last look."""
        state = (self.process.begun, len(self.outstanding))
        if self.outstanding and state == self._seen and self._pinged_at is None:
            self._pinged_at = now
            self.process.control.send(frame(PING, 0, 0))
        self._seen = state

    def heard(self) -> None:
        """It has answered whether it is alive."""
        self._pinged_at = None

    def seal(self) -> None:
        """Asks it to begin no further call."""
        self.process.control.send(frame(SEALED, 0, 0))

    def take_back(self, last: int) -> list[Call]:
        """The calls that have not begun in a sealed worker, in their order. `last`: number of the last that did."""
        numbers = [number for number in self.outstanding if number > max(last, self.process.begun)]
        return [call for call in map(self.take, numbers) if call is not None and not call.done]

    def end(self, reason: str) -> None:
        """Kills the process; calls that it has begun are answered with `reason`."""
        if self.reason is None:
            self.reason = reason
        self.process.kill()

    def _definition(self, call: Call) -> bytes:
        """Tells it of the endpoint, with the first call of it."""
        if call.target in self._endpoints:
            return b""
        index = self._endpoints[call.target] = len(self._endpoints)
        return frame(ENDPOINT, index, 0, self._code.endpoint(*call.target))

    def _ended(self, code: int) -> None:
        if self.reason is None:
            self.reason = _explain(code)
        self._exited(self)


def _explain(code: int) -> str:
    if code == EXIT_MEMORY:
        return "it passed its memory limit"
    if code >= 0:
        return f"its process ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = str(-code)
    return f"its process was ended by signal {name}"
