"""The installer as a child of an activator: `python3 -m kgrid_runtime.installer`, with JSON lines in and out.

In, first: `{cache, environment, seconds, size, sourceBuilds}`, the folder for what is installed, variables for pip, and
limits. Then `{"install": number, ko, key, root, requirements, package, hosts}`: folder of the knowledge object and what
tells its files apart, its `requirements.txt`, and `{folder, package, module}` where it is a package; either may be
null. `hosts` are those that it may name to fetch packages from, beside the indexes.
And what becomes of processes: `{"output": number, "text"}`, `{"ended": number, "code"}`.

Out: `{"progress": number, "text"}`, `{"warning": text}`, and at the end of an installation `{"installed": number,
"folders", "module"}` or `{"failed": number, "text"}`. The processes that fetch and build are started by the activator,
which has walls for them: `{"start": number, "kind", "request", "folder", "environment", "work"}`,
`{"kill": number}`.

It ends when its input does.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from kgrid_runtime.installer.environments import Environments
from kgrid_runtime.installer.failures import Failure
from kgrid_runtime.installer.installer import Installer
from kgrid_runtime.installer.package import Package, module_of
from kgrid_runtime.installer.processes import InstallProcess, Step
from kgrid_runtime.installer.steps import InstallLimits

_LONGEST_LINE = 16 * 1024 * 1024
# Name of the folder in the cache.
_NAME = "installs"


def _tell(said: dict[str, object]) -> None:
    data = json.dumps(said).encode() + b"\n"
    while data:
        data = data[os.write(1, data) :]


class _Service:
    def __init__(self, said: dict[str, Any]) -> None:
        """`said`: the first line."""
        self._processes: dict[int, InstallProcess] = {}
        self._last = 0
        environments = Environments(Path(said["cache"]), _NAME)
        environments.prepare()
        self._installer = Installer(
            environments,
            InstallLimits(said["seconds"], said["size"]),
            said["environment"],
            frozenset(said["sourceBuilds"]),
            self._start,
            lambda text: _tell({"warning": text}),
        )
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, said: dict[str, Any]) -> None:
        if "install" in said:
            task = asyncio.ensure_future(self._install(said["install"], said))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif "output" in said:
            self._processes[said["output"]].printed(said["text"])
        elif "ended" in said:
            self._processes.pop(said["ended"]).ended(said["code"])

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

    def _start(self, step: Step) -> InstallProcess:
        self._last += 1
        number = self._last
        process = self._processes[number] = InstallProcess(lambda: _tell({"kill": number}))
        _tell(
            {
                "start": number,
                "kind": step.kind,
                "request": dict(step.request),
                "folder": str(step.folder),
                "environment": dict(step.environment),
                "work": str(step.work),
            }
        )
        return process


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
