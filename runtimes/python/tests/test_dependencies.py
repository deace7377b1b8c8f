from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.runtime import Runtime
from tests.harness.wheels import make_wheel

USE = """
import lib
def main(value):
    return [lib.version, lib.__file__.rpartition("/installs/")[0] != ""]
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    for version in ("1.0", "2.0"):
        make_wheel(folder, "lib", version, {"lib/__init__.py": f"version = '{version}'\n"})
    make_wheel(folder, "needs_lib", "1.0", {"needs_lib.py": "import lib\nversion = lib.version\n"}, "lib<2")
    make_wheel(folder, "dies", "1.0", {"dies.pth": "import os; os._exit(9)\n", "dies.py": ""})
    return folder


@pytest.fixture(scope="module")
def settings(wheels: Path) -> dict[str, str]:
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}


def test_requirements_that_cannot_be_met_are_reported_in_the_words_of_pip(runtime: Runtime, wheels: Path) -> None:
    runtime.publish("deps/bad/v1.0", {"src/main.py": USE, "requirements.txt": "later==7.0\n"})
    answer = runtime.try_activate("deps/bad/v1.0")
    assert answer.status == 500
    assert answer.description.startswith("Installing dependencies failed: Could not find")
    assert "No matching distribution found for later==7.0" in answer.description
    assert str(runtime.cache) not in answer.description
    # Another try is another try.
    make_wheel(wheels, "later", "7.0", {"lib/__init__.py": "version = '7.0'\n"})
    assert runtime.call(runtime.activate("deps/bad/v1.0"), None).result[0] == "7.0"


@pytest.mark.long_round
def test_requirements_may_name_files_of_the_knowledge_object(runtime: Runtime, tmp_path: Path) -> None:
    paths = []
    for version in ("1.0", "2.0"):
        ko = f"deps/own/v{version}"
        runtime.publish(ko, {"src/main.py": USE, "requirements.txt": "./wheels/lib-9-py3-none-any.whl\n"})
        make_wheel(tmp_path / version, "lib", "9", {"lib/__init__.py": f"version = 'own {version}'\n"})
        wheel = tmp_path / version / "lib-9-py3-none-any.whl"
        runtime.activator.files[f"{ko}/wheels/lib-9-py3-none-any.whl"] = wheel.read_bytes()
        paths.append(runtime.activate(ko))
    assert [runtime.call(path, None).result[0] for path in paths] == ["own 1.0", "own 2.0"]


def test_a_worker_that_its_dependencies_keep_from_starting_is_an_error(runtime: Runtime) -> None:
    runtime.publish("deps/dies/v1.0", {"src/main.py": USE, "requirements.txt": "dies\n"})
    answer = runtime.try_activate("deps/dies/v1.0")
    assert answer.status == 500
    assert "ended unexpectedly (exit code 9)" in answer.description
