"""All runners: one for each code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from kgrid_runtime import scratch
from kgrid_runtime.log import Log
from kgrid_runtime.settings import WorkerLimits
from kgrid_runtime.workers.process import Code, WorkerProcess
from kgrid_runtime.workers.requests import ActivatorRequests
from kgrid_runtime.workers.runner import Runner
from kgrid_runtime.workers.worker import Frames

_MOST_IDLE = 64
_LOOK_SECONDS = 1.0


class Runners:
    def __init__(self, limits: WorkerLimits, requests: ActivatorRequests, log: Log, scratch_folder: Path) -> None:
        self._limits = limits
        self._requests = requests
        self._log = log
        self._scratch = scratch_folder
        self._runners: dict[Code, Runner] = {}
        self._leaving: list[Runner] = []
        self._timer: asyncio.TimerHandle | None = None

    def prepare(self) -> None:
        """Makes the folder for temporary files. Raises OSError."""
        scratch.prepare(self._scratch)
        self._look()

    def of(self, code: Code) -> Runner:
        runner = self._runners.get(code)
        if runner is None:
            runner = self._runners[code] = Runner(code, self._start_of(code), self._limits, self._requests)
        return runner

    def keep_only(self, used: set[Runner]) -> None:
        """Lets the others finish their calls and go."""
        for code, runner in list(self._runners.items()):
            if runner not in used:
                del self._runners[code]
                runner.close()
                self._leaving.append(runner)

    def kill(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for runner in [*self._runners.values(), *self._leaving]:
            runner.kill()

    def _start_of(self, code: Code) -> Callable[[Callable[[Frames], None], Callable[[int], None]], WorkerProcess]:
        def output(stream: str, text: str) -> None:
            self._log.knowledge_object(code.ko, stream, text)

        return lambda frames, exited: WorkerProcess(code, self._limits, self._scratch, frames, exited, output)

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        self._leaving = [runner for runner in self._leaving if runner.has_workers]
        idle: list[tuple[float, Runner]] = []
        for runner in [*self._runners.values(), *self._leaving]:
            runner.check()
            if runner.idle and runner.used_at is not None:
                idle.append((runner.used_at, runner))
        idle.sort(key=lambda pair: pair[0])
        for place, (used_at, runner) in enumerate(idle):
            if loop.time() - used_at > self._limits.idle_timeout or place < len(idle) - _MOST_IDLE:
                runner.stop_idle()
        self._timer = loop.call_later(min(_LOOK_SECONDS, self._limits.idle_timeout), self._look)
