"""Throughput of a trivial endpoint, against a bare asyncio server that does the same.

`python3 -m bench.bench [<seconds a run> <rounds>]`, in `runtimes/python`; needs `wrk`. Runs alternate.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.harness.activator import FakeActivator
from tests.harness.runtime import Runtime, temporary_folder

_HERE = Path(__file__).resolve().parent
_SOURCE = """
def main(value):
    return {"greeting": f"Hello, {value['name']}"}
"""
_SCRIPT = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '{"name": "Ada Lovelace", "numbers": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}'
"""


def requests_a_second(url: str, connections: int, seconds: int, script: str) -> float:
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", script, url]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Non-2xx" not in output, output
    match = re.search(r"Requests/sec:\s+([\d.]+)", output)
    assert match is not None, output
    return float(match[1])


def main() -> None:
    seconds, rounds = (int(text) for text in [*sys.argv[1:], "2", "5"][:2]) if len(sys.argv) > 2 else (2, 5)
    if shutil.which("wrk") is None:
        sys.exit("wrk is needed: apt-get install wrk")
    folder = temporary_folder()
    activator = FakeActivator()
    runtime = Runtime(activator, folder)
    bare = subprocess.Popen(
        [sys.executable, str(_HERE / "bare_servers.py"), "asyncio"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert bare.stdout is not None
        bare_url = f"http://127.0.0.1:{bare.stdout.readline().strip()}/"
        url = runtime.url + runtime.add("bench/hello/v1.0", _SOURCE)
        with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
            script.write(_SCRIPT)
            script.flush()
            for connections in (1, 10, 100):
                bares, ours = [], []
                for _ in range(rounds):
                    bares.append(requests_a_second(bare_url, connections, seconds, script.name))
                    ours.append(requests_a_second(url, connections, seconds, script.name))
                ratios = [one / other for one, other in zip(ours, bares)]
                print(
                    f"{connections:>4} connections: bare {statistics.median(bares):8.0f}/s"
                    f"  runtime {statistics.median(ours):8.0f}/s"
                    f"  ratio {statistics.median(ratios):.2f} [{min(ratios):.2f}-{max(ratios):.2f}]"
                )
    finally:
        bare.kill()
        bare.wait()
        runtime.close()
        activator.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
