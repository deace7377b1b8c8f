from __future__ import annotations

import os
import re
import shutil
import signal
import time
import zlib
from collections.abc import Generator

import pytest

from tests.conftest import StartRuntime
from tests.harness.activator import FakeActivator
from tests.harness.code import SLEEPER
from tests.harness.patience import promised, wait_until
from tests.harness.runtime import Answer, Runtime, is_alive, pause_process, temporary_folder, tried_again

SPIN = {"spin": True}


@pytest.fixture(scope="module")
def impatient(activator: FakeActivator) -> Generator[Runtime]:
    """Gives a call no more than 0.8 s."""
    folder = temporary_folder()
    runtime = Runtime(activator, folder, KGRID_PYTHON_EXECUTION_TIMEOUT="0.8")
    yield runtime
    runtime.close()
    shutil.rmtree(folder, ignore_errors=True)


def test_a_hanging_call_ends_at_the_limit_and_the_next_one_works(impatient: Runtime) -> None:
    path = impatient.add("limits/hang/v1.0", SLEEPER)
    first = impatient.result_of(path, {})[0]
    answer = impatient.call(path, SPIN)
    assert answer.json == {
        "description": "The call passed its time limit of 0.8 s",
        "fault": "execution-timeout",
    }
    assert 0.8 <= answer.seconds < promised(2)
    assert impatient.result_of(path, {})[0] != first
    wait_until(lambda: not is_alive(first))


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


def test_a_hang_does_not_cost_calls_beside_it(start: StartRuntime) -> None:
    runtime = start(KGRID_PYTHON_EXECUTION_TIMEOUT="1")
    path = runtime.add("limits/beside/v1.0", SLEEPER)

    def call_beside() -> Answer:
        hanging = runtime.begin(path, SPIN)
        time.sleep(0.5)
        # Still running when the limit of the other passes, and within its own.
        beside = runtime.call_once_later(path, {"sleep": 0.8})
        assert hanging.result().status == 500
        return beside.result()

    assert tried_again(call_beside, lambda answer: answer.ran_out_of_time).status == 200


def test_the_time_that_a_caller_has_left_shortens_the_limit(runtime: Runtime) -> None:
    path = runtime.add("limits/left/v1.0", SLEEPER)
    answer = runtime.call(path, {"sleep": 1}, x_kgrid_deadline_ms="200")
    # What the way to the worker took is no longer left to the call.
    assert re.fullmatch(r"The call passed its time limit of 0\.[01]\d* s", answer.description), answer.description
    assert answer.seconds < promised(1)
    assert runtime.call(path, {}).status == 200


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import os; os._exit(3)", "ended unexpectedly (exit code 3)"),
        ("import ctypes; ctypes.string_at(0)", "ended unexpectedly (SIGSEGV)"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "ended unexpectedly (SIGKILL)"),
        ("import os; os.closerange(3, 64)", ""),
    ],
)
def test_a_crash_is_answered_at_once_and_the_next_call_works(runtime: Runtime, source: str, reason: str) -> None:
    body = f"def main(value):\n    if value:\n        {source}\n    return 'fine'\n"
    path = runtime.add(f"limits/crash/v{zlib.crc32(source.encode())}", body)
    assert runtime.call(path, 0).result == "fine"
    answer = runtime.call(path, 1)
    assert answer.status == 500
    assert "process" in answer.description
    assert reason in answer.description
    assert answer.seconds < promised(2)
    assert runtime.call(path, 0).result == "fine"


def test_a_worker_that_writes_nonsense_is_ended(runtime: Runtime) -> None:
    source = """
import os, stat, struct, time
def main(value):
    if not value:
        return "fine"
    for fd in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                os.write(fd, bytes.fromhex(value))
        except OSError:
            pass
    time.sleep(20)
"""
    path = runtime.add("limits/nonsense/v1.0", source)
    number = "01000000"
    # A frame that only a runtime sends, one beyond all limits.
    for nonsense in (
        "00000000" + "03" + number * 2,
        "ffffffff" + "04" + number * 2,
    ):
        answer = runtime.call(path, nonsense)
        assert "process" in answer.description
        assert answer.seconds < promised(5)
        assert runtime.call(path, "").result == "fine"


def test_a_crash_costs_only_the_calls_of_that_knowledge_object(runtime: Runtime) -> None:
    source = "import os, time\ndef main(v):\n    print('begun')\n    time.sleep(v)\n    os._exit(1)\n"
    crashing = runtime.add("limits/crashing/v1.0", source)
    other = runtime.add("limits/other/v1.0", SLEEPER)
    beside = [runtime.begin(crashing, 5) for _ in range(2)]
    others = [runtime.begin(other, {"sleep": 0.3}) for _ in range(3)]
    assert runtime.call(crashing, 0).status == 500
    assert all("ended unexpectedly" in call.result().description for call in beside)
    assert [call.result().status for call in others] == [200] * 3


def test_calls_that_a_killed_worker_had_not_begun_run_in_the_next_one(start: StartRuntime) -> None:
    runtime = start(KGRID_PYTHON_CONCURRENCY="1")
    path = runtime.add("limits/again/v1.0", SLEEPER)
    worker = runtime.call(path, {}).result[0]
    running = runtime.begin(path, {"sleep": 20})
    file = f"{runtime.workers()[0]}.count"
    waiting = [runtime.call_later(path, {"file": f"/proc/self/cwd/{file}"}) for _ in range(5)]
    time.sleep(0.2)
    os.kill(worker, signal.SIGKILL)
    assert "ended unexpectedly" in running.result().description
    results = [call.result().result for call in waiting]
    # One new worker, and each call ran once.
    assert len({pid for pid, _ in results}) == 1
    assert sorted(count for _, count in results) == [1, 2, 3, 4, 5]


def test_a_stopped_worker_is_replaced_at_the_limit(impatient: Runtime) -> None:
    runtime = impatient
    path = runtime.add("limits/stopped/v1.0", SLEEPER)
    worker = runtime.result_of(path, {})[0]
    pause_process(worker)
    answer = runtime.call_once(path, {})
    assert answer.status in (500, 503)
    assert answer.seconds < promised(2)
    assert runtime.result_of(path, {})[0] != worker
    wait_until(lambda: not is_alive(worker))


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


def test_output_beyond_the_limit_is_an_error_of_the_call(start: StartRuntime) -> None:
    runtime = start(KGRID_PYTHON_OUTPUT_LIMIT="10K")
    path = runtime.add("limits/output/v1.0", "def main(n):\n    return 'x' * n\n")
    assert len(runtime.call(path, 10_000).result) == 10_000
    answer = runtime.call(path, 11_000)
    assert answer.description == "The result has 11002 bytes; the limit is 10240"
    assert runtime.call(path, 1).result == "x"


def test_an_idle_worker_is_stopped_and_started_again(start: StartRuntime) -> None:
    runtime = start(KGRID_PYTHON_IDLE_TIMEOUT="0.3")
    path = runtime.add("limits/idle/v1.0", SLEEPER)
    # One that works is not idle, however long.
    assert runtime.call(path, {"sleep": 1}).status == 200
    wait_until(lambda: runtime.workers() == [])
    assert runtime.call(path, {}).result[1] == 1


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


def test_a_worker_that_never_starts_is_an_error_and_not_a_loop(start: StartRuntime) -> None:
    runtime = start()
    path = runtime.add(
        "limits/start/v1.0", "import os\nopen('started', 'a').write('x')\ndef main(v):\n    os._exit(1)\n"
    )
    runtime.call(path, None)
    # The interpreter itself cannot start where its folder is gone.
    root = next((runtime.cache / "objects").iterdir()) / "package"
    root.rename(root.with_name("moved"))
    answer = runtime.call_once(path, None, x_kgrid_deadline_ms="1500")
    assert answer.status == 503
    assert "cannot be started" in answer.description
