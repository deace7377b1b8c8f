"""What happens while a package is built: code of others runs, within limits, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import http.client
import json
import shutil
import tarfile
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.conftest import StartRuntime
from tests.harness.activator import FakeActivator
from tests.harness.packages import left_in, make_backend, package_files, self_building, try_package
from tests.harness.patience import PATIENCE, wait_until
from tests.harness.runtime import Runtime, temporary_folder


def test_dependencies_are_built_from_sources_only_where_the_operator_permits_it(
    start: StartRuntime, tmp_path: Path
) -> None:
    sources = tmp_path / "onlysrc-1.0"
    (sources).mkdir()
    for name, text in {
        "pyproject.toml": '[build-system]\nrequires = ["tinybuild"]\nbuild-backend = "tinybuild"\n',
        "PKG-INFO": "Metadata-Version: 2.1\nName: onlysrc\nVersion: 1.0\n",
        "tiny.json": json.dumps({"name": "onlysrc"}),
        "onlysrc.py": "x = 'built'\n",
    }.items():
        (sources / name).write_text(text)
    index = tmp_path / "index"
    index.mkdir()
    make_backend(index)
    with tarfile.open(index / "onlysrc-1.0.tar.gz", "w:gz") as archive:
        archive.add(sources, "onlysrc-1.0")
    runtime = start(PIP_NO_INDEX="1", PIP_FIND_LINKS=str(index), KGRID_PYTHON_ALLOW_SOURCE_BUILDS="pkg/may,other/ko")
    code = "import onlysrc\ndef run(value):\n    return onlysrc.x\n"
    for name, wanted in {"may": "onlysrc", "mayNot": "onlysrc>=0.5"}.items():
        runtime.publish(f"pkg/{name}/v1.0", package_files("bmi", code, requires=[wanted]))
    runtime.publish("pkg/first/v1.0", {"src/main.py": "def main(v): pass", "requirements.txt": "onlysrc\n"})
    runtime.publish(
        "pkg/local/v1.0", {**package_files("x", ""), "src/main.py": "def main(v): pass", "requirements.txt": "./\n"}
    )
    for answer, name, what in (
        (try_package(runtime, "pkg/mayNot/v1.0"), "mayNot", "onlysrc 1.0"),
        (runtime.try_activate("pkg/first/v1.0"), "first", "onlysrc 1.0"),
        (runtime.try_activate("pkg/local/v1.0"), "local", "a dependency"),
    ):
        assert answer.description == (
            f"Installing dependencies failed: {what} is there as sources only, and to build it would run its code with "
            f"the network open; --allow-source-builds pkg/{name} permits that"
        )
    permitted = try_package(runtime, "pkg/may/v1.0")
    assert runtime.call(f"/{permitted.json['uri']}", None).result == "built"


def builders(cache: Path) -> list[int]:
    """Processes that build in a cache."""
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and f"{cache}/installing".encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


def test_two_requests_at_once_share_one_build_which_ends_with_a_runtime_that_is_killed(start: StartRuntime) -> None:
    runtime = start(PIP_NO_INDEX="1")
    folder = runtime.cache / "installing"
    runtime.publish("pkg/killed/v1.0", self_building("bmi", "while True: pass"))
    asked = [runtime.run_later(lambda: try_package(runtime, "pkg/killed/v1.0")) for _ in range(2)]
    # Each build is a process that waits for the one that runs the code.
    wait_until(lambda: len(builders(runtime.cache)) >= 2)
    assert len(list(folder.iterdir())) == 1
    runtime.process.kill()
    runtime.process.wait()
    wait_until(lambda: not builders(runtime.cache))
    for each in asked:
        assert isinstance(each.exception(PATIENCE), (OSError, http.client.HTTPException))
    assert list(folder.iterdir())
    start(PIP_NO_INDEX="1")
    assert not list(folder.iterdir())


FORGE = "import os\nopen('../outcome.json', 'w').write('{}')\nos._exit(0)"

HOSTILE = {
    "eats": (
        "import time\nfor n in range(99):\n  open(f'{n}', 'wb').write(bytes(1000000))\ntime.sleep(60)",
        "wrote more than",
    ),
    "prints": ("while True: print('x' * 100000)", "printed more than 64 MB"),
    "one_file": ("open('f', 'wb').write(bytes(99000000))", "Building the package "),
    "hoards": ("x = bytes(3 << 30)", "passed its memory limit"),
    "dies": ("import os\nos._exit(0)", "Building the package failed"),
    "forges": (FORGE.format('{"needs": []}'), "Building the package failed: "),
    "forges_options": (FORGE.format('{"needs": ["-r/etc/passwd"]}'), "'-r/etc/passwd' is no requirement"),
    "forges_paths": (FORGE.format('{"wheel": "../source/x.whl"}'), "Building the package failed: "),
    "writes": ("open(mark, 'w')", "PermissionError"),
    "connects": ("import socket\nsocket.create_connection(('127.0.0.1', port), 2)", "Building the package failed: "),
}


@pytest.fixture(scope="module")
def strict(activator: FakeActivator) -> Generator[Runtime]:
    folder = temporary_folder()
    runtime = Runtime(activator, folder, PIP_NO_INDEX="1", KGRID_PYTHON_INSTALL_SIZE="20M")
    yield runtime
    runtime.close()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("kind", HOSTILE)
def test_code_that_builds_keeps_its_limits_and_leaves_nothing(strict: Runtime, kind: str) -> None:
    mark = strict.cache / "mark"
    code, said = HOSTILE[kind]
    begin = f"mark = {str(mark)!r}\nport = {strict.activator.port}\n"
    ko = f"pkg/{kind}/v1.0"
    strict.publish(ko, self_building("bmi", begin + code))
    answer = try_package(strict, ko)
    assert said in answer.description
    assert str(strict.cache) not in answer.text
    assert not mark.exists()
    assert not left_in(strict.cache)


def test_a_build_that_does_not_end_is_ended(start: StartRuntime) -> None:
    runtime = start(PIP_NO_INDEX="1", KGRID_PYTHON_INSTALL_TIMEOUT="2")
    runtime.publish("pkg/loops/v1.0", self_building("bmi", "while True: pass"))
    assert try_package(runtime, "pkg/loops/v1.0").description == "Building the package passed the limit of 2 s"
    assert not left_in(runtime.cache)
    assert not builders(runtime.cache)
