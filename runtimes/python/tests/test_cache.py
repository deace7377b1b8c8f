from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.conftest import StartRuntime
from tests.harness.activator import FakeActivator

OLD = {"src/main.py": "def main(v):\n    return 'old'\n"}
NEW = {"src/main.py": "def main(v):\n    return 'new'\n"}
KO = "cache/ko/v1.0"


@pytest.fixture
def activator() -> Generator[FakeActivator]:
    """One for each test: they look at what was fetched."""
    activator = FakeActivator()
    yield activator
    activator.close()


def test_another_checksum_is_fetched_again_and_an_old_one_is_not(start: StartRuntime, activator: FakeActivator) -> None:
    runtime = start()
    runtime.publish(KO, OLD)
    runtime.activate(KO, checksum="1")
    runtime.publish(KO, NEW)
    assert runtime.call(runtime.activate(KO, checksum="2"), None).result == "new"
    assert runtime.call(runtime.activate(KO, checksum="1"), None).result == "old"
    assert activator.fetched().count(f"{KO}/src/main.py") == 2


def test_the_same_checksum_of_another_knowledge_object_is_no_match(start: StartRuntime) -> None:
    runtime = start()
    runtime.publish(KO, OLD)
    runtime.publish("cache/other/v1.0", NEW)
    paths = [runtime.activate(ko, checksum="1") for ko in (KO, "cache/other/v1.0")]
    assert [runtime.call(path, None).result for path in paths] == ["old", "new"]


def test_without_a_checksum_everything_is_fetched_each_time(start: StartRuntime) -> None:
    runtime = start()
    runtime.publish(KO, OLD)
    runtime.activate(KO)
    runtime.publish(KO, NEW)
    assert runtime.call(runtime.activate(KO), None).result == "new"


def test_never_fetches_in_spite_of_the_checksum(start: StartRuntime) -> None:
    runtime = start(KGRID_PYTHON_CACHE_STRATEGY="never")
    runtime.publish(KO, OLD)
    runtime.activate(KO, checksum="1")
    runtime.publish(KO, NEW)
    assert runtime.call(runtime.activate(KO, checksum="1"), None).result == "new"


def test_always_keeps_what_it_has_in_spite_of_the_checksum(start: StartRuntime) -> None:
    runtime = start(KGRID_PYTHON_CACHE_STRATEGY="always")
    runtime.publish(KO, OLD)
    runtime.activate(KO, checksum="1")
    runtime.publish(KO, NEW)
    assert runtime.call(runtime.activate(KO, checksum="2"), None).result == "old"
    runtime.close()
    runtime = start(KGRID_PYTHON_CACHE_STRATEGY="always")
    assert runtime.call(runtime.activate(KO), None).result == "old"


def test_what_a_killed_runtime_left_behind_is_removed(start: StartRuntime) -> None:
    runtime = start()
    runtime.publish(KO, OLD)
    runtime.activate(KO)
    runtime.process.kill()
    runtime.process.wait()
    assert list(runtime.cache.glob("staging/scratch-*"))
    again = start()
    assert not list(again.cache.glob("staging/scratch-*"))
    assert not list(again.cache.glob("staging/*"))
