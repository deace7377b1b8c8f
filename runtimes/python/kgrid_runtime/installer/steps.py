"""Runs one program of an installation within its limits."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgrid_runtime.failures import Failure, activation_failed
from kgrid_runtime.installer.processes import InstallProcess, StartProcess, Step

_HERE = Path(__file__).parent
_PASSED_ON = re.compile(
    r"PIP_\w+|(?i:https?_proxy|no_proxy|all_proxy)|SSL_CERT_\w+|REQUESTS_CA_BUNDLE|HOME|TZ|LD_LIBRARY_PATH"
)
_LAST_OUTPUT = 256 * 1024
_MOST_OUTPUT = 64 * 1024 * 1024
_MOST_FILES = 200_000
_LARGEST_OUTCOME = 1024 * 1024
_BUILD_MEMORY = 2 * 1024**3
_AT_ONCE = 2
# Seconds.
_SHORTEST_LOOK = 0.3
_LAST_READ = 2.0
# Looking at the size takes at most this part of the time.
_SHARE_OF_LOOKS = 0.1
_COLLECTING = re.compile(rb"^(?:Collecting|Processing) (?:\S*/)?([\w.-]+)", re.MULTILINE)


@dataclass(frozen=True)
class InstallLimits:
    seconds: float
    size: int
    """Bytes that one installation may write."""


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
        self._turn = asyncio.Semaphore(_AT_ONCE)
        self._processes: set[InstallProcess] = set()

    async def pip(self, work: Path, folder: Path, arguments: list[str], sources: bool, doing: Doing) -> Ended:
        """Runs pip in `folder`; `sources`: code of packages may run. Tells which package is fetched."""
        request = {"arguments": arguments, "sources": sources, "work": str(work)}
        (work / "tmp").mkdir(exist_ok=True)
        variables = {**self._for_pip, "TMPDIR": str(work / "tmp")}
        if sources:
            # Their code could put into it what others would get.
            variables["PIP_NO_CACHE_DIR"] = "1"
        step = Step("fetch", ["-I", str(_HERE / "fetch.py")], request, folder, variables, work)
        return await self._run(doing, step)

    async def build(self, work: Path, source: Path, environment: Path | None, last: bool, doing: Doing) -> Ended:
        """Builds the package in `source`."""
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
            (work / name).mkdir(exist_ok=True)
        variables = {**self._for_builds, "HOME": str(work / "home"), "TMPDIR": str(work / "tmp")}
        if environment is not None:
            variables["PYTHONPATH"] = str(environment)
            variables["PATH"] = f"{environment / 'bin'}:{variables['PATH']}"
        command = ["-I", "-S", "-B", str(_HERE / "build.py")]
        return await self._run(doing, Step("build", command, request, source, variables, work))

    def kill(self) -> None:
        for process in self._processes:
            process.kill()

    async def _run(self, doing: Doing, step: Step) -> Ended:
        work = step.work
        what = doing.what[0].upper() + doing.what[1:]
        (work / "outcome.json").unlink(missing_ok=True)
        if self._turn.locked():
            doing.tell("waiting for other installations")
        async with self._turn:
            doing.tell(doing.what)
            process = await self._start(step)
            self._processes.add(process)
            output = _Output(what, doing)
            watching = asyncio.ensure_future(self._watch(what, process, work))
            reading = asyncio.ensure_future(output.read(process))
            try:
                await asyncio.wait({watching, reading}, timeout=self._limits.seconds, return_when="FIRST_COMPLETED")
                ended = [task for task in (reading, watching) if task.done()]
                if not ended:
                    raise activation_failed(f"{what} passed the limit of {self._limits.seconds:g} s")
                ended[0].result()
                output.check()
            finally:
                # What it has started ends with it.
                process.kill()
                watching.cancel()
                # Until the pipe is read to its end, asyncio does not tell the end of the process.
                await asyncio.wait({reading}, timeout=_LAST_READ)
                reading.cancel()
                await asyncio.gather(watching, reading, return_exceptions=True)
                self._processes.discard(process)
        return Ended(process.returncode or 0, output.text, await asyncio.to_thread(_outcome, work))

    async def _watch(self, what: str, process: InstallProcess, work: Path) -> None:
        """Returns when the process has ended. Raises Failure when too much is written."""
        while process.returncode is None:
            began = time.monotonic()
            size, files = await asyncio.to_thread(measure, work)
            if size > self._limits.size:
                raise _too_much(what, f"{self._limits.size // 1024**2} MB")
            if files > _MOST_FILES:
                raise _too_much(what, f"{_MOST_FILES} files")
            await asyncio.sleep(max(_SHORTEST_LOOK, (time.monotonic() - began) / _SHARE_OF_LOOKS))


class _Output:
    def __init__(self, what: str, doing: Doing) -> None:
        self._what = what
        self._doing = doing
        self._kept = b""
        self._total = 0

    def check(self) -> None:
        """Raises Failure where too much was printed."""
        if self._total > _MOST_OUTPUT:
            raise activation_failed(f"{self._what} printed more than {_MOST_OUTPUT // 1024**2} MB")

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
        await process.wait()


def measure(folder: Path) -> tuple[int, int]:
    """Bytes on disk, and how many files and folders."""
    size = count = 0
    folders = [str(folder)]
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                count += 1
                with contextlib.suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    else:
                        size += entry.stat(follow_symlinks=False).st_blocks * 512
    return size, count


def _too_much(what: str, limit: str) -> Failure:
    return activation_failed(f"{what} wrote more than the limit of {limit}")


def _outcome(work: Path) -> dict[str, Any]:
    """What the program says of its end; code of packages may have written anything."""
    try:
        with (work / "outcome.json").open("rb") as file:
            value = json.loads(file.read(_LARGEST_OUTCOME))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
