"""What knowledge objects ask of the activator: results and metadata of other endpoints."""

from __future__ import annotations

import asyncio
import json
import re

from kgrid_python_runtime.worker.frames import REPLY, frame
from kgrid_runtime.activator import Activator, Refused
from kgrid_runtime.workers.call import Call
from kgrid_runtime.workers.worker import Worker

_ENDPOINT = re.compile(r"/?([A-Za-z0-9._~-]+(?:/[A-Za-z0-9._~-]+){2,3})")
_MOST_AT_ONCE = 128


class ActivatorRequests:
    def __init__(self, activator: Activator) -> None:
        self._activator = activator
        self._tasks: dict[Worker, set[asyncio.Task[None]]] = {}

    def begin(self, worker: Worker, number: int, call_number: int, text: bytes) -> None:
        """Starts a request; its answer goes to the worker. Raises ValueError, KeyError or TypeError for no request."""
        asked = json.loads(text)
        uri = _ENDPOINT.fullmatch(asked["uri"])
        body = None if asked.get("what") == "metadata" else str(asked["body"]).encode()
        call = worker.outstanding.get(call_number)
        tasks = self._tasks.setdefault(worker, set())
        if call is None:
            _refuse(worker, number, "the call that asks for another endpoint has ended")
        elif uri is None or ".." in uri[1].split("/") or "." in uri[1].split("/"):
            _refuse(worker, number, "the id of an endpoint has the form naan/name/apiVersion/endpoint")
        elif len(tasks) >= _MOST_AT_ONCE:
            _refuse(worker, number, f"more than {_MOST_AT_ONCE} calls of other endpoints at once")
        else:
            task = asyncio.ensure_future(self._run(worker, number, call, uri[1], body))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    def end(self, worker: Worker) -> None:
        """Gives up the requests of a worker that is gone."""
        for task in self._tasks.pop(worker, set()):
            task.cancel()

    async def _run(self, worker: Worker, number: int, call: Call, uri: str, body: bytes | None) -> None:
        seconds = call.deadline - asyncio.get_running_loop().time()
        try:
            if seconds <= 0:
                raise Refused("the call has no time left")
            if body is None:
                answer = b'{"result":' + await self._activator.metadata(uri, seconds) + b"}"
            else:
                answer = await self._activator.execute(uri, body, call.depth, call.token, call.trace, seconds)
        except Refused as refused:
            _refuse(worker, number, str(refused))
        except Exception as error:
            _refuse(worker, number, f"the runtime failed to ask for it ({type(error).__name__})")
        else:
            worker.process.control.send(frame(REPLY, number, 200, answer))


def _refuse(worker: Worker, number: int, reason: str) -> None:
    worker.process.control.send(frame(REPLY, number, 500, json.dumps({"Detail": reason}).encode()))
