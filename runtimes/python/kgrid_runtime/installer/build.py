"""Builds the wheel of a package without network: `python -I -S build.py <request as JSON>`.

The request: `parent` (process id of the runtime), `source` (a copy of the package), `environment` (folder with the
build backend, or null), `last` (true: what is not there by now will not come), `work` (a folder that takes the wheel,
temporary files and `outcome.json`), `memory` and `file` (limits in bytes), `seconds`.

The outcome is one of `{"needs": [requirement…]}`, `{"wheel": name}` and `{"failure": sentence}`.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import select
import sys
import traceback
from pathlib import Path
from typing import Any

_LARGEST_PROJECT = 1_000_000
_SETUP_FILES = ("setup.py", "setup.cfg")
# What PEP 517 and 518 say of projects that name no backend.
_STANDARD_BACKEND = "setuptools.build_meta:__legacy__"
_STANDARD_REQUIRES = ["setuptools>=40.8.0"]


class Refused(Exception):
    """One sentence."""


def main() -> None:
    request = json.loads(sys.argv[1])
    home = str(Path(__file__).resolve().parent.parent.parent)
    sys.path.insert(0, home)
    from kgrid_python_runtime.worker import confine  # noqa: PLC0415
    from kgrid_runtime.installer import walls  # noqa: PLC0415

    sys.path.remove(home)
    confine.be_first_to_go()
    confine.drop_privileges()
    confine.die_with_parent(request["parent"])
    confine.stay_unreadable()
    walls.leave_network_and_processes()
    confine.drop_privileges()
    alive, lives = os.pipe()
    child = os.fork()
    if child == 0:
        # With the first process of its kind the kernel ends all others.
        confine.die_with_parent(os.getppid())
        # Its parent may have ended before, which the number of that does not tell here.
        os.close(lives)
        if select.select([alive], [], [], 0)[0]:
            os._exit(1)
        os.close(alive)
        confine.limit_memory(request["memory"], request["memory"])
        walls.write_only_below([request["work"]])
        _limit(request["file"], request["seconds"])
        _write(request, _outcome(request))
        sys.stdout.flush()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    os._exit(0 if status == 0 else 1)


def _limit(file: int, seconds: int) -> None:
    import resource  # noqa: PLC0415

    for limit, value in ((resource.RLIMIT_FSIZE, file), (resource.RLIMIT_CPU, seconds)):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (value, value))


def _outcome(request: dict[str, Any]) -> dict[str, object]:
    try:
        return _build(request)
    except Refused as refused:
        return {"failure": str(refused)}
    except MemoryError:
        return {"failure": "it passed its memory limit"}
    except BaseException as error:
        with contextlib.suppress(BaseException):
            traceback.print_exc()
        return {"failure": f"{type(error).__name__}: {error}"}


def _build(request: dict[str, Any]) -> dict[str, object]:
    os.chdir(request["source"])
    requires, backend_name, backend_path = _build_system()
    if request["environment"] is None and requires:
        return {"needs": requires}
    sys.path[:0] = [str(Path(request["source"], path)) for path in backend_path]
    if request["environment"] is not None:
        import site  # noqa: PLC0415

        site.addsitedir(request["environment"])
    sys.argv = [""]
    backend = _backend(backend_name)
    more = backend.get_requires_for_build_wheel({}) if hasattr(backend, "get_requires_for_build_wheel") else []
    missing = [str(each) for each in more if not _is_there(str(each), request["environment"])]
    if missing and not request["last"]:
        return {"needs": [*requires, *missing]}
    wheels = Path(request["work"], "wheel")
    wheels.mkdir()
    return {"wheel": str(backend.build_wheel(str(wheels), {}))}


def _build_system() -> tuple[list[str], str, list[str]]:
    """What is required to build, the backend, and where in the package it lies."""
    if not Path("pyproject.toml").exists():
        if not any(Path(name).exists() for name in _SETUP_FILES):
            raise Refused("there is no pyproject.toml, setup.py or setup.cfg")
        return _STANDARD_REQUIRES, _STANDARD_BACKEND, []
    with Path("pyproject.toml").open("rb") as file:
        content = file.read(_LARGEST_PROJECT + 1)
    if len(content) > _LARGEST_PROJECT:
        raise Refused(f"pyproject.toml is larger than {_LARGEST_PROJECT} bytes")
    try:
        project = _toml().loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise Refused(f"pyproject.toml cannot be read: {error}") from None
    _check_python(project.get("project", {}))
    # Setuptools, which stands for a missing backend, would leave out what such a project says, as its dependencies.
    if not {"build-system", "project"} & project.keys() and not any(Path(name).exists() for name in _SETUP_FILES):
        raise Refused("pyproject.toml names no build backend: add a [build-system] with requires and build-backend")
    system = project.get("build-system", {})
    if not isinstance(system, dict):
        raise Refused("build-system in pyproject.toml is no table")
    requires = system.get("requires", [] if "build-backend" in system else _STANDARD_REQUIRES)
    path = system.get("backend-path", [])
    backend = system.get("build-backend", _STANDARD_BACKEND)
    if not _is_list_of_text(requires) or not _is_list_of_text(path) or not isinstance(backend, str):
        raise Refused("build-system in pyproject.toml must have lists of texts as requires and backend-path")
    if any(part in ("", "..") for folder in path for part in folder.split("/")):
        raise Refused("backend-path in pyproject.toml leaves the package")
    return requires, backend, path


def _check_python(project: object) -> None:
    """Before anything is fetched or built; pip looks again at what was built."""
    wanted = project.get("requires-python") if isinstance(project, dict) else None
    specifiers = _import_of_system("pip._vendor.packaging.specifiers")
    if isinstance(wanted, str) and specifiers is not None:
        have = sys.version.split()[0]
        try:
            fits = specifiers.SpecifierSet(wanted).contains(have.rstrip("+"), prereleases=True)
        except ValueError:
            raise Refused(f"requires-python in pyproject.toml is no version: {wanted}") from None
        if not fits:
            raise Refused(f"it requires Python {wanted}, and here is Python {have}")


def _is_list_of_text(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _toml() -> Any:
    for name in ("tomllib", "tomli", "pip._vendor.tomli"):
        found = _import_of_system(name)
        if found is not None:
            return found
    raise Refused("this Python cannot read pyproject.toml; install Python 3.11 or newer, or the package tomli")


def _import_of_system(name: str) -> Any:
    """Imports a module of the standard library or of site-packages, which a build does not see otherwise."""
    import site  # noqa: PLC0415

    before = list(sys.path)
    sys.path += site.getsitepackages()
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
    finally:
        sys.path[:] = before


def _backend(name: str) -> Any:
    module, _, attributes = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for attribute in filter(None, attributes.split(".")):
            found = getattr(found, attribute)
    except Exception as error:
        raise Refused(f"its build backend {name} cannot be loaded: {error}") from error
    if not hasattr(found, "build_wheel"):
        raise Refused(f"its build backend {name} has no function build_wheel")
    return found


def _is_there(requirement: str, environment: str | None) -> bool:
    from importlib import metadata  # noqa: PLC0415

    wanted = _canonical(re.split(r"[\s<>=!~;\[(@]", requirement.strip(), maxsplit=1)[0])
    there = metadata.distributions(path=[environment] if environment else [])
    return any(_canonical(each.metadata["Name"] or "") == wanted for each in there)


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _write(request: dict[str, Any], outcome: dict[str, object]) -> None:
    Path(request["work"], "outcome.json").write_text(json.dumps(outcome))


if __name__ == "__main__":
    main()
