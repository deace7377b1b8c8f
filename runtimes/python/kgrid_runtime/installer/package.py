"""The knowledge object for which is installed, and the module of the package that it may be."""

from __future__ import annotations

import keyword
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kgrid_runtime.installer.failures import Failure

_OWN = {"kgrid_python_runtime", "kgrid_runtime"}


@dataclass(frozen=True)
class Package:
    ko: str
    """<naan>/<name>/<version>"""
    key: str
    """Digest of its files."""
    root: Path
    requirements: Path | None
    hosts: Mapping[str, object]
    """From which packages may be fetched beside the indexes: `any` public one, and `hosts` with their ports."""


def module_of(value: Mapping[str, object]) -> str:
    """The module to import, such as `bmi.api`, which `package`, `module` or both name. Raises Failure."""
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
    return module


def _standard_modules() -> frozenset[str]:
    found = getattr(sys, "stdlib_module_names", None)
    if found is not None:
        return frozenset(found)
    # Before Python 3.10.
    files = {file.name.partition(".")[0] for file in Path(os.__file__).parent.iterdir()} - {"site-packages"}
    return frozenset({*files, *sys.builtin_module_names})
