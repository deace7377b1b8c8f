from __future__ import annotations

import re

from tests.harness.runtime import CALLS_TYPE, Runtime

SOURCE = """
import time
def main(value):
    if value.get('fail'):
        raise ValueError(f"no {value['n']}")
    time.sleep(value.get('wait', 0))
    return value['n'] * 2
"""


def answers(runtime: Runtime, path: str, inputs: list[str]) -> dict[int, str]:
    reply = runtime.request("POST", path, "\0".join(inputs).encode(), {"Content-Type": CALLS_TYPE})
    assert reply.status == 200
    assert reply.headers["content-type"] == "application/vnd.kgrid.answers"
    *records, end = reply.text.split("\0")
    assert end == ""
    return {int(re.split("[=!]", text)[0]): text for text in records}


def test_each_call_gets_its_own_answer_whatever_becomes_of_the_others(runtime: Runtime) -> None:
    path = runtime.add("batch/double/v1.0", SOURCE)
    inputs = ['{"n":1}', '{"n":2,"fail":true}', '{"n":', *(f'{{"n":{n}}}' for n in range(3, 40))]
    found = answers(runtime, path, inputs)
    assert len(found) == len(inputs)
    assert found[0] == "0=2"
    assert found[1] == "1!500,ValueError: no 2"
    assert found[2].startswith("2!400,")
    assert all(found[n] == f"{n}={n * 2}" for n in range(3, 40))


def test_answers_come_in_the_order_in_which_calls_end(runtime: Runtime) -> None:
    path = runtime.add("batch/order/v1.0", SOURCE)
    assert list(answers(runtime, path, ['{"n":1,"wait":0.5}', '{"n":2}'])) == [1, 0]
