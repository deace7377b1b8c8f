from __future__ import annotations

import json

import pytest

from tests.harness.runtime import CALLS_TYPE, Runtime

SOURCE = """from kgrid_python_runtime import InvalidInputError
from kgrid_python_runtime.context import Context
import src.helper as helper
class TooOld(InvalidInputError):
    pass
class Http(Exception):
    status = 400
def local():
    class InvalidInputError(Exception):
        status = 422
    raise InvalidInputError("not ours")
def changed():
    error = InvalidInputError("changed")
    error.status = 200
    raise error
def raises(error):
    raise error
def main(how):
    return {
        "invalid": lambda: raises(InvalidInputError("age must be\\n a number")),
        "bad": lambda: raises(InvalidInputError("no age", status=400)),
        "below": lambda: raises(TooOld("too old")),
        "changed": changed,
        "teapot": lambda: raises(InvalidInputError("tea", 418)),
        "http": lambda: raises(Http("from HTTP")),
        "local": local,
        "nested": lambda: Context().get_executor_by_id("failing/other/1.0/run")(None),
        "deep": lambda: helper.fail(),
        "library": lambda: __import__("json").loads("{"),
        "sklearn": lambda: __import__("sklearn.linear_model"),
        "own": lambda: __import__("src.helpr"),
        "part": lambda: __import__("json.nothing"),
        "eval": lambda: eval("1 +"),
    }[how]()
"""
HELPER = """
def fail():
    raise TypeError("deep inside")
"""

FAULTS: list[tuple[str, int, dict[str, object]]] = [
    ("invalid", 422, {"title": "Invalid Input", "description": "age must be a number"}),
    ("bad", 400, {"title": "Invalid Input", "description": "no age"}),
    ("below", 422, {"title": "Invalid Input", "description": "too old"}),
    ("changed", 422, {"title": "Invalid Input", "description": "changed"}),
    ("teapot", 500, {"description": "ValueError: the status of an InvalidInputError is 400 or 422, not 418"}),
    ("http", 500, {"description": "Http: from HTTP", "place": {"file": "src/main.py", "line": 17}}),
    ("local", 500, {"description": "InvalidInputError: not ours", "place": {"file": "src/main.py", "line": 11}}),
    ("nested", 500, {"description": "No active endpoints found for failing/other/1.0/run"}),
    ("deep", 500, {"description": "TypeError: deep inside", "place": {"file": "src/helper.py", "line": 3}}),
    ("library", 500, {"place": {"file": "src/main.py", "line": 29}}),
    (
        "sklearn",
        500,
        {
            "description": "ModuleNotFoundError: No module named 'sklearn': "
            "the package scikit-learn is not installed; add it to requirements.txt"
        },
    ),
    ("own", 500, {"description": "ModuleNotFoundError: No module named 'src.helpr'"}),
    ("part", 500, {"description": "ModuleNotFoundError: No module named 'json.nothing'"}),
    ("eval", 500, {"place": {"file": "src/main.py", "line": 33}}),
]


@pytest.fixture
def path(runtime: Runtime) -> str:
    runtime.publish("failing/ko/v1.0", {"src/main.py": SOURCE, "src/helper.py": HELPER})
    return runtime.activate("failing/ko/v1.0")


@pytest.mark.parametrize(("how", "status", "said"), FAULTS)
def test_an_answer_says_why_where_and_whose_fault_it_is(
    runtime: Runtime, path: str, how: str, status: int, said: dict[str, object]
) -> None:
    answer = runtime.call(path, how)
    assert answer.status == status, answer.text
    assert {key: answer.json.get(key) for key in said} == said
    assert ("title" in answer.json) == ("title" in said)
    assert "title" not in said or "place" not in answer.json


def test_a_batch_says_the_same_to_an_activator_that_understands_it(runtime: Runtime, path: str) -> None:
    body = "\0".join(json.dumps(how) for how, _, _ in FAULTS).encode()
    accept = "application/vnd.kgrid.answers;failures=json, application/json"
    text = runtime.request("POST", path, body, {"Content-Type": CALLS_TYPE, "Accept": accept}).text
    found = {int(number): json.loads(said) for number, _, said in (r.partition("!") for r in text.split("\0")[:-1])}
    for i, (_, status, said) in enumerate(FAULTS):
        assert found[i]["status"] == status
        assert {key: found[i].get(key) for key in said} == said
    old = runtime.request("POST", path, b'"invalid"', {"Content-Type": CALLS_TYPE})
    assert old.text == "0!422,age must be a number\0"


def test_a_traceback_is_one_line_of_the_log(runtime: Runtime, path: str) -> None:
    runtime.call(path, "deep")
    line = runtime.wait_for_log(lambda line: "in fail" in line.get("text", ""))
    assert line["stream"] == "stderr"
    # The message may hold what a caller sent.
    frames = ["src/main.py line 19 in main", "src/main.py line 28 in <lambda>", "src/helper.py line 3 in fail"]
    assert line["text"] == " > ".join([*frames, "TypeError"])
    assert [each for each in runtime.logged if "Traceback" in each.get("text", "")] == []


def test_a_thread_that_fails_is_one_line_of_the_log(runtime: Runtime) -> None:
    source = """import threading
def fail():
    raise KeyError("in a thread")
def main(value):
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
"""
    assert runtime.call(runtime.add("failing/thread/v1.0", source), None).result is None
    line = runtime.wait_for_log(lambda line: "src/main.py line 3 in fail" in line.get("text", ""))
    assert line["text"].endswith("src/main.py line 3 in fail > KeyError")


def test_a_traceback_without_end_is_cut(runtime: Runtime) -> None:
    source = "def main(n):\n    if n == 0:\n        raise ValueError('x' * 100_000)\n    main(n - 1)\n"
    runtime.call(runtime.add("failing/long/v1.0", source), 300)
    line = runtime.wait_for_log(lambda line: "line 4 in main" in line.get("text", ""))
    assert len(line["text"]) < 4096
    assert line["text"].startswith("src/main.py line 4 in main > ")
