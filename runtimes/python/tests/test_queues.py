"""How many calls run at once, and what becomes of those that wait."""

from __future__ import annotations

import time

from tests.conftest import StartRuntime
from tests.harness.code import SLEEPER
from tests.harness.patience import promised, wait_until
from tests.harness.runtime import Runtime


def end_calls(runtime: Runtime) -> None:
    """Ends those that wait for it, in the folders of their processes."""
    for folder in runtime.cache.glob("staging/scratch-*"):
        (folder / "end").touch()


def test_calls_run_side_by_side_up_to_the_limit(start: StartRuntime) -> None:
    runtime = start(KGRID_PYTHON_CONCURRENCY="3")
    source = """
import threading, time
lock = threading.Lock()
now = most = 0
def main(value):
    global now, most
    with lock:
        now += 1
        most = max(most, now)
    until = time.monotonic() + 20
    while most < 3 and time.monotonic() < until:
        time.sleep(0.005)
    time.sleep(0.2)
    with lock:
        now -= 1
    return most
"""
    path = runtime.add("queues/side/v1.0", source)
    started = time.monotonic()
    calls = [runtime.call_later(path, None) for _ in range(9)]
    assert max(call.result().result for call in calls) == 3
    assert 0.6 <= time.monotonic() - started < promised(1.7)


def test_a_short_call_does_not_wait_for_long_ones(runtime: Runtime) -> None:
    path = runtime.add("queues/short/v1.0", SLEEPER)
    runtime.call(path, {})
    long = [runtime.begin(path, {"until": "end"}) for _ in range(4)]
    assert runtime.call(path, {}).status == 200
    assert not any(call.done() for call in long)
    end_calls(runtime)
    assert all(call.result().status == 200 for call in long)


def test_calls_beyond_the_queue_are_refused_with_retry_after(start: StartRuntime) -> None:
    runtime = start(KGRID_PYTHON_CONCURRENCY="2", KGRID_PYTHON_QUEUE="3")
    path = runtime.add("queues/queue/v1.0", SLEEPER)
    runtime.call(path, {})
    calls = [runtime.call_once_later(path, {"until": "end"}) for _ in range(8)]
    wait_until(lambda: sum(call.done() for call in calls) >= 3)
    end_calls(runtime)
    answers = [call.result() for call in calls]
    assert sorted(answer.status for answer in answers) == [200] * 5 + [503] * 3
    refused = [answer for answer in answers if answer.status == 503]
    assert all(answer.headers["retry-after"] == "1" and answer.seconds < promised(1) for answer in refused)


def test_a_call_that_waits_in_vain_is_refused_in_time(start: StartRuntime) -> None:
    runtime = start(KGRID_PYTHON_CONCURRENCY="1")
    path = runtime.add("queues/vain/v1.0", SLEEPER)
    running = runtime.begin(path, {"until": "end"})
    answer = runtime.call_once(path, {}, x_kgrid_deadline_ms="300")
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    assert answer.seconds < promised(1)
    end_calls(runtime)
    assert running.result().status == 200


def test_a_thousand_calls_at_once_are_all_answered(runtime: Runtime) -> None:
    path = runtime.add("queues/many/v1.0", "def main(value):\n    return value\n")
    calls = [runtime.call_later(path, number) for number in range(1000)]
    assert [call.result().result for call in calls] == list(range(1000))
