from __future__ import annotations

import json
import zlib

import pytest

from tests.harness.runtime import Runtime


def test_a_function_gets_the_parsed_body_and_its_value_is_the_result(runtime: Runtime) -> None:
    path = runtime.add("calls/greet/v1.0", "def main(value):\n    return {'hello': value['name']}\n")
    answer = runtime.call(path, {"name": "Ada ♥"})
    assert answer.json == {"result": {"hello": "Ada ♥"}}
    assert answer.headers["content-type"] == "application/json"


def test_other_content_types_reach_the_function_as_text(runtime: Runtime) -> None:
    path = runtime.add("calls/text/v1.0", "def main(value):\n    return [type(value).__name__, value]\n")
    body = '{"a": "é"}'.encode()
    assert runtime.request("POST", path, body, {"Content-Type": "text/csv"}).result == ["str", '{"a": "é"}']
    assert runtime.request("POST", path, body, {"Content-Type": "application/fhir+json; x=y"}).result[0] == "dict"
    assert runtime.request("POST", path, body, {"Content-Type": "APPLICATION/JSON; charset=utf-8"}).result[0] == "dict"


def test_a_coroutine_function_is_awaited_and_what_it_leaves_running_is_cancelled(runtime: Runtime) -> None:
    source = """
import asyncio
cancelled = []
async def left():
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        cancelled.append(1)
        raise
async def main(value):
    asyncio.create_task(left())
    await asyncio.sleep(0.01)
    return len(cancelled)
"""
    path = runtime.add("calls/coroutine/v1.0", source)
    assert [runtime.call(path, None).result for _ in range(3)] == [0, 1, 2]


def test_a_function_may_be_a_method_a_lambda_or_a_class(runtime: Runtime) -> None:
    source = "class Tool:\n    @staticmethod\n    def run(x):\n        return x + 1\ndouble = lambda x: x * 2\n"
    runtime.publish("calls/shapes/v1.0", {"src/main.py": source})
    method = runtime.activate("calls/shapes/v1.0", "method", function="Tool.run")
    function = runtime.activate("calls/shapes/v1.0", "lambda", function="double")
    assert (runtime.call(method, 4).result, runtime.call(function, 4).result) == (5, 8)


def test_endpoints_of_one_knowledge_object_share_its_process(runtime: Runtime) -> None:
    source = "import os\ndef one(_):\n    return os.getpid()\ntwo = one\n"
    runtime.publish("calls/shared/v1.0", {"src/main.py": source})
    paths = [runtime.activate("calls/shared/v1.0", name, function=name, checksum="1") for name in ("one", "two")]
    assert len({runtime.call(path, None).result for path in paths}) == 1


def test_values_that_flask_knows_are_answered_as_it_would(runtime: Runtime) -> None:
    source = """
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID
@dataclass
class Dose:
    mg: Decimal
    on: date
def main(value):
    moment = datetime(2026, 11, 20, 12, 30)
    zone = timezone(timedelta(hours=2))
    return [Dose(Decimal("2.50"), date(2026, 11, 20)), moment, moment.replace(tzinfo=zone), UUID(int=7)]
"""
    assert runtime.call(runtime.add("calls/flask/v1.0", source), None).result == [
        {"mg": 2.5, "on": "Fri, 20 Nov 2026 00:00:00 GMT"},
        "Fri, 20 Nov 2026 12:30:00 GMT",
        "Fri, 20 Nov 2026 10:30:00 GMT",
        "00000000-0000-0000-0000-000000000007",
    ]


@pytest.mark.parametrize(
    ("source", "description"),
    [
        ("raise ValueError('too\\n  tall')", "ValueError: too tall"),
        ("raise KeyError('age')", "KeyError: 'age'"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("raise KeyboardInterrupt()", "KeyboardInterrupt"),
        ("return float('nan')", "the result holds NaN at result"),
        ("return [1, {'a b': [-1e999]}]", 'the result holds -Infinity at result[1]["a b"][0]'),
        ("return {1, 2}", "TypeError: the result cannot be written as JSON: Object of type set is not"),
        ("a = []; a.append(a); return a", "ValueError: Circular reference detected"),
        ("open(__file__ + '.gone')", "FileNotFoundError: [Errno 2] No such file or directory: 'src/main.py.gone'"),
        (
            "import missing",
            "ModuleNotFoundError: No module named 'missing': the package missing is not installed; add it to req",
        ),
        ("f = lambda: f(); f()", "RecursionError: maximum recursion depth exceeded"),
    ],
)
def test_what_goes_wrong_is_one_line_without_paths_of_the_host(runtime: Runtime, source: str, description: str) -> None:
    path = runtime.add(f"calls/wrong/v{zlib.crc32(source.encode())}", f"def main(value):\n    {source}\n")
    answer = runtime.call(path, None)
    assert answer.status == 500
    assert answer.description.startswith(description)
    assert "/tmp" not in answer.text
    # The worker is none the worse for it.
    assert runtime.call(path, None).description == answer.description


def test_an_exception_that_cannot_be_read_is_still_one_error(runtime: Runtime) -> None:
    source = (
        "class Odd(Exception):\n    def __str__(self):\n        raise self\ndef main(value):\n    raise Odd('x' * 9)\n"
    )
    answer = runtime.call(runtime.add("calls/odd/v1.0", source), None)
    assert answer.description == "Odd: (an exception without a readable message)"


@pytest.mark.parametrize(
    "body", [b"", b"{", b"NaN", b'{"a": Infinity}', b"\xff", b"[" * 200_000, b"1" * 5000, b'"\x00"', b"\xef\xbb\xbf1"]
)
def test_bodies_that_are_not_json_are_the_clients_fault(runtime: Runtime, body: bytes) -> None:
    path = runtime.add("calls/echo/v1.0", "def main(value):\n    return value\n")
    answer = runtime.request("POST", path, body, {"Content-Type": "application/json"})
    assert answer.status == 400


@pytest.mark.parametrize("value", [None, 0, "", [], {"a": {"b": [1.5, True]}}, "\u0000\ud800", "x" * 3_000_000, 2**80])
def test_values_come_back_as_they_were(runtime: Runtime, value: object) -> None:
    path = runtime.add("calls/echo/v1.0", "def main(value):\n    return value\n")
    assert runtime.call(path, value).result == value


def test_artifacts_import_each_other_by_package_path_by_plain_name_and_relatively(runtime: Runtime) -> None:
    ko = "calls/imports/v1.0"
    files = {
        "src/main.py": (
            "import beside\nfrom src.deep.helper import f\nfrom .deep import helper\nimport code\nimport queue\n"
            "import test.shared\n"
            "def main(value):\n"
            "    from src.late import late\n"
            "    return [beside.name, f(value), helper.f is f, code.name, queue.name, late, test.shared.name]\n"
        ),
        "src/beside.py": "name = 'beside'\n",
        "src/deep/helper.py": "def f(x):\n    return x + 1\n",
        "src/late.py": "late = 'late'\n",
        # Names that the standard library has too.
        "src/code.py": "name = 'own code'\n",
        "src/queue.py": "name = 'own queue'\n",
        "test/shared.py": "name = 'own test'\n",
    }
    runtime.publish(ko, files)
    result = ["beside", 2, True, "own code", "own queue", "late", "own test"]
    assert runtime.call(runtime.activate(ko), 1).result == result


def test_entries_whose_path_is_no_module_name_work(runtime: Runtime) -> None:
    ko = "calls/names/v1.0"
    runtime.publish(ko, {"my-code/v1.2/the main.py": "import other\ndef main(v):\n    return other.x\n"})
    runtime.publish(ko, {"my-code/v1.2/other.py": "x = 7\n"})
    assert runtime.call(runtime.activate(ko, entry="my-code/v1.2/the main.py"), None).result == 7


@pytest.mark.parametrize("entry", ["json.py", "os.py", "io/main.py", "json/main.py", "main", "__init__.py"])
def test_entries_with_names_of_the_standard_library_work(runtime: Runtime, entry: str) -> None:
    ko = f"calls/taken/v{zlib.crc32(entry.encode())}"
    runtime.publish(ko, {entry: "import os, pathlib\ndef main(v):\n    return os.path.basename(__file__)\n"})
    assert runtime.call(runtime.activate(ko, entry=entry), None).result == entry.rpartition("/")[2]


def test_plain_names_beside_entries_in_different_folders_do_not_meet(runtime: Runtime) -> None:
    ko = "calls/folders/v1.0"
    for folder in ("a", "b"):
        source = "import helper\ndef main(v):\n    return helper.x\n"
        runtime.publish(ko, {f"{folder}/main.py": source, f"{folder}/helper.py": f"x = '{folder}'\n"})
    paths = [runtime.activate(ko, folder, entry=f"{folder}/main.py", checksum="1") for folder in ("a", "b")]
    assert [runtime.call(path, None).result for path in paths] == ["a", "b"]


def test_the_code_of_one_knowledge_object_does_not_meet_that_of_another(runtime: Runtime) -> None:
    paths = []
    for name in ("one", "two"):
        ko = f"calls/{name}/v1.0"
        source = "from src import helper\nimport json\njson.seen = getattr(json, 'seen', 0) + 1\n"
        source += "def main(v):\n    return [helper.name, json.seen]\n"
        runtime.publish(ko, {"src/main.py": source, "src/helper.py": f"name = '{name}'\n"})
        paths.append(runtime.activate(ko))
    assert [runtime.call(path, None).result for path in paths] == [["one", 1], ["two", 1]]


def test_a_worker_has_an_empty_environment_and_a_folder_for_temporary_files(runtime: Runtime) -> None:
    source = "import os, tempfile\ndef main(v):\n    return [dict(os.environ), tempfile.mkdtemp(), os.listdir('.')]\n"
    environment, folder, here = runtime.call(runtime.add("calls/environment/v1.0", source), None).result
    assert set(environment) <= {
        "PATH",
        "LANG",
        "HOME",
        "TMPDIR",
        "LOGNAME",
        "MALLOC_ARENA_MAX",
        "JOBLIB_MULTIPROCESSING",
        "LC_CTYPE",
    }
    assert folder.startswith(environment["TMPDIR"])
    assert set(here) <= {"src", "requirements.txt"}


def test_an_unknown_endpoint_is_404_with_its_name(runtime: Runtime) -> None:
    answer = runtime.call("/no/such/1.0/endpoint", None)
    assert answer.status == 404
    assert "no/such/1.0/endpoint" in answer.description


def test_the_plain_id_works_as_well_as_the_key(runtime: Runtime) -> None:
    runtime.add("calls/plain/v1.0", "def main(value):\n    return 'plain'\n")
    assert runtime.call("/calls/plain/1.0/run", None).result == "plain"


def test_descriptions_are_valid_json_whatever_the_exception_says(runtime: Runtime) -> None:
    path = runtime.add("calls/textOfError/v1.0", "def main(v):\n    raise Exception(v)\n")
    assert runtime.call(path, '"\ud800\u0000</script>').status == 500
    long = runtime.call(path, "x" * 100_000)
    assert len(json.dumps(long.json)) < 3000
