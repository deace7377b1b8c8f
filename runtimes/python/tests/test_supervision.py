"""Start, stop, and what is left behind: nothing."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from tests.conftest import StartRuntime
from tests.harness.activator import FakeActivator
from tests.harness.patience import PATIENCE, promised, wait_until
from tests.harness.runtime import PROGRAM, Runtime, is_alive

JSON = {"Content-Type": "application/json"}
SPIN = "def main(value):\n    print('begun')\n    while value:\n        pass\n    return 1\n"
# Holds the interpreter: no thread of the worker runs, so that only the kernel can end it.
SPIN_IN_C = "import re\ndef main(value):\n    print('begun')\n    return re.match('(a+)+$', 'a' * 99 + 'b')\n"


def run(**settings: str) -> subprocess.CompletedProcess[str]:
    """A runtime that does not start."""
    environment = {"PATH": os.environ["PATH"], "KGRID_PYTHON_ENV_PORT": "0", **settings}
    return subprocess.run(
        PROGRAM,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.parametrize("source", [SPIN, SPIN_IN_C])
def test_no_worker_outlives_a_killed_runtime(start: StartRuntime, source: str) -> None:
    runtime = start()
    path = runtime.add("supervision/spin/v1.0", source)
    idle = runtime.add("supervision/idle/v1.0", "def main(value):\n    return 1\n")
    assert runtime.call(idle, None).result == 1
    runtime.begin(path, 1)
    workers = runtime.workers()
    assert len(workers) == 2
    runtime.process.kill()
    wait_until(lambda: not any(is_alive(worker) for worker in workers), promised(2))


def test_no_installation_outlives_a_killed_runtime(start: StartRuntime) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    index = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    runtime = start(PIP_INDEX_URL=index)
    runtime.publish("supervision/pip/v1.0", {"src/main.py": SPIN, "requirements.txt": "some-package\n"})
    threading.Thread(target=ignore_activation_errors, args=(runtime,), daemon=True).start()
    connection, _ = listener.accept()
    installing = runtime.workers()
    assert installing
    runtime.process.kill()
    wait_until(lambda: not any(is_alive(each) for each in installing), promised(2))
    connection.close()
    listener.close()


def ignore_activation_errors(runtime: Runtime) -> None:
    with contextlib.suppress(OSError):
        runtime.try_activate("supervision/pip/v1.0")


def test_credentials_go_to_the_activator_alone(start: StartRuntime, activator: FakeActivator) -> None:
    url = activator.url.replace("http://", "http://me:p%40ss@")
    runtime = start(secret="hidden", KGRID_PROXY_ADAPTER_URL=url)
    elsewhere = FakeActivator()
    elsewhere.files["supervision/other/v1.0/src/main.py"] = b"def main(value):\n    return 1\n"
    body = {
        "uri": "supervision/other/1.0/run",
        "baseUrl": f"{elsewhere.url}/proxy/artifacts/supervision/other/v1.0/",
        "artifact": ["src/main.py"],
        "function": "main",
    }
    assert runtime.request("POST", "/endpoints", json.dumps(body).encode(), JSON).status == 200
    assert elsewhere.seen
    for one in elsewhere.seen:
        assert not {"authorization", "x-kgrid-runtime-secret"} & set(one.headers)
    elsewhere.close()
    registered = activator.registrations.get(timeout=PATIENCE)
    while json.loads(registered.body)["url"] != runtime.url:
        registered = activator.registrations.get(timeout=PATIENCE)
    assert registered.headers["authorization"] == "Basic bWU6cEBzcw=="
    assert "p@ss" not in runtime.request("GET", "/info").text


def test_a_port_that_is_taken_is_one_line_and_exit_1(runtime: Runtime, tmp_path: Path) -> None:
    port = runtime.url.rpartition(":")[2]
    ended = run(KGRID_PYTHON_ENV_PORT=port, KGRID_PYTHON_CACHE_DIR=str(tmp_path))
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert f"127.0.0.1:{port}" in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_cache_that_cannot_be_written_is_one_line_and_exit_1(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = run(KGRID_PYTHON_CACHE_DIR=str(tmp_path / "file"))
    assert ended.returncode == 1
    assert str(tmp_path / "file") in ended.stderr
    assert ended.stderr.count("\n") == 1
