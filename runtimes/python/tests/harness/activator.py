from __future__ import annotations

import http.client
import json
import queue
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import cast
from urllib.parse import unquote, urlsplit

_DEEPEST = 16


@dataclass(frozen=True)
class Seen:
    method: str
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes


class FakeActivator:
    """Serves artifacts, takes registrations, and passes calls of endpoints on to the runtime, as an activator does."""

    def __init__(self, port: int = 0) -> None:
        self.files: dict[str, bytes] = {}
        self.failing: set[str] = set()
        """Paths that are answered with 500."""
        self.seen: list[Seen] = []
        self.registrations: queue.Queue[Seen] = queue.Queue()
        self.endpoints: dict[str, str] = {}
        """Where the runtime has an endpoint: uri to url."""
        self.secret: str | None = None
        """Sent along to the runtime."""
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.activator = self
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def fetched(self) -> list[str]:
        """The artifacts that were asked for, as `<naan>/<name>/<version>/<path>`."""
        prefix = "/proxy/artifacts/"
        return [one.path[len(prefix) :] for one in self.seen if one.method == "GET" and one.path.startswith(prefix)]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    activator: FakeActivator


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def _activator(self) -> FakeActivator:
        return cast("_Server", self.server).activator

    def do_GET(self) -> None:
        path = self._note().path
        found = self._activator.files.get(unquote(path[len("/proxy/artifacts/") :]))
        if path in self._activator.failing:
            self._answer(500, b"{}")
        elif path.startswith("/endpoints/") and path[len("/endpoints/") :] in self._activator.endpoints:
            self._answer(200, json.dumps({"@id": path[len("/endpoints/") :], "status": "ACTIVATED"}).encode())
        elif found is not None:
            self._answer(200, found)
        else:
            self._answer(404, b'{"Detail": "nothing here"}')

    def do_POST(self) -> None:
        seen = self._note()
        if seen.path == "/proxy/environments":
            self._activator.registrations.put(seen)
            self._answer(200, json.dumps({**json.loads(seen.body), "status": "new"}).encode())
            return
        url = self._activator.endpoints.get(seen.path[1:])
        depth = int(seen.headers.get("x-kgrid-depth", "0")) + 1
        if url is None:
            self._error(404, f"No active endpoints found for {seen.path[1:]}")
        elif depth > _DEEPEST:
            self._error(500, f"calls nest deeper than {_DEEPEST}")
        else:
            self._pass_on(url, seen, depth)

    def _pass_on(self, url: str, seen: Seen, depth: int) -> None:
        headers = {"Content-Type": seen.headers["content-type"], "x-kgrid-depth": str(depth)}
        if "x-kgrid-deadline-ms" in seen.headers:
            headers["x-kgrid-deadline-ms"] = seen.headers["x-kgrid-deadline-ms"]
        if self._activator.secret is not None:
            headers["x-kgrid-runtime-secret"] = self._activator.secret
        address = urlsplit(url)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
        connection.request("POST", address.path, seen.body, headers)
        response = connection.getresponse()
        value = json.loads(response.read())
        connection.close()
        if response.status == 200:
            info = {"ko": {}, "inputs": seen.body.decode()}
            self._answer(200, json.dumps({"result": value["result"], "info": info}).encode())
        else:
            self._error(500, f"Code execution error: {value['description']}")

    def _note(self) -> Seen:
        length = int(self.headers.get("content-length") or 0)
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen = Seen(self.command, self.path, headers, self.rfile.read(length))
        self._activator.seen.append(seen)
        return seen

    def _error(self, status: int, detail: str) -> None:
        self._answer(status, json.dumps({"Status": str(status), "Title": "Error", "Detail": detail}).encode())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass
