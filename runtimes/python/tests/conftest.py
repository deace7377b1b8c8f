from __future__ import annotations

import shutil
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from tests.harness.activator import FakeActivator
from tests.harness.patience import in_round
from tests.harness.runtime import Runtime, temporary_folder

StartRuntime = Callable[..., Runtime]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves what installs much to the long round, which is `npm run test:long python`."""
    left = [item for item in items if item.get_closest_marker("long_round")] if in_round(True, False) else []
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in left]


@pytest.fixture(scope="module")
def activator() -> Generator[FakeActivator]:
    activator = FakeActivator()
    yield activator
    activator.close()


@pytest.fixture
def cache() -> Generator[Path]:
    folder = temporary_folder()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def settings() -> dict[str, str]:
    """Settings of the runtime that the tests of a file share."""
    return {}


@pytest.fixture(scope="module")
def runtime(activator: FakeActivator, settings: dict[str, str]) -> Generator[Runtime]:
    """One for all tests of a file that leave it as it was: what they have in common is installed once."""
    folder = temporary_folder()
    runtime = Runtime(activator, folder, **settings)
    yield runtime
    runtime.close()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def start(activator: FakeActivator, cache: Path) -> Generator[StartRuntime]:
    """Starts a runtime with settings of its own, which ends with the test."""
    started: list[Runtime] = []

    def start(**settings: str) -> Runtime:
        runtime = Runtime(activator, cache, **settings)
        started.append(runtime)
        return runtime

    yield start
    for runtime in started:
        runtime.close()
