from __future__ import annotations

import re
import shutil
import time
from collections.abc import Generator

import pytest

from tests.conftest import StartRuntime
from tests.harness.activator import FakeActivator
from tests.harness.code import SLEEPER
from tests.harness.patience import promised, wait_until
from tests.harness.runtime import Runtime, is_alive, temporary_folder


@pytest.fixture(scope="module")
def impatient(activator: FakeActivator) -> Generator[Runtime]:
    """Gives a call no more than 0.8 s."""
    folder = temporary_folder()
    runtime = Runtime(activator, folder, KGRID_PYTHON_EXECUTION_TIMEOUT="0.8")
    yield runtime
    runtime.close()
    shutil.rmtree(folder, ignore_errors=True)


def test_a_hang_that_python_cannot_interrupt_ends_at_the_limit_too(impatient: Runtime) -> None:
    runtime = impatient
    source = """
import re
def main(value):
    print("begun")
    return re.match("(a+)+$", "a" * 64 + "b") if value else "fine"
"""
    path = runtime.add("limits/regex/v1.0", source)
    hanging = runtime.begin(path, 1)
    # So that its own limit passes later than that of the first.
    time.sleep(0.4)
    # It is not begun any more there, and so runs in the next worker.
    assert runtime.result_of(path, 0) == "fine"
    assert hanging.result().description.startswith("The call passed its time limit")
    assert runtime.result_of(path, 0) == "fine"


def test_the_time_that_a_caller_has_left_shortens_the_limit(runtime: Runtime) -> None:
    path = runtime.add("limits/left/v1.0", SLEEPER)
    answer = runtime.call(path, {"sleep": 1}, x_kgrid_deadline_ms="200")
    # What the way to the worker took is no longer left to the call.
    assert re.fullmatch(r"The call passed its time limit of 0\.[01]\d* s", answer.description), answer.description
    assert answer.seconds < promised(1)
    assert runtime.call(path, {}).status == 200


def test_memory_beyond_the_limit_is_an_error_of_the_call(start: StartRuntime) -> None:
    runtime = start(KGRID_PYTHON_MEMORY_LIMIT="96M")
    source = """
kept = []
def main(value):
    if value == "grow":
        while True:
            kept.append(bytearray(1_000_000))
    if value == "at once":
        return len(bytes(10**10))
    return len(kept)
"""
    path = runtime.add("limits/memory/v1.0", source)
    for value in ("grow", "at once"):
        answer = runtime.call(path, value)
        assert "passed its memory limit" in answer.description
    # What it kept is gone with its worker.
    assert runtime.call(path, "count").result == 0


def test_memory_that_no_limit_of_the_process_sees_is_watched(start: StartRuntime) -> None:
    runtime = start(KGRID_PYTHON_MEMORY_LIMIT="96M")
    source = """
import mmap, time
def main(value):
    kept = []
    for _ in range(1000 if value else 0):
        shared = mmap.mmap(-1, 4_000_000)
        shared.write(b"x" * 4_000_000)
        kept.append(shared)
        time.sleep(0.002)
    return "fine"
"""
    path = runtime.add("limits/shared/v1.0", source)
    answer = runtime.call(path, 1)
    assert "passed its memory limit of 96 MB" in answer.description
    assert runtime.call(path, 0).result == "fine"


def test_what_a_worker_has_started_ends_with_it(impatient: Runtime) -> None:
    runtime = impatient
    source = """
import subprocess, time
def main(value):
    child = subprocess.Popen(["sleep", "60"])
    if value:
        time.sleep(60)
    return child.pid
"""
    path = runtime.add("limits/children/v1.0", source)
    child = runtime.result_of(path, 0)
    assert is_alive(child)
    assert runtime.call(path, 1).status == 500
    wait_until(lambda: not is_alive(child))
