"""The endpoints of the knowledge object in this worker, by the numbers that frames name them by."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable

from kgrid_python_runtime.worker.failure import Describer, Failure
from kgrid_python_runtime.worker.loader import Functions, Loader, PackageLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Endpoints:
    def __init__(self, scratch: str, home: str, basics: set[str]) -> None:
        """`scratch`: the worker's folder for temporary files, `home`: that of the runtime.

        `basics`: modules that the interpreter itself needs.
        """
        self._hidden = {scratch: "", sys.prefix: "python", sys.base_prefix: "python", home: "runtime"}
        self._basics = basics
        self._code: tuple[object, ...] | None = None
        self._loader: Functions | None = None
        self._targets: dict[int, tuple[str, str | None] | None] = {}
        self._found: dict[int, Callable[[object], object]] = {}
        self.describer = Describer("", self._hidden)

    def define(self, index: int, text: bytes) -> None:
        """`text`: JSON `{file, root, function, entryFolder, installed, ownPackage, module, listsExports}`.

        All paths are absolute. `entryFolder`: folder of the entry file, relative to the root.
        `installed`: folders with packages.
        `ownPackage`: name of the knowledge object's own package there, or null; then `module` counts, and not `file`.
        `listsExports`: no function of the module is wanted, but one that lists those that it exports.
        """
        said = json.loads(text)
        root, file, own_package = said["root"], said["file"], said.get("ownPackage")
        code = (root, said.get("entryFolder", ""), tuple(said.get("installed", ())), own_package)
        if self._code is None:
            self._begin(*code)
            self._code = code
        self._found.pop(index, None)
        # What imports find depends on them, so that others would be found by the wrong code.
        entry = said["module"] if own_package is not None else os.path.relpath(file, root)
        function = None if said.get("listsExports") else said["function"]
        self._targets[index] = (entry, function) if code == self._code else None

    def function(self, index: int) -> Callable[[object], object]:
        """Raises whatever its module raises."""
        found = self._found.get(index)
        if found is None:
            target = self._targets.get(index)
            if target is None or self._loader is None:
                raise Failure("LookupError", "The endpoint belongs to another worker")
            entry, name = target
            found = self._loader.lister(entry) if name is None else self._loader.function(entry, name)
            self._found[index] = found
        return found

    def _begin(self, root: str, entry_folder: str, installed: tuple[str, ...], own_package: Any) -> None:
        os.chdir(root)
        hidden = {**self._hidden, **dict.fromkeys(installed, "dependencies")}
        if own_package is None:
            self._loader = Loader(root, entry_folder, list(installed), self._basics)
            self.describer = Describer(root, hidden, entry_folder)
        else:
            self._loader = PackageLoader(list(installed))
            hidden[root] = ""
            self.describer = Describer(installed[0], hidden, own_package, "the dependencies of the package")
        # One line of the log, like the exception of a call, and not one for each frame.
        threading.excepthook = lambda failed: self.describer.log(failed.exc_value)
