from __future__ import annotations

import json
import socket
from collections.abc import Generator

import pytest

from tests.conftest import StartRuntime
from tests.harness.activator import FakeActivator
from tests.harness.patience import PATIENCE


@pytest.fixture
def activator() -> Generator[FakeActivator]:
    activator = FakeActivator()
    yield activator
    activator.close()


def test_it_waits_for_an_activator_that_starts_later(start: StartRuntime) -> None:
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = reserved.getsockname()[1]
    runtime = start(KGRID_PROXY_ADAPTER_URL=f"http://127.0.0.1:{port}", KGRID_PROXY_HEARTBEAT_INTERVAL="0.2")
    runtime.wait_for_log(lambda line: line.get("event") == "not registered")
    late = FakeActivator(port)
    try:
        assert json.loads(late.registrations.get(timeout=PATIENCE).body)["forceUpdate"] is True
        assert json.loads(late.registrations.get(timeout=PATIENCE).body)["forceUpdate"] is False
    finally:
        late.close()
    # Said once, however often it was tried.
    assert sum(line.get("event") == "not registered" for line in runtime.logged) <= 2


def test_it_tells_the_address_that_it_is_given(start: StartRuntime, activator: FakeActivator) -> None:
    start(KGRID_PYTHON_ENV_URL="http://python.example:5000/", KGRID_PYTHON_HOST="127.0.0.1")
    assert json.loads(activator.registrations.get(timeout=PATIENCE).body)["url"] == "http://python.example:5000"
