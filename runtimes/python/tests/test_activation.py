from __future__ import annotations

import pytest

from tests.conftest import StartRuntime
from tests.harness.patience import wait_until
from tests.harness.runtime import Runtime

GOOD = "def main(value):\n    return value\n"


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


def test_a_failing_activation_leaves_what_was_active(runtime: Runtime) -> None:
    ko = "activation/keep/v1.0"
    runtime.publish(ko, {"src/main.py": GOOD})
    path = runtime.activate(ko, checksum="1")
    runtime.publish(ko, {"src/main.py": "broken("})
    assert runtime.try_activate(ko, checksum="2").status == 500
    assert runtime.call(path, 1).result == 1
