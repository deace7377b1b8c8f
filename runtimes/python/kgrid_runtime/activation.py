"""Activates endpoints: files, dependencies, worker, function."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path

from kgrid_runtime.activation_request import ActivationRequest
from kgrid_runtime.endpoints import Endpoint, Endpoints
from kgrid_runtime.failures import Failure, activation_failed
from kgrid_runtime.installer.installer import Installer
from kgrid_runtime.log import Log
from kgrid_runtime.package_cache import Package, PackageCache
from kgrid_runtime.workers.call import LOADS, Call
from kgrid_runtime.workers.process import Code
from kgrid_runtime.workers.runner import Runner
from kgrid_runtime.workers.runners import Runners

_WAIT_SECONDS = 5.0
_FAILURE_IS_NEWS = 600.0
# Each starts a process, which takes a core for a moment.
_AT_ONCE = 4


class InProcessing(Exception):
    """The activation goes on; the text says what it is doing."""


@dataclass
class _Job:
    request: ActivationRequest
    doing: str = "waiting for other activations"
    task: asyncio.Task[Endpoint] = field(init=False)
    ended_at: float = 0.0


class Activation:
    def __init__(
        self,
        packages: PackageCache,
        installer: Installer,
        runners: Runners,
        endpoints: Endpoints,
        log: Log,
        execution_timeout: float,
    ) -> None:
        self._packages = packages
        self._installer = installer
        self._runners = runners
        self._endpoints = endpoints
        self._log = log
        self._load_timeout = execution_timeout
        self._jobs: dict[str, _Job] = {}
        self._activating: list[Runner] = []
        self._installing: list[Path] = []
        self._turn = asyncio.Semaphore(_AT_ONCE)

    async def activate(self, request: ActivationRequest) -> Endpoint:
        """The active endpoint. Raises Failure, or InProcessing when it takes longer than 5 s.

        Work that has begun goes on; asking again with the same request gives its outcome.
        """
        job = self._jobs.get(request.uri)
        now = asyncio.get_running_loop().time()
        stale = job is not None and job.task.done() and now - job.ended_at > _FAILURE_IS_NEWS
        if job is None or job.request != request or stale:
            if job is not None:
                job.task.cancel()
            job = self._begin(request)
        try:
            endpoint = await asyncio.wait_for(asyncio.shield(job.task), _WAIT_SECONDS)
        except asyncio.TimeoutError:
            raise InProcessing(job.doing) from None
        except asyncio.CancelledError:
            # Replaced by a newer request for the same endpoint.
            if job.task.cancelled():
                raise InProcessing("a newer activation") from None
            raise
        except Exception:
            self._forget(job)
            raise
        return endpoint

    def deactivate(self, uri: str) -> bool:
        """Lets go of an endpoint; its calls come to their end. False when it was not active."""
        was_active = self._endpoints.remove(uri)
        self._keep_used()
        if was_active:
            self._log.info(f"Deactivated {uri}")
        return was_active

    def in_use(self) -> set[Path]:
        """Folders that active endpoints need, and those that are being installed for."""
        codes = [runner.code for runner in self._endpoints.runners().union(self._activating)]
        return {*self._installing, *(path for code in codes for path in (code.root, *code.installed))}

    def _keep_used(self) -> None:
        self._runners.keep_only(self._endpoints.runners().union(self._activating))

    def _begin(self, request: ActivationRequest) -> _Job:
        job = self._jobs[request.uri] = _Job(request)
        job.task = asyncio.ensure_future(self._run(job))
        job.task.add_done_callback(lambda _task: self._finished(job))
        return job

    def _finished(self, job: _Job) -> None:
        """Only a failure waits for whoever asks next: an active endpoint is simply there."""
        job.ended_at = asyncio.get_running_loop().time()
        if job.task.cancelled():
            return
        error = job.task.exception()
        if error is None:
            self._forget(job)
            self._log.info(f"Activated {job.request.uri}")
        else:
            self._log.warn(f"Cannot activate {job.request.uri}: {getattr(error, 'description', repr(error))}")

    def _forget(self, job: _Job) -> None:
        if self._jobs.get(job.request.uri) is job:
            del self._jobs[job.request.uri]

    async def _run(self, job: _Job) -> Endpoint:
        try:
            return await self._steps(job)
        except OSError as error:
            reason = error.strerror or "files cannot be copied"
            raise activation_failed(f"The runtime cannot store what it needs: {reason}") from error

    async def _steps(self, job: _Job) -> Endpoint:
        request = job.request
        job.doing = "fetching artifacts"
        package = await self._packages.obtain(request)
        self._installing.append(package.root)
        try:
            code = await self._install(job, package)
        except (Failure, OSError):
            self._installing.remove(package.root)
            await self._discard_unused(package)
            raise
        self._installing.remove(package.root)
        job.doing = "waiting for other activations"
        async with self._turn:
            job.doing = "loading the code"
            runner = self._runners.of(code)
            endpoint = Endpoint(request, runner)
            self._activating.append(runner)
            try:
                await self._load(endpoint)
                self._endpoints.put(endpoint)
            finally:
                self._activating.remove(runner)
                self._keep_used()
        return endpoint

    async def _install(self, job: _Job, package: Package) -> Code:
        """Raises Failure and OSError."""

        def progress(doing: str) -> None:
            job.doing = doing

        job.doing = "waiting for other installations"
        named = job.request.package
        if named is None:
            installed = await self._installer.requirements_of(package, progress)
            return Code(job.request.ko, package.root, job.request.entry.rpartition("/")[0], installed)
        installed = await self._installer.package(package, named.folder, progress)
        return Code(job.request.ko, package.root, "", installed, named.module.partition(".")[0])

    async def _discard_unused(self, package: Package) -> None:
        """Nothing is left of what could not be installed."""
        if package.root not in self.in_use():
            await self._packages.discard(package)

    async def _load(self, endpoint: Endpoint) -> None:
        """Loads the function in the worker. Raises Failure."""
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[tuple[int, bytes]] = loop.create_future()

        def reply(status: int, body: bytes, _headers: object) -> None:
            if not outcome.done():
                outcome.set_result((status, body))

        until = loop.time() + self._load_timeout
        endpoint.runner.submit(Call(endpoint.target, LOADS, b"", reply, until, until))
        status, body = await outcome
        if status != 200:
            error = json.loads(body)
            if status == 503:
                raise activation_failed(str(error["description"]))
            raise Failure(500, str(error["description"]), str(error["name"]))
