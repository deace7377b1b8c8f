"""Knowledge objects that are installable packages, a build backend for them, and how they are activated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.harness.runtime import Answer, Runtime
from tests.harness.wheels import make_wheel

# Reads tiny.json: name, version, requires, buildRequires, python, script (run when it builds).
_BACKEND = """
import base64, hashlib, json, zipfile
from pathlib import Path

def get_requires_for_build_wheel(config_settings=None):
    return json.loads(Path("tiny.json").read_text()).get("buildRequires", [])

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    project = json.loads(Path("tiny.json").read_text())
    exec(project.get("script", ""), {})
    info = f"{project['name']}-1.0.dist-info"
    lines = [f"Requires-Dist: {line}" for line in project.get("requires", [])]
    lines += [f"Requires-Python: {project['python']}"] if "python" in project else []
    head = ["Metadata-Version: 2.1", f"Name: {project['name']}", "Version: 1.0", *lines]
    files = {str(file): file.read_text() for file in Path(".").glob("**/*.py") if file.name != "setup.py"}
    files[f"{info}/METADATA"] = "\\n".join(head) + "\\n\\n"
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\\nGenerator: tiny\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
    name = f"{project['name']}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory, name), "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
        wheel.writestr(f"{info}/RECORD", "".join(f"{path},,\\n" for path in [*files, f"{info}/RECORD"]))
    return name
"""


def make_backend(folder: Path, name: str = "tinybuild") -> None:
    """A wheel of a build backend of that name."""
    make_wheel(folder, name, "1.0", {f"{name}.py": _BACKEND})


def self_building(name: str, script: str) -> dict[str, str]:
    """Files of a package that brings its build backend, which runs the script."""
    return {
        **package_files(name, "def run(value):\n    return value\n", script=script),
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "tinybuild"\nbackend-path = ["."]\n',
        "tinybuild.py": _BACKEND,
    }


def package_files(name: str, code: str, folder: str = "", **project: object) -> dict[str, str]:
    """Files of a package with the module `api`, built by `tinybuild`; `project` goes to tiny.json."""
    return {
        f"{folder}pyproject.toml": '[build-system]\nrequires = ["tinybuild"]\nbuild-backend = "tinybuild"\n',
        f"{folder}tiny.json": json.dumps({"name": name, **project}),
        f"{folder}{name}/__init__.py": "",
        f"{folder}{name}/api.py": code,
    }


def try_package(runtime: Runtime, ko: str, name: str = "bmi", folder: str = "", **more: Any) -> Answer:
    entry = next(
        (
            f"{folder}{file}"
            for file in ("pyproject.toml", "setup.py")
            if f"{ko}/{folder}{file}" in runtime.activator.files
        ),
        f"{folder}{name}/api.py",
    )
    named: dict[str, Any] = {
        "entry": entry,
        "folder": folder.rstrip("/"),
        "package": name,
        "module": "api",
        "function": "run",
        **more,
    }
    return runtime.try_activate(ko, **named)


def add_package(runtime: Runtime, ko: str, files: dict[str, str], name: str = "bmi", **more: Any) -> str:
    runtime.publish(ko, files)
    answer = try_package(runtime, ko, name, **more)
    assert answer.status == 200, answer.text
    return f"/{answer.json['uri']}"


def left_in(cache: Path) -> set[Path]:
    """Without what several packages have in common, which is installed as a whole."""
    return set((cache / "installing").glob("*"))
