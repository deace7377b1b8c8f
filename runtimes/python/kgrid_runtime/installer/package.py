"""The knowledge object for which is installed, and the package that it may be."""

from __future__ import annotations

import keyword
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kgrid_runtime.installer.failures import Failure

_OWN = {"kgrid_python_runtime", "kgrid_runtime"}


@dataclass(frozen=True)
class PythonPackage:
    """What to import of a knowledge object that is an installable package."""

    folder: str
    """Of the package; empty for the knowledge object's root."""
    module: str
    """With the package, such as `bmi.api`."""


@dataclass(frozen=True)
class Package:
    ko: str
    """<naan>/<name>/<version>"""
    key: str
    root: Path
    requirements: Path | None
    digests: Mapping[str, str]
    """Of its files, by path from the root, where it is a package."""
    hosts: Mapping[str, object] = field(default_factory=dict)
    """From which packages may be fetched beside the indexes: `any` public one, and `hosts` with their ports."""

    def digests_in(self, folder: str) -> dict[str, str]:
        """Of each file in a folder, by path from there; the empty folder is the root."""
        start = f"{folder}/" if folder else ""
        return {path[len(start) :]: digest for path, digest in self.digests.items() if path.startswith(start)}


def read_package(value: Mapping[str, object]) -> PythonPackage:
    """`package`, `module` or both say what to import of `folder`. Raises Failure."""
    named = [(key, str(value[key])) for key in ("package", "module") if value.get(key)]
    if not named:
        raise Failure("package or module must be a text")
    for key, name in named:
        if len(name) > 500 or not all(part.isidentifier() and not keyword.iskeyword(part) for part in name.split(".")):
            raise Failure(f"The {key} {name[:100]!r} is no name that Python could import")
    module = ".".join(name for _, name in named)
    top = module.partition(".")[0]
    if top in _standard_modules() or top in _OWN:
        raise Failure(
            f"The package {top} has the name of a module of {'the runtime' if top in _OWN else 'the standard library'},"
            " which would be imported in its place; give it another name"
        )
    return PythonPackage(_folder(value["folder"]), module)


def _standard_modules() -> frozenset[str]:
    found = getattr(sys, "stdlib_module_names", None)
    if found is not None:
        return frozenset(found)
    # Before Python 3.10.
    files = {file.name.partition(".")[0] for file in Path(os.__file__).parent.iterdir()} - {"site-packages"}
    return frozenset({*files, *sys.builtin_module_names})


def _folder(path: object) -> str:
    """A relative path that stays in its folder; empty for that itself."""
    if path == "":
        return ""
    path = str(path).removeprefix("./") if isinstance(path, str) else ".."
    bad = any(part in ("", ".", "..") or len(part.encode()) > 255 for part in path.split("/"))
    if bad or "\\" in path or "\0" in path or len(path) > 1024:
        raise Failure(f"folder {path[:100]} is not a path within the knowledge object")
    return path
