"""Parts of the standard library that confinement keeps from what they need, so that they work or say the true reason.

Modules are changed when code imports them: a worker whose code needs none of them pays nothing.
"""

from __future__ import annotations

import os
import sys

# Not from typing, which would take a tenth of the worker's start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

_NO_PROCESSES = "processes cannot be started here; use threads, such as those of multiprocessing.pool.ThreadPool"


_NO_SHARED_MEMORY = "shared memory cannot be opened here, where no process could share it; threads share all objects"


def install() -> None:
    os.fork = _explained(os.fork)
    os.forkpty = _explained(os.forkpty)
    os.posix_spawn = _explained(os.posix_spawn)
    os.posix_spawnp = _explained(os.posix_spawnp)
    os.system = _system
    changes = {
        "_multiprocessing": _locks,
        "multiprocessing.heap": _memory,
        "_posixsubprocess": _programs,
        "_posixshmem": _shared_memory,
    }
    sys.meta_path.insert(0, _Changes(changes))  # type: ignore[arg-type]


class _Changes:
    """Finds the modules as ever, and changes them once they are loaded."""

    def __init__(self, changes: dict[str, Callable[[Any], None]]) -> None:
        self._changes = changes

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        change = self._changes.pop(name, None)
        if change is None:
            return None
        import importlib.util  # noqa: PLC0415

        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Changed(spec.loader, change)  # type: ignore[assignment]
        return spec


class _Changed:
    def __init__(self, loader: Loader, change: Callable[[Any], None]) -> None:
        self._loader = loader
        self._change = change

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._change(module)


def _locks(module: Any) -> None:
    """The system keeps named semaphores in `/dev/shm`."""
    try:
        module.SemLock(1, 1, 1, f"/kgrid-{os.getpid()}", True)
    except OSError:
        from kgrid_python_runtime.worker.semaphore import SemLock  # noqa: PLC0415

        module.SemLock = SemLock


def _memory(module: Any) -> None:
    """The folder for temporary files is left, in place of `/dev/shm`."""
    module.Arena._dir_candidates = []


def _programs(module: Any) -> None:
    module.fork_exec = _explained(module.fork_exec)


def _shared_memory(module: Any) -> None:
    module.shm_open = _explained(module.shm_open, _NO_SHARED_MEMORY)


def _system(command: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> int:
    """The one of the standard library answers a number where no process can be started."""
    process = os.posix_spawn("/bin/sh", ["sh", "-c", os.fsdecode(command)], os.environ)
    return os.waitpid(process, 0)[1]


def _explained(start: Callable[..., Any], reason: str = _NO_PROCESSES) -> Callable[..., Any]:
    def started(*given: Any, **named: Any) -> Any:
        try:
            return start(*given, **named)
        except PermissionError as error:
            raise PermissionError(error.errno, reason) from None

    return started
