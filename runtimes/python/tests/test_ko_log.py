from __future__ import annotations

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
