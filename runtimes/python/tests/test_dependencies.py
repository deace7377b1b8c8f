from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import StartRuntime
from tests.harness.patience import promised, wait_until
from tests.harness.runtime import Runtime, is_alive
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


def test_what_is_required_is_installed_for_each_knowledge_object_and_there_at_the_next_start(
    start: StartRuntime, wheels: Path
) -> None:
    runtime = start(PIP_NO_INDEX="1", PIP_FIND_LINKS=str(wheels))
    # The requirements of what is required are installed too.
    runtime.publish("deps/one/v1.0", {"src/main.py": USE, "src/requirements.txt": "needs-lib\n"})
    runtime.publish("deps/two/v1.0", {"src/main.py": USE, "requirements.txt": "# the newest\nlib\n"})
    kos = ("deps/one/v1.0", "deps/two/v1.0")
    versions = [["1.0", True], ["2.0", True]]
    assert [runtime.call(runtime.activate(ko), None).result for ko in kos] == versions
    # One that requires neither has neither.
    runtime.publish("deps/none/v1.0", {"src/main.py": USE})
    assert "No module named 'lib'" in runtime.try_activate("deps/none/v1.0").description
    runtime.close()
    again = start(PIP_NO_INDEX="1", PIP_FIND_LINKS="/nonexistent")
    assert [again.call(again.activate(ko), None).result for ko in kos] == versions


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


def make_slow_source(folder: Path) -> dict[str, str]:
    """Files of a package that is built when there is `go` in the folder; `pid` there names the builder."""
    backend = f"""
import os, time, zipfile
from pathlib import Path
def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    Path({str(folder / "pid")!r}).write_text(str(os.getpid()))
    while not Path({str(folder / "go")!r}).exists():
        time.sleep(0.05)
    with zipfile.ZipFile(Path(wheel_directory) / "slow-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("slow.py", "x = 1")
        wheel.writestr("slow-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: slow\\nVersion: 1.0\\n")
        wheel.writestr("slow-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("slow-1.0.dist-info/RECORD", "")
    return "slow-1.0-py3-none-any.whl"
"""
    folder.mkdir()
    project = (
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        '[project]\nname = "slow"\nversion = "1.0"\n'
    )
    return {
        "parts/slow/backend.py": backend,
        "parts/slow/pyproject.toml": project,
        "requirements.txt": "./parts/slow\n",
    }


@pytest.mark.long_round
def test_a_long_installation_is_reported_as_in_processing_until_it_ends(start: StartRuntime, tmp_path: Path) -> None:
    patient = start(PIP_NO_INDEX="1", KGRID_PYTHON_ALLOW_SOURCE_BUILDS="deps/slow,deps/late")
    impatient = start(PIP_NO_INDEX="1", KGRID_PYTHON_ALLOW_SOURCE_BUILDS="deps/late", KGRID_PYTHON_INSTALL_TIMEOUT="6")
    source = "import slow\ndef main(value):\n    return slow.x\n"
    for name in ("slow", "late"):
        patient.publish(f"deps/{name}/v1.0", {"src/main.py": source, **make_slow_source(tmp_path / name)})
    quick = patient.add("deps/quick/v1.0", "def main(value):\n    return 1\n")
    late = patient.run_later(lambda: impatient.ask_to_activate("deps/late/v1.0"))
    slow = patient.ask_to_activate("deps/slow/v1.0")
    assert patient.call(quick, None).result == 1
    for first in (slow, late.result()):
        assert first.status == 503
        assert first.json["status"] == "Endpoint is in processing, try again later."
        assert first.json["description"] == "installing dependencies: slow"
        assert first.headers["retry-after"] == "1"
        assert 4.5 < first.seconds < promised(7)
    # Asking again goes on waiting for the same installation.
    (tmp_path / "slow" / "go").touch()
    assert patient.call(patient.activate("deps/slow/v1.0"), None).result == 1
    # Nobody asks while this one ends; the next who does is told.
    builder = tmp_path / "late" / "pid"
    wait_until(lambda: builder.exists() and not is_alive(int(builder.read_text())))
    told = impatient.try_activate("deps/late/v1.0")
    assert told.description == "Installing dependencies passed the limit of 6 s"
    assert told.seconds < promised(2)
