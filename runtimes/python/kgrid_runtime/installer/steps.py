"""Runs one program of an installation within its limits."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from kgrid_runtime.installer.failures import Failure
from kgrid_runtime.installer.processes import InstallProcess, StartProcess, Step
from kgrid_runtime.installer.tree import Count, TreeRefused, measure, read_file

_PASSED_ON = re.compile(
    r"PIP_\w+|(?i:https?_proxy|no_proxy|all_proxy)|SSL_CERT_\w+|REQUESTS_CA_BUNDLE|HOME|TZ|LD_LIBRARY_PATH"
)
_LAST_OUTPUT = 256 * 1024
_MOST_OUTPUT = 64 * 1024 * 1024
_MOST_FILES = 200_000
_LARGEST_OUTCOME = 1024 * 1024
_BUILD_MEMORY = 2 * 1024**3
_AT_ONCE = 2
_SHORTEST_SECRET = 4
# Seconds.
_SHORTEST_LOOK = 0.3
# The activator gives a group of processes 30 s to end.
_LAST_PROCESS = 35.0
# Looking at the size takes at most this part of the time.
_SHARE_OF_LOOKS = 0.1
_COLLECTING = re.compile(rb"^(?:Collecting|Processing) (?:\S*/)?([\w.-]+)", re.MULTILINE)


@dataclass(frozen=True)
class InstallLimits:
    seconds: float
    size: int
    """Bytes that one installation may write."""

    def count(self) -> Count:
        return Count(self.size, _MOST_FILES)


@dataclass(frozen=True)
class Ended:
    code: int
    output: str
    outcome: dict[str, Any]


@dataclass(frozen=True)
class Doing:
    """What a step does, in words such as `building the package`, and whom to tell how far it is."""

    what: str
    tell: Callable[[str], None]


class Steps:
    def __init__(self, limits: InstallLimits, environment: Mapping[str, str], start: StartProcess) -> None:
        path = {"PATH": environment.get("PATH", "/usr/local/bin:/usr/bin:/bin"), "LANG": "C.UTF-8"}
        self._limits = limits
        self._start = start
        self._for_pip = {**{name: value for name, value in environment.items() if _PASSED_ON.fullmatch(name)}, **path}
        self._for_builds = path
        self._secrets = _secrets_in(self._for_pip)
        self._turn = asyncio.Semaphore(_AT_ONCE)
        self._processes: set[InstallProcess] = set()

    async def pip(self, work: Path, asked: Mapping[str, object], sources: bool, doing: Doing) -> Ended:
        """Runs pip in a new folder, as `fetch.py` is asked to; `sources`: code of packages may run.

        Tells which package is fetched.
        """
        (work / "tmp").mkdir(parents=True)
        request = {**asked, "work": str(work)}
        variables = {**self._for_pip, "TMPDIR": str(work / "tmp")}
        if sources:
            # Their code could put into it what others would get.
            variables.pop("PIP_CACHE_DIR", None)
            variables["PIP_NO_CACHE_DIR"] = "1"
        return await self._run(doing, Step("fetch", request, work, variables, work))

    async def build(self, work: Path, environment: Path | None, last: bool, doing: Doing) -> Ended:
        """Builds the package in the folder `source` of `work`."""
        source = work / "source"
        request = {
            "source": str(source),
            "environment": None if environment is None else str(environment),
            "last": last,
            "work": str(work),
            "memory": _BUILD_MEMORY,
            "file": self._limits.size,
            "seconds": int(self._limits.seconds) + 1,
        }
        for name in ("home", "tmp"):
            (work / name).mkdir()
        variables = {**self._for_builds, "HOME": str(work / "home"), "TMPDIR": str(work / "tmp")}
        if environment is not None:
            variables["PYTHONPATH"] = str(environment)
            variables["PATH"] = f"{environment / 'bin'}:{variables['PATH']}"
        return await self._run(doing, Step("build", request, source, variables, work))

    def kill(self) -> None:
        for process in self._processes:
            process.kill()

    async def _run(self, doing: Doing, step: Step) -> Ended:
        work = step.work
        what = doing.what[0].upper() + doing.what[1:]
        if self._turn.locked():
            doing.tell("waiting for other installations")
        async with self._turn:
            doing.tell(doing.what)
            process = self._start(step)
            self._processes.add(process)
            output = _Output(what, doing)
            watching = asyncio.ensure_future(self._watch(what, process, work))
            reading = asyncio.ensure_future(output.read(process))
            try:
                await asyncio.wait({watching, reading}, timeout=self._limits.seconds, return_when="FIRST_COMPLETED")
                ended = [task for task in (reading, watching) if task.done()]
                if not ended:
                    raise Failure(f"{what} passed the limit of {self._limits.seconds:g} s")
                ended[0].result()
                output.check()
            finally:
                # What it has started ends with it.
                process.kill()
                watching.cancel()
                await asyncio.wait({reading}, timeout=_LAST_PROCESS)
                reading.cancel()
                await asyncio.gather(watching, reading, return_exceptions=True)
                self._processes.discard(process)
            if process.returncode is None:
                raise Failure(f"{what} failed: a process that it has started does not end")
        await asyncio.to_thread(self._measure, what, work)
        said = output.text
        for secret in self._secrets:
            said = said.replace(secret, "")
        return Ended(process.returncode, said, await asyncio.to_thread(_outcome, work))

    async def _watch(self, what: str, process: InstallProcess, work: Path) -> None:
        """Returns when the process has ended. Raises Failure when too much is written."""
        while process.returncode is None:
            began = time.monotonic()
            await asyncio.to_thread(self._measure, what, work)
            await asyncio.sleep(max(_SHORTEST_LOOK, (time.monotonic() - began) / _SHARE_OF_LOOKS))

    def _measure(self, what: str, work: Path) -> None:
        """All that the installation has written. Raises Failure when that is too much."""
        try:
            measure(work.parent, self._limits.count())
        except TreeRefused as refused:
            raise Failure(f"{what} {refused}") from None


def _secrets_in(environment: Mapping[str, str]) -> list[str]:
    """Names and passwords of package indexes and proxies, as they are written and as they are meant."""
    found = re.findall(r"//([^\s@]+)@", " ".join(environment.values()))
    parts = {part for each in found for part in (each, *each.split(":", 1), *unquote(each).split(":", 1))}
    return sorted((part for part in parts if len(part) >= _SHORTEST_SECRET), key=len, reverse=True)


class _Output:
    def __init__(self, what: str, doing: Doing) -> None:
        self._what = what
        self._doing = doing
        self._kept = b""
        self._total = 0

    def check(self) -> None:
        """Raises Failure where too much was printed."""
        if self._total > _MOST_OUTPUT:
            raise Failure(f"{self._what} printed more than {_MOST_OUTPUT // 1024**2} MB")

    @property
    def text(self) -> str:
        return self._kept.decode("utf-8", "replace")

    async def read(self, process: InstallProcess) -> None:
        """Returns when the process has ended, which it has to where it prints too much."""
        while data := await process.read():
            self._total += len(data)
            if self._total > _MOST_OUTPUT:
                process.kill()
            self._kept = (self._kept + data)[-_LAST_OUTPUT:]
            for name in _COLLECTING.findall(data)[-1:]:
                self._doing.tell(f"{self._doing.what}: {name.decode()}")


def _outcome(work: Path) -> dict[str, Any]:
    """What the program says of its end; code of packages may have written anything."""
    try:
        value = json.loads(read_file(work, "outcome.json", most=_LARGEST_OUTCOME) or b"")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
