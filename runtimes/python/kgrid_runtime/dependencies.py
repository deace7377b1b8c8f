"""Packages that a knowledge object requires, each set in a folder of its own."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import re
import shutil
import signal
import sys
import sysconfig
import time
from collections.abc import Mapping
from pathlib import Path

from kgrid_runtime import scratch
from kgrid_runtime.failures import Failure, activation_failed
from kgrid_runtime.package_cache import Package

_PIP = str(Path(__file__).with_name("run_pip.py"))
_OPTIONS = ("--prefer-binary", "--no-input", "--disable-pip-version-check", "--no-warn-script-location", "--quiet")
_PASSED_ON = re.compile(
    r"PIP_\w+|(?i:https?_proxy|no_proxy|all_proxy)|SSL_CERT_\w+|REQUESTS_CA_BUNDLE|HOME|TZ|LD_LIBRARY_PATH"
)
_LAST_OUTPUT = 64 * 1024
_LONGEST_REASON = 1000
_KEEP_SECONDS = 30 * 24 * 3600
_AT_ONCE = 2


class Dependencies:
    def __init__(self, folder: Path, timeout: float, environment: Mapping[str, str]) -> None:
        self._folder = folder / "dependencies"
        self._staging = folder / "installing"
        self._timeout = timeout
        self._environment = _environment(environment)
        self._installs: dict[str, asyncio.Task[None]] = {}
        self._turn = asyncio.Semaphore(_AT_ONCE)
        self._processes: set[asyncio.subprocess.Process] = set()

    def prepare(self) -> None:
        """Makes the folders, and drops what was interrupted or not used for 30 days. Raises OSError."""
        scratch.prepare(self._staging)
        self._folder.mkdir(parents=True, exist_ok=True)
        for installed in self._folder.iterdir():
            if time.time() - installed.stat().st_mtime > _KEEP_SECONDS:
                shutil.rmtree(installed, ignore_errors=True)

    async def obtain(self, package: Package) -> Path | None:
        """The folder with what the package requires, None if that is nothing. Raises Failure and OSError."""
        if package.requirements is None:
            return None
        text = package.requirements.read_text("utf-8", "replace")
        if not _required(text):
            return None
        key = _key(text, package)
        installed = self._folder / key
        if not installed.is_dir():
            # One installation for all who need it, which goes on when one of them gives up.
            task = self._installs.get(key)
            if task is None:
                task = self._installs[key] = asyncio.ensure_future(self._install(package.requirements, installed))
                task.add_done_callback(lambda done: self._finished(key, done))
            await asyncio.shield(task)
        installed.touch()
        return installed

    def kill(self) -> None:
        for process in self._processes:
            _kill(process)

    def _finished(self, key: str, task: asyncio.Task[None]) -> None:
        del self._installs[key]
        if not task.cancelled():
            # Nobody may be waiting any more.
            task.exception()

    async def _install(self, requirements: Path, target: Path) -> None:
        async with self._turn:
            staging = scratch.make(self._staging)
            try:
                await self._run_pip(requirements, staging / "packages")
                (staging / "packages").mkdir(exist_ok=True)
                (staging / "packages").replace(target)
            finally:
                await asyncio.to_thread(shutil.rmtree, staging, True)

    async def _run_pip(self, requirements: Path, target: Path) -> None:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", _PIP, str(os.getpid()), "install", *_OPTIONS, "--target", str(target)),
            *("-r", str(requirements)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=requirements.parent,
            env=self._environment,
            start_new_session=True,
        )
        self._processes.add(process)
        try:
            output = await asyncio.wait_for(_last_output(process), self._timeout)
        except asyncio.TimeoutError:
            raise activation_failed(f"Installing dependencies passed the limit of {self._timeout:g} s") from None
        finally:
            if process.returncode is None:
                _kill(process)
            self._processes.discard(process)
            await process.wait()
        if process.returncode != 0:
            hidden = {str(target): "", str(requirements.parent): "", str(self._staging): "", sys.prefix: "python"}
            raise _failure(output.decode("utf-8", "replace"), hidden)


def _required(text: str) -> bool:
    return any(line.strip() and not line.strip().startswith("#") for line in text.splitlines())


def _key(text: str, package: Package) -> str:
    """The same for all who require the same, unless the text names files of the knowledge object."""
    lines = [line.strip() for line in text.splitlines()]
    own_files = any(line.startswith(("-", ".", "/")) or ("/" in line and "://" not in line) for line in lines)
    parts = [text, sys.version, sysconfig.get_platform(), package.key if own_files else ""]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in given.items() if _PASSED_ON.fullmatch(name)}
    return {**kept, "PATH": given.get("PATH", "/usr/local/bin:/usr/bin:/bin"), "LANG": "C.UTF-8"}


async def _last_output(process: asyncio.subprocess.Process) -> bytes:
    kept = b""
    while process.stdout is not None and (data := await process.stdout.read(65536)):
        kept = (kept + data)[-_LAST_OUTPUT:]
    await process.wait()
    return kept


def _failure(output: str, hidden: dict[str, str]) -> Failure:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    reason = " ".join(errors[-3:] or lines[-3:]) or "pip gave no reason"
    for folder, instead in hidden.items():
        reason = reason.replace(folder + "/", instead and instead + "/")
    # Credentials of a package index.
    reason = re.sub(r"//[^/@\s]+@", "//", reason)
    return activation_failed(f"Installing dependencies failed: {reason[:_LONGEST_REASON]}")


def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
