from __future__ import annotations

import functools
import json
import re

import pytest

from tests.conftest import StartRuntime
from tests.harness.activator import FakeActivator
from tests.harness.patience import in_round, wait_until
from tests.harness.runtime import Runtime

GOOD = "def main(value):\n    return value\n"


def test_the_answer_says_where_the_endpoint_is(runtime: Runtime) -> None:
    runtime.publish("activation/good/v1.0", {"src/main.py": GOOD})
    answer = runtime.try_activate("activation/good/v1.0")
    said = answer.json
    assert said["id"] == "activation/good/1.0/run"
    assert said["uri"] == "activation/good/1.0/run"
    assert said["baseUrl"] == runtime.url
    assert said["status"] == "Activated"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", said["activated"])
    listed = runtime.request("GET", "/endpoints/activation/good/1.0/run").json
    assert {key: listed[key] for key in said} == said
    assert listed in runtime.request("GET", "/endpoints").json
    assert runtime.request("GET", "/endpoints/activation/none/1.0/run").status == 404


@pytest.mark.parametrize(
    ("source", "description"),
    [
        ("x = 1\nreturn x\n", "SyntaxError: 'return' outside function (src/main.py line 2)"),
        (
            "import os\n\nimport numpyy\n",
            "ModuleNotFoundError: No module named 'numpyy': the package numpyy is not installed; "
            "add it to requirements.txt (src/main.py line 3)",
        ),
        ("x = 1 / 0\n", "ZeroDivisionError: division by zero (src/main.py line 1)"),
        ("from src.helper import f\n", "NameError: name 'undefined' is not defined (src/helper.py line 2)"),
        ("def other(value):\n    return 1\n", "Function main is not defined in src/main.py"),
        ("main = 5\n", "main in src/main.py is not a function"),
        ("import sys\nsys.exit('no')\n", "SystemExit: no (src/main.py line 2)"),
        ("import os\nos._exit(4)\n", "ended unexpectedly (exit code 4)"),
        (
            "open('/etc/none')\n",
            "FileNotFoundError: [Errno 2] No such file or directory: '/etc/none' (src/main.py line 1)",
        ),
    ],
)
def test_code_that_does_not_load_is_reported_with_file_and_line(
    runtime: Runtime, source: str, description: str
) -> None:
    ko = f"activation/bad{len(source)}/v1.0"
    runtime.publish(ko, {"src/main.py": source, "src/helper.py": "x = 1\nundefined\n"})
    answer = runtime.try_activate(ko)
    assert answer.status == 500
    assert description in answer.description
    assert runtime.request("GET", f"/endpoints/{ko.replace('v1', '1')}/run").status == 404


def test_code_that_never_ends_to_load_is_given_up(start: StartRuntime) -> None:
    runtime = start(KGRID_PYTHON_EXECUTION_TIMEOUT="0.5")
    runtime.publish("activation/forever/v1.0", {"src/main.py": "while True:\n    pass\n"})
    assert runtime.try_activate("activation/forever/v1.0").description == (
        "Loading the knowledge object passed its time limit of 0.5 s"
    )
    wait_until(lambda: runtime.workers() == [])


def test_what_existing_activators_send_is_understood(runtime: Runtime, activator: FakeActivator) -> None:
    runtime.publish("activation/old/v2.0", {"src/main.py": GOOD})
    body = {
        "uri": "/activation/old/2.0/run",
        "baseUrl": f"{activator.url}/proxy/artifacts/activation/old/v2.0",
        "artifact": "src/main.py",
        "function": "main",
        "extra": {"kept": True},
    }
    answer = runtime.request("POST", "/endpoints", json.dumps(body).encode(), {"Content-Type": "application/json"})
    assert answer.status == 200
    assert runtime.call(f"/{answer.json['uri']}", 5).result == 5


def test_a_missing_artifact_and_a_failing_activator_are_named(runtime: Runtime, activator: FakeActivator) -> None:
    ko = "activation/missing/v1.0"
    runtime.publish(ko, {"src/main.py": GOOD})
    answer = runtime.try_activate(ko, artifact=["src/main.py", "src/none.py"])
    assert answer.description == ("The artifact src/none.py could not be fetched: The activator answered 404 for it")
    activator.failing.add(f"/proxy/artifacts/{ko}/src/main.py")
    answer = runtime.try_activate(ko)
    activator.failing.clear()
    assert answer.description == ("The artifact src/main.py could not be fetched: The activator answered 500 for it")
    assert runtime.try_activate(ko).status == 200


def test_new_code_is_used_and_calls_on_their_way_reach_the_old(runtime: Runtime) -> None:
    ko = "activation/change/v1.0"
    paths = []
    for number in (1, 2, 3):
        runtime.publish(
            ko,
            {"src/main.py": f"import time\ndef main(v):\n    print('begun')\n    time.sleep(v)\n    return {number}\n"},
        )
        paths.append(runtime.activate(ko, checksum=f"digest-{number}"))
        if number == 1:
            slow = runtime.begin(paths[0], 0.8)
    # A running call finishes on what it started with.
    assert slow.result().result == 1
    assert runtime.call("/activation/change/1.0/run", 0).result == 3


def test_workers_of_replaced_code_end(start: StartRuntime) -> None:
    runtime = start()
    ko = "activation/replace/v1.0"
    for number in range(4):
        runtime.publish(ko, {"src/main.py": f"def main(v):\n    return {number}\n"})
        runtime.activate(ko, checksum=str(number))
    wait_until(lambda: len(runtime.workers()) == 1)


def test_a_failing_activation_leaves_what_was_active(runtime: Runtime) -> None:
    ko = "activation/keep/v1.0"
    runtime.publish(ko, {"src/main.py": GOOD})
    path = runtime.activate(ko, checksum="1")
    runtime.publish(ko, {"src/main.py": "broken("})
    assert runtime.try_activate(ko, checksum="2").status == 500
    assert runtime.call(path, 1).result == 1


def test_many_knowledge_objects_are_activated_at_once(runtime: Runtime) -> None:
    many = range(in_round(10, 25))
    for number in many:
        runtime.publish(f"activation/crowd{number}/v1.0", {"src/main.py": f"def main(v):\n    return {number}\n"})
    names = [f"activation/crowd{number}/v1.0" for number in many]
    answers = [runtime.run_later(functools.partial(runtime.activate, name)) for name in names]
    paths = [answer.result() for answer in answers]
    assert [runtime.call(path, None).result for path in paths] == list(many)


def test_web_pages_may_not_activate(runtime: Runtime) -> None:
    runtime.publish("activation/page/v1.0", {"src/main.py": GOOD})
    answer = runtime.request(
        "POST", "/endpoints", b"{}", {"Origin": "http://evil.example", "Content-Type": "application/json"}
    )
    assert answer.status == 403


def test_the_runtime_tells_about_itself(runtime: Runtime) -> None:
    info = runtime.request("GET", "/info").json
    assert {key: info[key] for key in ("app", "version", "engine", "url", "status")} == {
        "app": "kgrid-python-runtime",
        "version": "0.1.0",
        "engine": "python",
        "url": runtime.url,
        "status": "up",
    }
    assert runtime.request("GET", "/nothing").status == 404
    refused = runtime.request("DELETE", "/endpoints")
    assert (refused.status, refused.headers["allow"]) == (405, "GET, POST")
