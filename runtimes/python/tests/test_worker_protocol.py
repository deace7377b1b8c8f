"""The worker alone, as whoever starts it sees it: frames in and out."""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from kgrid_python_runtime.worker.frames import ANSWER, CALL, ENDPOINT, PING, RESULT, SEALED, Frame, FrameBuffer, frame
from tests.harness.patience import PATIENCE, wait_until

_MAIN = Path(__file__).resolve().parent.parent / "kgrid_python_runtime/worker/main.py"
_MEGABYTE = 1 << 20


class WorkerAlone:
    def __init__(self, root: Path, source: str) -> None:
        (root / "main.py").write_text(source)
        self.root = root
        self.data, data = socket.socketpair()
        self.control, control = socket.socketpair()
        self.counters = tempfile.TemporaryFile()  # noqa: SIM115
        self.counters.truncate(16)
        descriptors = [data.fileno(), control.fileno(), self.counters.fileno()]
        options = {
            "descriptors": descriptors,
            "scratch": str(root),
            "concurrency": 8,
            "threads": 32,
            "memoryLimit": 256 * _MEGABYTE,
            "outputLimit": _MEGABYTE,
            "bodyLimit": _MEGABYTE,
        }
        command = [sys.executable, "-I", "-S", "-B", "-X", "utf8", str(_MAIN), json.dumps(options)]
        self.process = subprocess.Popen(command, pass_fds=descriptors, stderr=subprocess.PIPE)
        data.close()
        control.close()
        self._buffers = {self.data: FrameBuffer(1 << 30), self.control: FrameBuffer(1 << 30)}
        self._frames: list[Frame] = []
        self.define(0, "main.py", "main")

    def define(self, index: int, file: str, function: str, entry_folder: str = "") -> None:
        said: dict[str, object] = {
            "file": str(self.root / file),
            "root": str(self.root),
            "function": function,
            "entryFolder": entry_folder,
            "installed": [],
            "ownPackage": None,
        }
        self.data.sendall(frame(ENDPOINT, index, 0, json.dumps(said).encode()))

    def call(self, number: int, value: object, endpoint: int = 0) -> None:
        self.data.sendall(frame(CALL, number, endpoint * 2 + 1, json.dumps(value).encode()))

    def next(self, matches: Callable[[Frame], bool], seconds: float = PATIENCE) -> Frame:
        """The first frame that matches; it is taken."""
        while True:
            for found in self._frames:
                if matches(found):
                    self._frames.remove(found)
                    return found
            ready, _, _ = select.select([self.data, self.control], [], [], seconds)
            assert ready, "no frame came in time"
            for end in ready:
                data = end.recv(65536)
                assert data, "the worker has ended"
                self._frames += self._buffers[end].feed(data)

    def answer(self, number: int) -> tuple[int, Any]:
        found = self.next(lambda one: one[0] == ANSWER and one[1] == number)
        return found[2], json.loads(found[3])

    @property
    def begun(self) -> int:
        return int(struct.unpack("<Q", os.pread(self.counters.fileno(), 8, 0))[0])

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        for each in (self.data, self.control, self.counters):
            each.close()


@pytest.fixture
def start(tmp_path: Path) -> Generator[Callable[[str], WorkerAlone]]:
    started = []

    def begin(source: str) -> WorkerAlone:
        started.append(WorkerAlone(tmp_path, source))
        return started[-1]

    yield begin
    for worker in started:
        worker.close()


Start = Callable[[str], WorkerAlone]
WAITS = """
import os, time
def main(value):
    if "until" in value:
        while not os.path.exists(value["until"]):
            time.sleep(0.001)
    return value
def other(text):
    return text.upper()
"""


def test_a_call_that_waits_lets_others_in(start: Start, tmp_path: Path) -> None:
    worker = start(WAITS)
    gate = tmp_path / "gate"
    for number in range(1, 7):
        worker.call(number, {"until": str(gate)})
    worker.call(7, {})
    assert worker.answer(7) == (RESULT, {})
    gate.touch()
    for number in range(1, 7):
        assert worker.answer(number)[0] == RESULT


def test_a_call_that_waits_keeps_no_answer_back(start: Start, tmp_path: Path) -> None:
    worker = start(WAITS)
    gate = tmp_path / "gate"
    worker.call(1, {})
    worker.answer(1)
    calls = [frame(CALL, number, 1, b"{}") for number in range(2, 20)]
    waits = frame(CALL, 20, 1, json.dumps({"until": str(gate)}).encode())
    worker.data.sendall(b"".join([*calls, waits]))
    for number in range(2, 20):
        assert worker.answer(number) == (RESULT, {})
    gate.touch()
    assert worker.answer(20)[0] == RESULT


def test_a_sealed_worker_ends_what_it_has_begun_and_begins_no_more(start: Start, tmp_path: Path) -> None:
    worker = start(WAITS)
    gate = tmp_path / "gate"
    # All that may run at once, and three more.
    for number in range(1, 12):
        worker.call(number, {"until": str(gate)})
    worker.call(12, {})
    wait_until(lambda: worker.begun >= 8)
    worker.control.sendall(frame(SEALED, 0, 0))
    assert worker.next(lambda one: one[0] == SEALED)[1] == 8
    gate.touch()
    for number in range(1, 9):
        assert worker.answer(number)[0] == RESULT
    worker.control.sendall(frame(PING, 0, 0))
    worker.next(lambda one: one[0] == PING)
    assert worker.begun == 8
    assert [each for each in worker._frames if each[0] != PING] == []


def test_it_answers_whether_it_is_alive_while_code_runs(start: Start) -> None:
    worker = start("def main(value):\n    while True:\n        pass\n")
    worker.call(1, None)
    worker.control.sendall(frame(PING, 0, 0))
    worker.next(lambda one: one[0] == PING)


def test_code_that_holds_the_interpreter_is_seen_to_have_begun(start: Start) -> None:
    def is_seen() -> bool:
        worker = start("import re\ndef main(value):\n    return re.match('(a+)+$', 'a' * 99 + 'b')\n")
        worker.call(1, None)
        worker.call(2, None)
        wait_until(lambda: worker.begun >= 1)
        worker.control.sendall(frame(SEALED, 0, 0))
        try:
            worker.next(lambda one: one[0] == SEALED, seconds=0.3)
        except AssertionError as silent:
            assert "no frame came in time" in str(silent)
            return worker.begun == 1
        return False

    # The kernel may take its turn between the two: that it has begun, and that it holds the interpreter.
    assert any(is_seen() for _ in range(5))


def test_an_endpoint_of_other_code_is_not_mixed_in(start: Start) -> None:
    worker = start(WAITS)
    worker.define(1, "main.py", "main", entry_folder="elsewhere")
    worker.call(1, {}, endpoint=1)
    assert worker.answer(1)[1]["description"] == "The endpoint belongs to another worker"
    worker.call(2, {})
    assert worker.answer(2)[0] == RESULT
