"""The routes of the runtime."""

from __future__ import annotations

import asyncio
import functools
import hmac
import json
import platform
import re
from collections.abc import Coroutine

from kgrid_runtime import VERSION
from kgrid_runtime.activation import Activation, InProcessing
from kgrid_runtime.activation_request import read_activation_request
from kgrid_runtime.calls_in_one_request import CALLS_TYPE, Answers
from kgrid_runtime.endpoints import Endpoint, Endpoints
from kgrid_runtime.failures import Failure, not_authenticated, not_found
from kgrid_runtime.http.connection import Connection
from kgrid_runtime.http.request import Request
from kgrid_runtime.log import Log
from kgrid_runtime.registration import APP, ENGINE, Registration
from kgrid_runtime.traces import traces_of
from kgrid_runtime.workers.call import JSON, TEXT, Call

_NUMBER = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?")
_TOKEN = re.compile(r"[A-Za-z0-9._-]{1,1024}")


class Api:
    def __init__(
        self,
        endpoints: Endpoints,
        activation: Activation,
        registration: Registration,
        log: Log,
        *,
        url: str,
        activator_url: str,
        secret: str | None,
        execution_timeout: float,
    ) -> None:
        self._endpoints = endpoints
        self._activation = activation
        self._registration = registration
        self._log = log
        self._url = url
        self._activator_url = activator_url
        self._secret = None if secret is None else secret.encode()
        self._limit = execution_timeout
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()

    def handle(self, request: Request, connection: Connection) -> None:
        """Answers, now or later."""
        try:
            if self._secret is not None:
                self._check_secret(request, self._secret)
            method, path = request.head.method, request.head.path
            if method == "POST":
                if path.rstrip("/") == "/endpoints":
                    if "origin" in request.head.headers:
                        raise Failure(403, "Web pages may not activate endpoints")
                    self._later(connection, self._activate(request))
                else:
                    self._execute(request, connection)
            elif method == "GET" or (method == "HEAD" and path != "/register"):
                self._read(path.rstrip("/"), connection)
            elif method == "DELETE" and path.startswith("/endpoints/"):
                if "origin" in request.head.headers:
                    raise Failure(403, "Web pages may not deactivate endpoints")
                connection.respond(200, _json(self._deactivate(path[len("/endpoints/") :])))
            else:
                raise Failure(405, f"{method} is not supported here", headers=(("Allow", "GET, HEAD, POST"),))
        except Failure as failure:
            connection.respond(failure.status, failure.body(), failure.headers)

    def _check_secret(self, request: Request, secret: bytes) -> None:
        sent = request.head.headers.get("x-kgrid-runtime-secret", "").encode("latin-1")
        if not hmac.compare_digest(sent, secret):
            raise not_authenticated()

    def _execute(self, request: Request, connection: Connection) -> None:
        path, headers = request.head.path, request.head.headers
        endpoint = self._endpoints.find(path[1:])
        if endpoint is None:
            raise not_found(f"There is no active endpoint {path[1:200]} in this runtime")
        now = self._loop.time()
        own = now + (endpoint.request.timeout or self._limit)
        left = headers.get("x-kgrid-deadline-ms", "")
        deadline = min(own, now + float(left) / 1000) if _NUMBER.fullmatch(left) else own
        content_type = headers.get("content-type", "")
        depth = headers.get("x-kgrid-depth", "")
        depth = depth if _NUMBER.fullmatch(depth) else ""
        token = headers.get("x-kgrid-call-token", "")
        token = token if _TOKEN.fullmatch(token) else ""
        if content_type == CALLS_TYPE:
            inputs = request.body.split(b"\0")
            traces = traces_of(headers, len(inputs))
            answers = Answers(connection, len(inputs), headers.get("accept", ""))
            for number, body in enumerate(inputs):
                reply = answers.reply_to(number)
                call = Call(endpoint.target, JSON, body, reply, own, deadline, depth, token, traces[number])
                endpoint.runner.submit(call)
        else:
            kind = _input_kind(content_type)
            trace = traces_of(headers, 1)[0]
            call = Call(endpoint.target, kind, request.body, connection.respond, own, deadline, depth, token, trace)
            endpoint.runner.submit(call)

    def _read(self, path: str, connection: Connection) -> None:
        if path == "/info":
            connection.respond(200, _json(self._info()))
        elif path == "/endpoints":
            connection.respond(200, _json([self._describe(endpoint) for endpoint in self._endpoints.newest()]))
        elif path.startswith("/endpoints/"):
            endpoint = self._endpoints.find(path[len("/endpoints/") :])
            if endpoint is None:
                raise not_found(f"There is no active endpoint {path[len('/endpoints/') :][:200]} in this runtime")
            connection.respond(200, _json(self._describe(endpoint)))
        elif path == "/register":
            self._later(connection, self._register())
        elif path == "":
            links = {"Info": f"{self._url}/info", "Endpoints": f"{self._url}/endpoints"}
            connection.respond(200, _json({"Name": "KGrid Python Runtime", "Version": VERSION, **links}))
        else:
            raise not_found("There is nothing here; see /info and /endpoints")

    def _info(self) -> dict[str, object]:
        return {
            "app": APP,
            "version": VERSION,
            "engine": ENGINE,
            "url": self._url,
            "status": "up",
            "endpoints": len(list(self._endpoints.newest())),
            "activatorUrl": self._activator_url,
            "python": platform.python_version(),
        }

    def _describe(self, endpoint: Endpoint) -> dict[str, object]:
        return endpoint.describe(self._url)

    def _deactivate(self, uri: str) -> dict[str, object]:
        was_active = self._activation.deactivate(uri)
        return {"id": uri, "uri": uri, "status": "Deactivated" if was_active else "Not active"}

    async def _activate(self, request: Request) -> tuple[int, dict[str, object], tuple[tuple[str, str], ...]]:
        asked = read_activation_request(request.body)
        try:
            endpoint = await self._activation.activate(asked)
        except InProcessing as processing:
            status = "Endpoint is in processing, try again later."
            answer = {"id": asked.uri, "uri": asked.uri, "baseUrl": self._url, "status": status}
            return 503, {**answer, "description": str(processing)}, (("Retry-After", "2"),)
        return 200, self._describe(endpoint), ()

    async def _register(self) -> tuple[int, dict[str, object], tuple[tuple[str, str], ...]]:
        if not await self._registration.register(force_update=True):
            raise Failure(502, f"The activator at {self._activator_url} did not take the registration")
        return 200, {"Registered with": self._activator_url}, ()

    def _later(
        self,
        connection: Connection,
        work: Coroutine[object, object, tuple[int, dict[str, object], tuple[tuple[str, str], ...]]],
    ) -> None:
        async def respond() -> None:
            try:
                status, value, headers = await work
                connection.respond(status, _json(value), headers)
            except Failure as failure:
                connection.respond(failure.status, failure.body(), failure.headers)
            except Exception as error:
                self._log.warn(f"Unexpected: {error!r}")
                connection.respond(500, Failure(500, "The runtime failed; its log has the cause").body())

        task = asyncio.ensure_future(respond())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


@functools.lru_cache(maxsize=256)
def _input_kind(content_type: str) -> int:
    """JSON is parsed, and so is what has no type; anything else reaches the function as a text."""
    media_type = content_type.partition(";")[0].strip().lower()
    is_json = not media_type or media_type.endswith(("/json", "+json"))
    return JSON if is_json else TEXT


def _json(value: object) -> bytes:
    return json.dumps(value).encode()
