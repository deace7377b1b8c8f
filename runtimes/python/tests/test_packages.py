"""Knowledge objects that are installable packages: `package`, `module` and `function` name what is called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import StartRuntime
from tests.harness.packages import add_package, left_in, make_backend, package_files, try_package
from tests.harness.patience import in_round
from tests.harness.runtime import Runtime
from tests.harness.wheels import make_wheel

TELL = "import lib\ndef run(value):\n    return [lib.version, value]\n"
ECHO = "def run(value):\n    return value\n"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    make_backend(folder)
    make_wheel(folder, "lib", "1.0", {"lib.py": "version = '1.0'\n"})
    make_wheel(folder, "lib", "2.0", {"lib.py": "version = '2.0'\n"})
    make_wheel(folder, "old_lib", "1.0", {"old_lib.py": ""}, "lib<2")
    return folder


@pytest.fixture(scope="module")
def settings(wheels: Path) -> dict[str, str]:
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}


@pytest.mark.long_round
def test_what_is_cached_starts_again_without_index_and_without_building(start: StartRuntime, wheels: Path) -> None:
    runtime = start(PIP_NO_INDEX="1", PIP_FIND_LINKS=str(wheels))
    files = package_files("bmi", TELL, "service/", requires=["lib"])
    add_package(runtime, "pkg/warm/v1.0", files, folder="service/", checksum="1")
    runtime.close()
    again = start(PIP_NO_INDEX="1", PIP_FIND_LINKS="/nonexistent")
    answer = try_package(again, "pkg/warm/v1.0", folder="service/", checksum="1")
    assert again.call(f"/{answer.json['uri']}", 1).result == ["2.0", 1]
    # Another version of the knowledge object with the same package is installed already.
    path = add_package(again, "pkg/warm/v2.0", {**files, "README.md": "new"}, folder="service/", checksum="2")
    assert again.call(path, 2).result == ["2.0", 2]


def test_a_package_is_built_with_its_backend_and_called_with_the_version_of_what_it_requires(runtime: Runtime) -> None:
    paths = [
        add_package(
            runtime,
            f"pkg/v{version}/v1.0",
            package_files("bmi", TELL, requires=[f"lib=={version}", "absent; extra == 'cli'"]),
        )
        for version in ("2.0", "1.0")[in_round(1, 0) :]
    ]
    height = {"height": 1.8}
    assert [runtime.call(path, height).result for path in paths] == [["2.0", height], ["1.0", height]][in_round(1, 0) :]


# A package of many modules, built once for all tests.
MODULES = {
    **package_files("deep", "def run(value):\n    return 1 / value\n"),
    "deep/inner/__init__.py": "",
    "deep/inner/calc.py": "import pathlib\ndef run(value):\n    beside = pathlib.Path(__file__).parents[2]\n"
    "    return (beside / 'metadata.json').read_text()\n",
    "deep/lacks.py": "import lib\n",
    "deep/raises.py": "import json\nraise ValueError(json.__file__)\n",
    "single.py": "class Tools:\n    @staticmethod\n    def run(value):\n        return 'alone'\n",
    "metadata.json": "{}",
}


@pytest.mark.long_round
def test_modules_may_have_dots_or_stand_alone_and_resources_lie_in_the_package(runtime: Runtime) -> None:
    runtime.publish("pkg/deep/v1.0", MODULES)
    dotted = try_package(runtime, "pkg/deep/v1.0", "deep", module="inner.calc")
    alone = try_package(
        runtime, "pkg/deep/v1.0", "deep", endpoint="alone", package="", module="single", function="Tools.run"
    )
    assert [runtime.call(f"/{each.json['uri']}", None).result for each in (dotted, alone)] == ["{}", "alone"]


def test_an_exception_names_its_place_in_the_package(runtime: Runtime) -> None:
    answer = runtime.call(add_package(runtime, "pkg/place/v1.0", MODULES, "deep"), 0)
    assert answer.json["place"] == {"file": "deep/api.py", "line": 2}
    assert answer.description == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"function": "walk"}, "Function walk is not defined in deep.api"),
        ({"module": "web"}, "ModuleNotFoundError: No module named 'deep.web'"),
        ({"module": "lacks"}, "the package lib is not installed; add it to the dependencies of the package"),
        ({"module": "raises"}, "(deep/raises.py line 2)"),
    ],
)
def test_a_package_that_has_no_such_function_says_so(runtime: Runtime, more: dict[str, Any], said: str) -> None:
    runtime.publish("pkg/load/v1.0", MODULES)
    answer = try_package(runtime, "pkg/load/v1.0", "deep", **more)
    assert answer.status == 500
    assert said in answer.description


@pytest.mark.long_round
def test_requirements_beside_the_package_are_installed_too(runtime: Runtime) -> None:
    files = package_files("bmi", TELL)
    path = add_package(runtime, "pkg/reqs/v1.0", {**files, "requirements.txt": "lib==1.0\n"})
    assert runtime.call(path, None).result[0] == "1.0"
    # Where the package itself says what it requires, a list that cannot be met is only a line of the log.
    files = package_files("bmi", TELL, requires=["lib"])
    path = add_package(runtime, "pkg/extra/v1.0", {**files, "requirements.txt": "-e .\nno-such-tool\n"})
    assert runtime.call(path, None).result[0] == "2.0"
    assert any("without its requirements.txt" in line.get("text", "") for line in runtime.logged)


@pytest.mark.long_round
def test_a_wheel_in_dist_is_taken_where_the_sources_cannot_be_built(runtime: Runtime, tmp_path: Path) -> None:
    for version in ("1.9", "1.10"):
        make_wheel(tmp_path, "bmi", version, {"bmi/__init__.py": "", "bmi/api.py": f"def run(v): return '{version}'\n"})
    for ko, files in {
        "pkg/broken/v1.0": package_files("bmi", "", script="1 / 0"),
        **in_round({}, {"pkg/wheel/v1.0": {"README.md": ""}}),
    }.items():
        runtime.publish(ko, files)
        for file in tmp_path.glob("*.whl"):
            runtime.activator.files[f"{ko}/dist/{file.name}"] = file.read_bytes()
        answer = try_package(runtime, ko, entry="README.md" if "README.md" in files else "pyproject.toml")
        assert answer.status == 200, answer.text
        assert runtime.call(f"/{answer.json['uri']}", None).result == "1.10"


@pytest.mark.parametrize(
    ("files", "more", "said"),
    [
        (
            {"README.md": ""},
            {"entry": "README.md"},
            "Building the package failed: there is no pyproject.toml, setup.py",
        ),
        ({"pyproject.toml": "[project"}, {}, "Building the package failed: pyproject.toml cannot be read: "),
        (
            {"pyproject.toml": '[tool.poetry]\nname = "bmi"\n[tool.poetry.dependencies]\nlib = "^2"\n'},
            {},
            "Building the package failed: pyproject.toml names no build backend: add a [build-system]",
        ),
        (
            {"pyproject.toml": '[build-system]\nrequires = ["no-such-backend"]\nbuild-backend = "no"\n'},
            {},
            "Fetching the build backend failed: Could not find a version that satisfies the requirement no-such-",
        ),
        (
            {"pyproject.toml": '[build-system]\nrequires = ["tinybuild"]\nbuild-backend = "other.api"\n'},
            {},
            "Building the package failed: its build backend other.api cannot be loaded: No module named 'other'",
        ),
        (
            {"pyproject.toml": '[build-system]\nrequires = ["--index-url=http://x/"]\nbuild-backend = "no"\n'},
            {},
            "Building the package failed: '--index-url=http://x/' is no requirement",
        ),
        (
            {"pyproject.toml": '[project]\nname = "bmi"\nrequires-python = ">=3.99"\n'},
            {},
            "Building the package failed: it requires Python >=3.99, and here is Python 3.",
        ),
        *in_round(
            [],
            [
                (
                    package_files("bmi", ECHO, python=">=3.99"),
                    {},
                    "Installing the package failed: Package 'bmi' requires a different Python: ",
                ),
                (
                    package_files("bmi", ECHO, requires=["old-lib", "lib>=2"]),
                    {},
                    "Installing dependencies failed: Cannot install lib>=2 and old-lib==1.0 because these package "
                    "versions have conflicting dependencies; The user requested lib>=2; old-lib 1.0 depends on lib<2",
                ),
                (
                    package_files("bmi", ECHO, buildRequires=["nowhere"]),
                    {},
                    "No matching distribution found for nowhere",
                ),
            ],
        ),
        (
            package_files("bmi", ECHO, script="raise ValueError('bad')"),
            {},
            "Building the package failed: ValueError: bad",
        ),
    ],
)
def test_a_package_that_cannot_be_installed_says_why_and_leaves_nothing(
    runtime: Runtime, files: dict[str, str], more: dict[str, Any], said: str
) -> None:
    before = left_in(runtime.cache)
    runtime.activator.files = {}
    runtime.publish("pkg/bad/v1.0", files)
    answer = try_package(runtime, "pkg/bad/v1.0", **more)
    assert answer.status == 500
    assert said in answer.description
    assert str(runtime.cache) not in answer.text
    assert left_in(runtime.cache) == before


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"package": "json"}, "The package json has the name of a module of the standard library"),
        (
            {"package": "kgrid_python_runtime"},
            "The package kgrid_python_runtime has the name of a module of the runtime",
        ),
        ({"package": "a-b"}, "The package 'a-b' is no name that Python could import"),
        ({"module": "../x"}, "The module '../x' is no name that Python could import"),
        ({"folder": "../x"}, "not a path of an artifact"),
    ],
)
def test_names_that_cannot_be_imported_are_refused(runtime: Runtime, named: dict[str, Any], said: str) -> None:
    runtime.publish("pkg/names/v1.0", package_files("bmi", ECHO))
    answer = try_package(runtime, "pkg/names/v1.0", **named)
    assert answer.status in (400, 500)
    assert said in answer.description


@pytest.mark.long_round
def test_the_index_that_cannot_be_reached_is_named_as_the_cause_without_its_password(start: StartRuntime) -> None:
    runtime = start(
        PIP_INDEX_URL="http://user:secret%2Fword@127.0.0.1:9/simple", PIP_RETRIES="1", PIP_CONFIG_FILE="/dev/null"
    )
    runtime.publish("pkg/offline/v1.0", package_files("bmi", ECHO))
    answer = try_package(runtime, "pkg/offline/v1.0")
    assert "failed: the package index cannot be reached (" in answer.description
    assert "refused" in answer.description
    assert "secret" not in answer.text


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("-r /etc/passwd", "names a file outside of the knowledge object"),
        ("--requirement=../../other.txt", "names a file outside of the knowledge object"),
        ("-r more.txt", "names a file outside of the knowledge object"),
        ("lib @ file:///tmp/lib.whl", "names a file outside of the knowledge object"),
        ("--index-url http://user:pass@${PIP_INDEX_URL}/", "uses a variable of the environment"),
    ],
)
def test_requirements_read_nothing_of_the_host(runtime: Runtime, line: str, why: str) -> None:
    files = {"src/main.py": "def main(v): pass", "requirements.txt": f"lib ~= 1.0  # /x\n{line}\n"}
    runtime.publish("pkg/lines/v1.0", {**files, "more.txt": "-c ~/x\n"})
    answer = runtime.try_activate("pkg/lines/v1.0")
    assert why in answer.description
    assert "pass@" not in answer.description
