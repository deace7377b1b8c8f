"""A worker process and the calls that it has been given."""

from __future__ import annotations

import signal
from collections.abc import Callable

from kgrid_python_runtime.worker.ending import EXIT_MEMORY
from kgrid_python_runtime.worker.frames import NUDGE, frame
from kgrid_runtime.workers.call import Call
from kgrid_runtime.workers.process import WorkerProcess

_UNHEARD_NUDGES = 3

Frames = list[tuple[int, int, bytes]]
StartProcess = Callable[[Callable[[Frames], None], Callable[[int], None]], WorkerProcess]


class Worker:
    def __init__(
        self, start: StartProcess, received: Callable[[Worker, Frames], None], exited: Callable[[Worker], None]
    ) -> None:
        """Raises OSError when no process can be started."""
        self.outstanding: dict[int, Call] = {}
        self.used_at = 0.0
        # When a worker that gets no more calls is ended at the latest, and why.
        self.ends_at: float | None = None
        self.reason: str | None = None
        # Calls among the outstanding ones that other endpoints made.
        self.nested = 0
        self._exited = exited
        self._sent = 0
        self._nudges = 0
        self._seen = (0, 0)
        self._nudged: tuple[int, int] | None = None
        self.process = start(lambda frames: received(self, frames), self._ended)

    def send(self, call: Call) -> None:
        call.order = self._sent
        self._sent += 1
        # A worker with nothing to do begins now; further calls are gathered.
        idle = not self.outstanding
        self.outstanding[self._sent] = call
        self.nested += call.nested
        self.process.calls.send(call.frame(self._sent), at_once=idle)

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

    def hears(self) -> bool:
        """Whether its threads get the interpreter in turn. Otherwise none of its calls can go on."""
        return self._nudges - self.process.heard < _UNHEARD_NUDGES

    def nudge_if_stalled(self, again: bool) -> bool:
        """Brings a further thread in when nothing has moved since the last look. Whether it did.

        `again`: also where that was done before and did not help.
        """
        begun, left = self.process.begun, len(self.outstanding)
        state = (begun, left)
        stalled = left > 0 and state == self._seen and (self._nudged != state or again)
        if stalled:
            self._nudged = state
            self._nudges += 1
            self.process.control.send(frame(NUDGE, max(self._sent - begun, 0)))
        self._seen = state
        return stalled

    def end(self, reason: str) -> None:
        """Kills the process; calls that it has begun are answered with `reason`."""
        if self.reason is None:
            self.reason = reason
        self.process.kill()

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
