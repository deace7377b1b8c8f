from __future__ import annotations

from tests.harness.patience import promised
from tests.harness.runtime import Runtime


def test_what_a_knowledge_object_prints_is_in_its_log(runtime: Runtime) -> None:
    source = """
import subprocess, sys
def main(value):
    print("to stdout ♥")
    print("to stderr", file=sys.stderr)
    subprocess.run(["echo", "from a child"])
"""
    runtime.call(runtime.add("log/print/v1.0", source), None)
    lines = [runtime.wait_for_log(lambda line: line.get("ko") == "log/print/v1.0") for _ in range(3)]
    assert {"ko": "log/print/v1.0", "stream": "stdout", "text": "to stdout ♥"} in lines
    assert {"ko": "log/print/v1.0", "stream": "stderr", "text": "to stderr"} in lines
    assert {"ko": "log/print/v1.0", "stream": "stdout", "text": "from a child"} in lines


def test_the_trace_of_an_exception_is_in_the_log_and_not_in_the_answer(runtime: Runtime) -> None:
    path = runtime.add("log/trace/v1.0", "def inner():\n    raise ValueError('x')\ndef main(value):\n    inner()\n")
    assert "Traceback" not in runtime.call(path, None).text
    line = runtime.wait_for_log(lambda line: "in inner" in line.get("text", ""))
    assert line["ko"] == "log/trace/v1.0"


def test_long_lines_are_cut(runtime: Runtime) -> None:
    path = runtime.add("log/long/v1.0", "def main(value):\n    print('x' * 1_000_000)\n    print('after')\n")
    assert runtime.call(path, None).result is None
    first = runtime.wait_for_log(lambda line: line.get("ko") == "log/long/v1.0")
    assert len(first["text"]) <= 4097
    assert runtime.wait_for_log(lambda line: line.get("text") == "after")["ko"] == "log/long/v1.0"


def test_a_flood_is_dropped_and_holds_nobody_else_up(runtime: Runtime) -> None:
    flood = runtime.add(
        "log/flood/v1.0",
        "import time\ndef main(value):\n    until = time.time() + value\n"
        "    while time.time() < until:\n        print('line of a flood ' * 20)\n",
    )
    other = runtime.add("log/other/v1.0", "def main(value):\n    return value\n")
    flooding = runtime.call_later(flood, 1.5)
    runtime.wait_for_log(lambda line: line.get("ko") == "log/flood/v1.0")
    slowest = max(runtime.call(other, 1).seconds for _ in range(20))
    assert slowest < promised(1)
    assert flooding.result().status == 200
    dropped = runtime.wait_for_log(lambda line: "more lines were dropped" in line.get("text", ""))
    assert dropped["ko"] == "log/flood/v1.0"
    lines = [line for line in runtime.logged if line.get("ko") == "log/flood/v1.0"]
    assert len(lines) < 200 * 5
