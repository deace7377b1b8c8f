"""Calls of other endpoints, through the activator."""

from __future__ import annotations

import json

from tests.conftest import StartRuntime
from tests.harness.activator import FakeActivator
from tests.harness.patience import wait_until
from tests.harness.runtime import Runtime

CALLER = """
from kgrid_python_runtime.context import Context, ExecutionError

def main(value):
    try:
        return Context().get_executor_by_id(value["uri"])(value.get("input"))
    except ExecutionError as error:
        return {"error": str(error)}

async def later(value):
    return main(value)
"""
ECHO = "def main(value):\n    return {'got': value}\n"


def test_an_executor_gives_the_result_of_another_endpoint(runtime: Runtime, activator: FakeActivator) -> None:
    runtime.add("context/echo/v1.0", ECHO)
    path = runtime.add("context/caller/v1.0", CALLER)
    value = {"uri": "context/echo/1.0/run", "input": ["é", {"result": 1}]}
    assert runtime.call(path, value).result == {"got": value["input"]}
    assert runtime.call(path, {"uri": "/context/echo/1.0/run", "input": None}).result == {"got": None}
    nested = activator.seen[-1]
    assert nested.path == "/context/echo/1.0/run"
    assert nested.headers["content-type"] == "application/json"


def test_an_async_function_can_call_others_too(runtime: Runtime) -> None:
    runtime.add("context/echo/v1.0", ECHO)
    runtime.publish("context/later/v1.0", {"src/main.py": CALLER})
    path = runtime.activate("context/later/v1.0", function="later")
    assert runtime.call(path, {"uri": "context/echo/1.0/run", "input": 1}).result == {"got": 1}


def test_a_failing_endpoint_raises_with_the_detail_of_the_activator(runtime: Runtime) -> None:
    path = runtime.add("context/caller/v1.0", CALLER)
    runtime.add("context/failing/v1.0", "def main(value):\n    raise ValueError('no height')\n")
    result = runtime.call(path, {"uri": "context/failing/1.0/run"}).result
    assert result == {"error": "Code execution error: ValueError: no height"}
    result = runtime.call(path, {"uri": "no/such/1.0/endpoint"}).result
    assert result == {"error": "No active endpoints found for no/such/1.0/endpoint"}


def test_an_uncaught_detail_is_the_description_of_the_call(runtime: Runtime) -> None:
    source = "from kgrid_python_runtime.context import Context\ndef main(v):\n    Context().get_executor_by_id(v)(1)\n"
    path = runtime.add("context/uncaught/v1.0", source)
    answer = runtime.call(path, "no/such/1.0/endpoint")
    assert answer.description == "No active endpoints found for no/such/1.0/endpoint"
    # However often it was passed on.
    runtime.add("context/failing/v1.0", "def main(value):\n    raise ValueError('no height')\n")
    assert runtime.call(path, "context/failing/1.0/run").description == "ValueError: no height"


def test_ids_that_would_lead_elsewhere_are_refused(runtime: Runtime, activator: FakeActivator) -> None:
    path = runtime.add("context/caller/v1.0", CALLER)
    before = len(activator.seen)
    for uri in (
        "proxy/environments",
        "../../x/y",
        "a/b/../d",
        "http://x/a/b/c",
        "a/b/c?d=e",
        "a/b/c\r\nX: y",
        "é/b/c/d",
    ):
        assert "Not an endpoint" in runtime.call(path, {"uri": uri}).result["error"]
    assert len(activator.seen) == before


def test_calls_side_by_side_keep_their_own_depth(runtime: Runtime, activator: FakeActivator) -> None:
    source = """
import time
from kgrid_python_runtime.context import Context
def main(value):
    echo = Context().get_executor_by_id("context/echo/1.0/run")
    time.sleep(0.1)
    return echo(value)
"""
    runtime.add("context/echo/v1.0", ECHO)
    path = runtime.add("context/beside/v1.0", source)
    calls = [runtime.call_later(path, number, x_kgrid_depth=str(number)) for number in range(1, 9)]
    assert all(call.result().status == 200 for call in calls)
    nested = [one for one in activator.seen if one.path == "/context/echo/1.0/run"][-8:]
    assert sorted(int(one.headers["x-kgrid-depth"]) for one in nested) == list(range(1, 9))
    assert all(one.headers["x-kgrid-depth"] == one.body.decode() for one in nested)


def test_threads_of_the_knowledge_object_can_use_an_executor_of_the_call(runtime: Runtime) -> None:
    source = """
from concurrent.futures import ThreadPoolExecutor
from kgrid_python_runtime.context import Context
def main(value):
    echo = Context().get_executor_by_id("context/echo/1.0/run")
    with ThreadPoolExecutor(4) as pool:
        return [answer["got"] for answer in pool.map(echo, value)]
"""
    runtime.add("context/echo/v1.0", ECHO)
    path = runtime.add("context/threads/v1.0", source)
    assert runtime.call(path, [1, 2, 3, 4, 5]).result == [1, 2, 3, 4, 5]


def test_an_executor_made_at_the_top_of_the_module_works_during_calls_only(runtime: Runtime) -> None:
    source = """
from kgrid_python_runtime.context import Context, ExecutionError
echo = Context().get_executor_by_id("context/echo/1.0/run")
try:
    echo(1)
    early = None
except ExecutionError as error:
    early = str(error)
def main(value):
    return [early, echo(value)]
"""
    runtime.add("context/echo/v1.0", ECHO)
    early, late = runtime.call(runtime.add("context/top/v1.0", source), 1).result
    assert "only while a call runs" in early
    assert late == {"got": 1}


def test_metadata_is_what_the_activator_says_about_the_endpoint(runtime: Runtime) -> None:
    source = """
from kgrid_python_runtime.context import Context
def main(value):
    return Context().get_metadata_by_id(value)
"""
    path = runtime.add("context/metadata/v1.0", source)
    about = runtime.call(path, "context/metadata/1.0/run").result
    assert about == {"@id": "context/metadata/1.0/run", "status": "ACTIVATED"}
    assert runtime.call(path, "no/such/1.0/endpoint").description == "No endpoints found for no/such/1.0/endpoint"


def test_credentials_never_reach_the_worker(start: StartRuntime, activator: FakeActivator) -> None:
    secret = "s3cr3t-of-the-test"
    url = activator.url.replace("http://", f"http://user:{secret}@")
    runtime = start(KGRID_PROXY_ADAPTER_URL=url, secret=secret)
    activator.secret = secret
    source = """
import os
from pathlib import Path
from kgrid_python_runtime.context import Context
def main(value):
    seen = []
    for process in ("self", str(os.getppid())):
        for name in ("environ", "cmdline", "mem"):
            try:
                with open(f"/proc/{process}/{name}", "rb") as file:
                    seen.append(file.read(100_000).decode("latin-1") if name != "mem" else "open")
            except OSError as error:
                seen.append(type(error).__name__)
    Context().get_executor_by_id("context/echo/1.0/run")(1)
    return seen
"""
    try:
        runtime.add("context/echo/v1.0", ECHO)
        result = runtime.call(runtime.add("context/curious/v1.0", source), None).result
    finally:
        activator.secret = None
    assert secret not in json.dumps(result)
    assert result[3] == result[5] == "PermissionError"
    # While the runtime itself sends them.
    nested = [one for one in activator.seen if one.path == "/context/echo/1.0/run"][-1]
    assert nested.headers["x-kgrid-runtime-secret"] == secret
    assert nested.headers["authorization"].startswith("Basic ")


def test_a_request_of_a_call_that_has_ended_is_refused(runtime: Runtime) -> None:
    source = """
import threading, time
from kgrid_python_runtime.context import Context, ExecutionError
said = []
def main(value):
    if value:
        return said
    echo = Context().get_executor_by_id("context/echo/1.0/run")
    def later():
        time.sleep(0.5)
        try:
            said.append(echo(1))
        except ExecutionError as error:
            said.append(str(error))
    threading.Thread(target=later).start()
"""
    runtime.add("context/echo/v1.0", ECHO)
    path = runtime.add("context/after/v1.0", source)
    runtime.call(path, 0)
    wait_until(
        lambda: runtime.call(path, 1).result == ["Another endpoint can be called only while a call is being answered"]
    )
