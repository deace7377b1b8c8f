"""What happens while a package is built: code of others runs, within limits, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import http.client
import io
import shutil
import tarfile
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.conftest import StartRuntime
from tests.harness.activator import FakeActivator
from tests.harness.packages import left_in, make_backend, package_files, self_building, try_package
from tests.harness.patience import PATIENCE, in_round, wait_until
from tests.harness.runtime import Runtime, temporary_folder


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """An index that has `onlysrc` as sources only."""
    index = tmp_path / "index"
    index.mkdir()
    make_backend(index)
    head = {"PKG-INFO": "Metadata-Version: 2.1\nName: onlysrc\nVersion: 1.0\n"}
    with tarfile.open(index / "onlysrc-1.0.tar.gz", "w:gz") as archive:
        for name, text in {**head, **self_building("onlysrc", "")}.items():
            entry = tarfile.TarInfo(f"onlysrc-1.0/{name}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return index


def refused(name: str, what: str) -> str:
    return (
        f"Installing dependencies failed: {what} is there as sources only, and to build it would run its code with "
        f"the network open; --allow-source-builds pkg/{name} permits that"
    )


@pytest.mark.long_round
def test_dependencies_are_built_from_sources_only_where_the_operator_permits_it(
    start: StartRuntime, sources: Path
) -> None:
    runtime = start(PIP_NO_INDEX="1", PIP_FIND_LINKS=str(sources), KGRID_PYTHON_ALLOW_SOURCE_BUILDS="pkg/may,other/ko")
    main = {"src/main.py": "import onlysrc.api\ndef main(value):\n    return onlysrc.api.run(value)\n"}
    runtime.publish("pkg/mayNot/v1.0", {**main, "requirements.txt": "onlysrc>=0.5\n"})
    runtime.publish("pkg/local/v1.0", {**main, **package_files("x", ""), "requirements.txt": "./\n"})
    runtime.publish("pkg/may/v1.0", {**main, "requirements.txt": "onlysrc\n"})
    for name, what in (("mayNot", "onlysrc 1.0"), ("local", "a dependency")):
        assert runtime.try_activate(f"pkg/{name}/v1.0").description == refused(name, what)
    assert runtime.call(runtime.activate("pkg/may/v1.0"), "built").result == "built"


if in_round(False, True):

    def test_so_are_dependencies_of_packages(start: StartRuntime, sources: Path) -> None:
        runtime = start(PIP_NO_INDEX="1", PIP_FIND_LINKS=str(sources), KGRID_PYTHON_ALLOW_SOURCE_BUILDS="pkg/may")
        code = "from onlysrc.api import run\n"
        for name, wanted in {"may": "onlysrc", "mayNot": "onlysrc>=0.5"}.items():
            runtime.publish(f"pkg/{name}/v1.0", package_files("bmi", code, requires=[wanted]))
        assert try_package(runtime, "pkg/mayNot/v1.0").description == refused("mayNot", "onlysrc 1.0")
        permitted = try_package(runtime, "pkg/may/v1.0")
        assert runtime.call(f"/{permitted.json['uri']}", "built").result == "built"


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
    start(PIP_NO_INDEX="1")
    assert not list(folder.iterdir())


FORGE = "import os\nopen('../outcome.json', 'w').write('{}')\nos._exit(0)"

HOSTILE = {
    "eats": (
        "import time\nfor n in range(99):\n  open(f'{n}', 'wb').write(bytes(1000000))\ntime.sleep(60)",
        "Its packages are larger than",
    ),
    "eats_at_the_end": (
        "for n in range(4):\n  open(f'{n}', 'wb').write(bytes(9000000))",
        "Its packages are larger than",
    ),
    "prints": ("while True: print('x' * 100000)", "printed more than 64 MB"),
    "one_file": ("open('f', 'wb').write(bytes(99000000))", "Its packages are larger than"),
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


@pytest.mark.parametrize("kind", in_round(["eats", "forges", "writes"], list(HOSTILE)))
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


@pytest.mark.long_round
def test_a_build_that_does_not_end_is_ended(start: StartRuntime) -> None:
    runtime = start(PIP_NO_INDEX="1", KGRID_PYTHON_INSTALL_TIMEOUT="2")
    runtime.publish("pkg/loops/v1.0", self_building("bmi", "import time\nwhile True: time.sleep(1)"))
    assert try_package(runtime, "pkg/loops/v1.0").description == "Building the package passed the limit of 2 s"
    assert not left_in(runtime.cache)
    assert not builders(runtime.cache)
