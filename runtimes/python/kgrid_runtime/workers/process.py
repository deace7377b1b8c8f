"""A worker process: start, sockets, memory, end. It knows nothing of calls."""

from __future__ import annotations

import asyncio
import contextlib
import json
import mmap
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import kgrid_python_runtime.worker
from kgrid_python_runtime.worker.counters import BEGUN, COUNTERS_SIZE
from kgrid_python_runtime.worker.frames import FROM_WORKER, Frame, FrameBuffer, OddFrame
from kgrid_runtime import scratch
from kgrid_runtime.settings import WorkerLimits
from kgrid_runtime.workers.ko_log import OutputReader
from kgrid_runtime.workers.pipe import Pipe

# Not the folder of this file: the worker's code is a package of its own.
_MAIN = str(Path(kgrid_python_runtime.worker.__file__).parent / "main.py")
# Calls that wait for other endpoints keep their thread, and an activator lets calls nest 16 deep.
_DEEPEST = 16
_MOST_THREADS = 512
# Memory that a worker shares with others (the interpreter's and libraries' files) does not count.
_SHARED_ALLOWANCE = 64 * 1024 * 1024
_FRAME_ALLOWANCE = 64 * 1024


@dataclass(frozen=True)
class Code:
    """What a worker runs."""

    ko: str
    """<naan>/<name>/<version>"""
    root: Path
    entry_folder: str
    """Relative to the root; empty for the root itself."""
    installed: tuple[Path, ...]
    """Folders with packages."""
    own_package: str | None = None
    """Its top name, where the knowledge object's own code is one of these."""

    def endpoint(self, entry: str, function: str) -> bytes:
        """What a worker is told of an endpoint. `entry` is the name of a module where there is an own package."""
        said = {
            "file": str(self.root / entry),
            "module": entry,
            "root": str(self.root),
            "function": function,
            "entryFolder": self.entry_folder,
            "installed": [str(folder) for folder in self.installed],
            "ownPackage": self.own_package,
        }
        return json.dumps(said).encode()


class WorkerProcess:
    def __init__(
        self,
        code: Code,
        limits: WorkerLimits,
        scratch_folder: Path,
        frames: Callable[[list[Frame]], None],
        exited: Callable[[int], None],
        output: Callable[[str, str], None],
    ) -> None:
        """The worker's temporary files go to a folder in `scratch_folder` that ends with it.

        `exited` gets the return code (negative: the signal), after the last frame; `output` stream and text.
        """
        self._loop = asyncio.get_running_loop()
        self._frames = frames
        self._exited = exited
        self._memory = limits.memory + _SHARED_ALLOWANCE
        # A nested call holds its input as a text in a text.
        self._most = limits.output + 2 * limits.body + _FRAME_ALLOWANCE
        self._scratch = scratch.make(scratch_folder)
        calls, worker_calls = socket.socketpair()
        control, worker_control = socket.socketpair()
        with tempfile.TemporaryFile() as counters, worker_calls, worker_control:
            counters.truncate(COUNTERS_SIZE)
            self._shared = mmap.mmap(counters.fileno(), COUNTERS_SIZE)
            self._process = self._start(
                code, limits, [each.fileno() for each in (worker_calls, worker_control, counters)]
            )
        self._counters = memoryview(self._shared).cast("Q")
        self.calls = self._pipe(calls)
        self.control = self._pipe(control)
        streams = (("stdout", self._process.stdout), ("stderr", self._process.stderr))
        self._output = [OutputReader(stream, name, output) for name, stream in streams if stream is not None]
        self.alive = True
        self._pidfd = _open_pidfd(self._process.pid)
        if self._pidfd is not None:
            self._loop.add_reader(self._pidfd, self.check_exit)

    @property
    def begun(self) -> int:
        """The number of the last call that began; right also after the worker's end."""
        return int(self._counters[BEGUN])

    def too_large(self) -> bool:
        """Whether the worker's memory is beyond the limit."""
        try:
            pages = int(Path(f"/proc/{self._process.pid}/statm").read_bytes().split()[1])
        except (OSError, IndexError, ValueError):
            return False
        return pages * mmap.PAGESIZE > self._memory

    def kill(self) -> None:
        """Ends the worker and what it has started."""
        if self.alive:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def check_exit(self) -> None:
        """Reports the end of the process, once. Called by the system's notice, and regularly where there is none."""
        if not self.alive or not _has_ended(self._process):
            return
        # Before it is waited for: until then its number cannot belong to others.
        self.kill()
        self.alive = False
        code = self._process.wait()
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
        while self.calls.read():
            pass
        for reader in self._output:
            reader.close()
        self.calls.close()
        self.control.close()
        last = bytes(self._counters)
        self._counters.release()
        self._shared.close()
        self._counters = memoryview(last).cast("Q")
        self._exited(code)
        scratch.drop(self._scratch)

    def _pipe(self, end: socket.socket) -> Pipe:
        buffer = FrameBuffer(self._most, FROM_WORKER)

        def received(data: bytes) -> None:
            try:
                frames = buffer.feed(data)
            except OddFrame:
                self.kill()
                return
            if frames:
                self._frames(frames)

        return Pipe(end, received)

    def _start(self, code: Code, limits: WorkerLimits, descriptors: list[int]) -> subprocess.Popen[bytes]:
        options = {
            "descriptors": descriptors,
            "parent": os.getpid(),
            "scratch": str(self._scratch),
            "concurrency": limits.concurrency,
            "threads": max(limits.concurrency, min(limits.concurrency * (_DEEPEST + 1), _MOST_THREADS)),
            "memoryLimit": limits.memory,
            "outputLimit": limits.output,
            "bodyLimit": limits.body,
        }
        # From the loop's thread: the kernel ties the worker's life to the thread that started it.
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", "-X", "utf8", "-X", "faulthandler", _MAIN, json.dumps(options)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=code.root,
            env=_environment(str(self._scratch)),
            pass_fds=descriptors,
            start_new_session=True,
            bufsize=0,
        )


# The time zone, and what the libraries of numpy and others go by: the last digits of results differ with it.
KEPT = (
    "TZ",
    "LD_LIBRARY_PATH",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "OPENBLAS_CORETYPE",
    "MKL_NUM_THREADS",
    "MKL_CBWR",
    "NPY_DISABLE_CPU_FEATURES",
)


def _environment(home: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {
        **kept,
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "HOME": home,
        "TMPDIR": home,
        # What asks for the user's name finds it here, where the list of users cannot be read.
        "LOGNAME": "kgrid",
        "MALLOC_ARENA_MAX": "2",
    }


def _open_pidfd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether it has ended, without waiting for it."""
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except (AttributeError, ChildProcessError):
        return process.poll() is not None
