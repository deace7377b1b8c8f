"""Reads the settings, builds the runtime, listens, and stops."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys

from kgrid_python_runtime.worker.confine import stay_unreadable
from kgrid_runtime.activation import Activation
from kgrid_runtime.activator import Activator
from kgrid_runtime.api import Api
from kgrid_runtime.cache_limits import CacheLimits
from kgrid_runtime.endpoints import Endpoints
from kgrid_runtime.http.client import Client
from kgrid_runtime.http.connection import Connection, HttpLimits
from kgrid_runtime.http.request import Request, SizeLimits
from kgrid_runtime.http.server import Server
from kgrid_runtime.installer.environments import Environments
from kgrid_runtime.installer.installer import Installer
from kgrid_runtime.installer.processes import start_here
from kgrid_runtime.log import Log
from kgrid_runtime.package_cache import PackageCache
from kgrid_runtime.parent_watch import HandedOver, read_first_line, watch_stdin
from kgrid_runtime.registration import Registration
from kgrid_runtime.settings import BadSetting, Settings, read_settings
from kgrid_runtime.workers.requests import ActivatorRequests
from kgrid_runtime.workers.runners import Runners

# Seconds for the answers to calls at hand; the activator kills after 3.
_CLOSE_SECONDS = 2.0
# An activation names all files of a knowledge object.
_CONTROL_BODY = 11 * 1024 * 1024


def main() -> int:
    """The exit code: 0 after a signal or the parent's end, 1 when it cannot start, 2 for a bad setting."""
    try:
        settings = read_settings(os.environ)
    except BadSetting as bad:
        sys.stderr.write(f"{bad}\n")
        return 2
    stay_unreadable()
    handed_over = read_first_line() if settings.stop_with_stdin else HandedOver()
    if handed_over is None:
        return 0
    log = Log(settings.debug)
    try:
        return asyncio.run(_run(settings, handed_over, log))
    finally:
        log.close()


async def _run(settings: Settings, handed_over: HandedOver, log: Log) -> int:
    client = Client()
    activator = Activator(settings, client, handed_over.secret)
    packages = PackageCache(settings.cache_folder, settings.cache_strategy, activator)
    environments = Environments(settings.cache_folder)
    installer = Installer(
        environments,
        settings.install,
        {**os.environ, **handed_over.installer},
        settings.source_builds,
        start_here,
        log.warn,
    )
    runners = Runners(settings.workers, ActivatorRequests(activator), log, settings.cache_folder / "scratch")
    endpoints = Endpoints()
    activation = Activation(packages, installer, runners, endpoints, log, settings.workers.execution_timeout)
    stop = asyncio.Event()
    api: list[Api] = []

    def handle(request: Request, connection: Connection) -> None:
        api[0].handle(request, connection)

    server = Server(handle, HttpLimits(SizeLimits(body=max(settings.workers.body, _CONTROL_BODY))))
    try:
        packages.prepare()
        environments.prepare()
        runners.prepare()
        port = await server.listen(settings.host, settings.port)
    except OSError as error:
        reason = f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
        sys.stderr.write(f"The runtime cannot start on {settings.host}:{settings.port}: {reason}\n")
        return 1
    url = settings.url or f"http://{'127.0.0.1' if settings.host == '0.0.0.0' else settings.host}:{port}"
    registration = Registration(activator, url, settings.heartbeat, log)
    api.append(
        Api(
            endpoints,
            activation,
            registration,
            log,
            url=url,
            activator_url=activator.url,
            secret=handed_over.secret,
            execution_timeout=settings.workers.execution_timeout,
        )
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    if settings.stop_with_stdin:
        watch_stdin(stop.set, lambda: os._exit(0), _CLOSE_SECONDS + 2)
    _announce(url)
    limits = CacheLimits(settings.cache_folder, settings.cache_size, activation.in_use)
    lasting = [asyncio.ensure_future(each) for each in (registration.keep(), limits.keep())]
    await stop.wait()
    for task in lasting:
        task.cancel()
    await server.close(_CLOSE_SECONDS)
    installer.kill()
    runners.kill()
    client.close()
    return 0


def _announce(url: str) -> None:
    """One line on stdout for the program that started this one."""
    with contextlib.suppress(OSError):
        os.write(1, json.dumps({"event": "listening", "url": url}).encode() + b"\n")
