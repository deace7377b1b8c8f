from __future__ import annotations

import http.client
import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar
from urllib.parse import urlsplit

from tests.harness.activator import FakeActivator
from tests.harness.patience import PATIENCE

T = TypeVar("T")

CALLS_TYPE = "application/vnd.kgrid.calls"
_PROJECT = Path(__file__).resolve().parent.parent.parent.parent.parent
_NODE = _PROJECT / "node_modules/.bin/node"
PROGRAM = [str(_NODE) if _NODE.exists() else "node", str(_PROJECT / "runtimes/server/main.ts"), "--engine", "python"]


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    text: str
    seconds: float

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def result(self) -> Any:
        assert self.status == 200, self.text
        return self.json["result"]

    @property
    def description(self) -> str:
        return str(self.json["description"])

    @property
    def ran_out_of_time(self) -> bool:
        return self.status == 503 or (self.status == 500 and "time limit" in self.description)


def tried_again(ask: Callable[[], Answer], is_to_be_tried_again: Callable[[Answer], bool]) -> Answer:
    until = time.monotonic() + PATIENCE
    while True:
        answer = ask()
        if not is_to_be_tried_again(answer) or time.monotonic() > until:
            return answer
        time.sleep(float(answer.headers.get("retry-after", "0.1")))


class Runtime:
    """A runtime process of its own."""

    def __init__(self, activator: FakeActivator, cache: Path, *, secret: str | None = None, **settings: str) -> None:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(cache),
            "KGRID_PROXY_ADAPTER_URL": activator.url,
            "KGRID_PYTHON_ENV_PORT": "0",
            "KGRID_PYTHON_CACHE_DIR": str(cache),
            "KGRID_RUNTIME_PARENT": "stdin",
            **settings,
        }
        self.activator = activator
        self.cache = cache
        self.secret = secret
        self.process = subprocess.Popen(
            [*PROGRAM],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"secret": secret}).encode() + b"\n")
        self.process.stdin.flush()
        self.log: queue.Queue[dict[str, str]] = queue.Queue()
        self.logged: list[dict[str, str]] = []
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the runtime did not start"
        self.listening = json.loads(line)
        threading.Thread(target=self._read_log, args=(self.process.stdout,), daemon=True).start()
        self.url = str(self.listening["url"])
        self._pool = ThreadPoolExecutor(64)

    def close(self) -> None:
        if self.process.poll() is None:
            assert self.process.stdin is not None
            self.process.stdin.close()
            self.process.wait(PATIENCE)
        self._pool.shutdown()

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Answer:
        address = urlsplit(self.url)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=2 * PATIENCE)
        secret = {} if self.secret is None else {"x-kgrid-runtime-secret": self.secret}
        started = time.monotonic()
        connection.request(method, path, body, {**secret, **(headers or {})})
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        seconds = time.monotonic() - started
        return Answer(response.status, {k.lower(): v for k, v in response.headers.items()}, text, seconds)

    def publish(self, ko: str, files: dict[str, str]) -> None:
        """Puts a knowledge object on the activator."""
        for path, text in files.items():
            self.activator.files[f"{ko}/{path}"] = text.encode()

    def ask_to_activate(self, ko: str, endpoint: str = "run", **more: object) -> Answer:
        """Asks once; the answer may be that it takes longer."""
        naan, name, version = ko.split("/")
        mine = [path[len(ko) + 1 :] for path in self.activator.files if path.startswith(f"{ko}/")]
        body = {
            "uri": f"{naan}/{name}/{version.lstrip('v')}/{endpoint}",
            "baseUrl": f"{self.activator.url}/proxy/artifacts/{ko}/",
            "artifact": [path for path in mine if path != "requirements.txt"],
            "entry": "src/main.py",
            "function": "main",
            "engine": "python",
            **more,
        }
        return self.request("POST", "/endpoints", json.dumps(body).encode(), {"Content-Type": "application/json"})

    def try_activate(self, ko: str, endpoint: str = "run", **more: object) -> Answer:
        """Asks again as long as it is in processing, as the activator does."""
        return tried_again(lambda: self.ask_to_activate(ko, endpoint, **more), lambda answer: answer.status == 503)

    def activate(self, ko: str, endpoint: str = "run", **more: object) -> str:
        """Activates and gives the path of the endpoint."""
        answer = self.try_activate(ko, endpoint, **more)
        assert answer.status == 200, answer.text
        self.activator.endpoints[answer.json["id"]] = f"{answer.json['baseUrl']}/{answer.json['uri']}"
        return f"/{answer.json['uri']}"

    def add(self, ko: str, source: str) -> str:
        """Publishes and activates a knowledge object of one file."""
        self.publish(ko, {"src/main.py": source})
        return self.activate(ko)

    def call(self, path: str, value: object, **headers: str) -> Answer:
        """The answer to a client that comes again when it is told to."""
        return tried_again(lambda: self.call_once(path, value, **headers), lambda answer: answer.status == 503)

    def result_of(self, path: str, value: object) -> Any:
        """The result of a call that ends by itself, where only a busy machine lets it pass the limit."""
        return tried_again(lambda: self.call_once(path, value), lambda answer: answer.ran_out_of_time).result

    def call_once(self, path: str, value: object, **headers: str) -> Answer:
        sent = {"Content-Type": "application/json", **{name.replace("_", "-"): text for name, text in headers.items()}}
        return self.request("POST", path, json.dumps(value).encode(), sent)

    def call_later(self, path: str, value: object, **headers: str) -> Future[Answer]:
        return self._pool.submit(self.call, path, value, **headers)

    def call_once_later(self, path: str, value: object, **headers: str) -> Future[Answer]:
        return self._pool.submit(self.call_once, path, value, **headers)

    def begin(self, path: str, value: object) -> Future[Answer]:
        """A call whose code runs by now: the first that it does is to print `begun`."""
        while not self.log.empty():
            self.log.get_nowait()
        call = self.call_later(path, value)
        self.wait_for_log(lambda line: line.get("text") == "begun")
        return call

    def run_later(self, work: Callable[[], T]) -> Future[T]:
        return self._pool.submit(work)

    def workers(self) -> list[int]:
        return children_of(self.process.pid)

    def wait_for_log(self, matches: Callable[[dict[str, str]], bool], seconds: float = PATIENCE) -> dict[str, str]:
        """The first line that matches, from those that were not looked at yet."""
        until = time.monotonic() + seconds
        while True:
            line = self.log.get(timeout=max(until - time.monotonic(), 0.01))
            if matches(line):
                return line

    def _read_log(self, stream: IO[bytes]) -> None:
        for line in stream:
            try:
                value = json.loads(line)
            except ValueError:
                value = {"raw": line.decode("utf-8", "replace")}
            self.logged.append(value)
            self.log.put(value)


def children_of(pid: int) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                name, _, stat = (folder / "stat").read_text().rpartition(")")
                state, parent = stat.split()[:2]
            except OSError:
                continue
            # Not the shell that ends what a worker has started once the runtime is gone.
            if int(parent) == pid and state != "Z" and not name.endswith("(sh"):
                found.append(int(folder.name))
    return found


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def pause_process(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)


def temporary_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="kgrid-python-runtime-"))
