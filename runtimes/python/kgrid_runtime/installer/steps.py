"""The programs of an installation: what they are given, and what is taken of what they say."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from kgrid_runtime.installer.failures import Failure
from kgrid_runtime.installer.tree import Count, read_file

_PASSED_ON = re.compile(
    r"PIP_\w+|(?i:https?_proxy|no_proxy|all_proxy)|SSL_CERT_\w+|REQUESTS_CA_BUNDLE|HOME|TZ|LD_LIBRARY_PATH"
)
_MOST_FILES = 200_000
_LARGEST_OUTCOME = 1024 * 1024
_BUILD_MEMORY = 2 * 1024**3
_AT_ONCE = 2
_SHORTEST_SECRET = 4


@dataclass(frozen=True)
class InstallLimits:
    seconds: float
    size: int
    """Bytes that one installation may write."""

    def count(self) -> Count:
        return Count(self.size, _MOST_FILES)


@dataclass(frozen=True)
class Step:
    """What is to be run."""

    kind: str
    """`fetch`: with the network, and without code of packages. `build`: the other way round."""
    request: Mapping[str, object]
    folder: Path
    """In which it starts."""
    environment: Mapping[str, str]
    work: Path
    """The folder in which it may write."""


@dataclass(frozen=True)
class StepEnd:
    """The end of a step, with everything that it has started."""

    code: int
    output: str
    problem: str | None
    """Why it was ended, as a sentence."""


RunStep = Callable[[Step, str, Callable[[str], None]], Awaitable[StepEnd]]
"""Runs a step, which the second says in words, and tells the third which package is fetched."""


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

    @property
    def words(self) -> str:
        """To begin a sentence."""
        return self.what[0].upper() + self.what[1:]


class Steps:
    def __init__(self, limits: InstallLimits, environment: Mapping[str, str], run: RunStep) -> None:
        path = {"PATH": environment.get("PATH", "/usr/local/bin:/usr/bin:/bin"), "LANG": "C.UTF-8"}
        self._limits = limits
        self._run_step = run
        self._for_pip = {**{name: value for name, value in environment.items() if _PASSED_ON.fullmatch(name)}, **path}
        self._for_builds = path
        self._secrets = _secrets_in(self._for_pip)
        self._turn = asyncio.Semaphore(_AT_ONCE)

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

    async def _run(self, doing: Doing, step: Step) -> Ended:
        if self._turn.locked():
            doing.tell("waiting for other installations")
        async with self._turn:
            doing.tell(doing.what)
            end = await self._run_step(step, doing.words, lambda name: doing.tell(f"{doing.what}: {name}"))
        if end.problem is not None:
            raise Failure(end.problem)
        said = end.output
        for secret in self._secrets:
            said = said.replace(secret, "")
        return Ended(end.code, said, await asyncio.to_thread(_outcome, step.work))


def _secrets_in(environment: Mapping[str, str]) -> list[str]:
    """Names and passwords of package indexes and proxies, as they are written and as they are meant."""
    found = re.findall(r"//([^\s@]+)@", " ".join(environment.values()))
    parts = {part for each in found for part in (each, *each.split(":", 1), *unquote(each).split(":", 1))}
    return sorted((part for part in parts if len(part) >= _SHORTEST_SECRET), key=len, reverse=True)


def _outcome(work: Path) -> dict[str, Any]:
    """What the program says of its end; code of packages may have written anything."""
    try:
        value = json.loads(read_file(work, "outcome.json", most=_LARGEST_OUTCOME) or b"")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
