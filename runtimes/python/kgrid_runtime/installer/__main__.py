"""The installer as a child of an activator: `python3 -m kgrid_runtime.installer`, with JSON lines in and out.

In, first: `{cache, environment, seconds, size, sourceBuilds}`, the folder for what is installed, variables for pip, and
limits. Then `{"install": number, ko, key, root, requirements, package, hosts}`: folder of the knowledge object and what
tells its files apart, its `requirements.txt`, and `{folder, package, module}` where it is a package; either may be
null. `hosts` are those that it may name to fetch packages from, beside the indexes.
And of programs that run: `{"run": number, "fetching": name of a package}`, and at their end
`{"run": number, "end": {"code", "output", "problem"?}}`.

Out: `{"progress": number, "text"}`, `{"warning": text}`, and at the end of an installation `{"installed": number,
"folders", "module"}` or `{"failed": number, "text"}`. The programs that fetch and build are run by the activator,
which has walls and limits for them: `{"run": number, "kind", "what", "request", "folder", "environment", "work"}`.

It ends when its input does.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kgrid_runtime.installer.environments import Environments
from kgrid_runtime.installer.failures import Failure
from kgrid_runtime.installer.installer import Installer
from kgrid_runtime.installer.package import Package, module_of
from kgrid_runtime.installer.steps import InstallLimits, Step, StepEnd

_LONGEST_LINE = 16 * 1024 * 1024


def _tell(said: dict[str, object]) -> None:
    data = json.dumps(said).encode() + b"\n"
    while data:
        data = data[os.write(1, data) :]


class _Service:
    def __init__(self, said: dict[str, Any]) -> None:
        """`said`: the first line."""
        self._running: dict[int, tuple[asyncio.Future[StepEnd], Callable[[str], None]]] = {}
        self._last = 0
        environments = Environments(Path(said["cache"]))
        environments.prepare()
        self._installer = Installer(
            environments,
            InstallLimits(said["seconds"], said["size"]),
            said["environment"],
            frozenset(said["sourceBuilds"]),
            self._run,
            lambda text: _tell({"warning": text}),
        )
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, said: dict[str, Any]) -> None:
        if "install" in said:
            task = asyncio.ensure_future(self._install(said["install"], said))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif "fetching" in said:
            self._running[said["run"]][1](said["fetching"])
        else:
            end = said["end"]
            self._running.pop(said["run"])[0].set_result(StepEnd(end["code"], end["output"], end.get("problem")))

    async def _install(self, number: int, said: dict[str, Any]) -> None:
        def progress(text: str) -> None:
            _tell({"progress": number, "text": text})

        try:
            root = Path(said["root"])
            module = None if said["package"] is None else module_of(said["package"])
            requirements = None if said["requirements"] is None else root / said["requirements"]
            package = Package(said["ko"], said["key"], root, requirements, said["hosts"])
            if module is None:
                folders = await self._installer.requirements_of(package, progress)
            else:
                folders = await self._installer.package(package, said["package"]["folder"], progress)
            _tell({"installed": number, "folders": [str(each) for each in folders], "module": module})
        except Failure as failure:
            _tell({"failed": number, "text": failure.description})
        except OSError as error:
            _tell(
                {"failed": number, "text": f"what it needs cannot be stored: {error.strerror or 'a file is no file'}"}
            )

    async def _run(self, step: Step, what: str, fetching: Callable[[str], None]) -> StepEnd:
        self._last += 1
        ended: asyncio.Future[StepEnd] = asyncio.get_running_loop().create_future()
        self._running[self._last] = (ended, fetching)
        _tell(
            {
                "run": self._last,
                "kind": step.kind,
                "what": what,
                "request": dict(step.request),
                "folder": str(step.folder),
                "environment": dict(step.environment),
                "work": str(step.work),
            }
        )
        return await ended


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader(limit=_LONGEST_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    service: _Service | None = None
    while line := await lines.readline():
        said = json.loads(line)
        if service is None:
            service = _Service(said)
        else:
            service.take(said)


if __name__ == "__main__":
    asyncio.run(_serve())
