"""Finds the functions of a knowledge object."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path

from kgrid_python_runtime.worker.failure import Failure

Function = Callable[[object], object]


class Loader:
    def __init__(self, root: Path, entry_folder: str, dependencies: str | None) -> None:
        self._root = root
        self._lock = threading.RLock()
        self._functions: dict[bytes, Function] = {}
        # As when a script is run: its own folder comes before the standard library. Dependencies come last.
        beside = str(root / entry_folder) if entry_folder else str(root)
        sys.path[:0] = list(dict.fromkeys([beside, str(root)]))
        if dependencies is not None:
            import site  # noqa: PLC0415

            site.addsitedir(dependencies)

    def forget_shadowed(self, started_with: set[str]) -> None:
        """Drops modules that only the worker itself imported, where the knowledge object has one of the same name."""
        for folder in sys.path[:2]:
            for path in Path(folder).glob("*.py"):
                if path.stem not in started_with and path.stem != "threading":
                    sys.modules.pop(path.stem, None)

    def claim_packages(self) -> None:
        """Makes every top folder with Python files a package.

        Without an `__init__.py` it would lose against any installed module of that name (`code`, `src`, `test`).
        """
        for folder in self._root.iterdir():
            plain = folder.is_dir() and folder.name.isidentifier() and not (folder / "__init__.py").exists()
            if plain and any(folder.rglob("*.py")):
                package = types.ModuleType(folder.name)
                package.__path__ = [str(folder)]
                sys.modules[folder.name] = package

    def function(self, target: bytes) -> Function:
        """The function of the target `<entry>\\0<function>`, loaded once. Raises whatever its module raises."""
        found = self._functions.get(target)
        if found is None:
            with self._lock:
                found = self._functions[target] = self._load(*target.decode().split("\0"))
        return found

    def _load(self, entry: str, name: str) -> Function:
        value: object = self._module(entry)
        for part in name.split("."):
            if not hasattr(value, part):
                raise Failure(500, "AttributeError", f"Function {name} is not defined in {entry}")
            value = getattr(value, part)
        if not callable(value):
            raise Failure(500, "TypeError", f"{name} in {entry} is not a function")
        return value

    def _module(self, entry: str) -> types.ModuleType:
        if not (self._root / entry).is_file():
            raise Failure(500, "FileNotFoundError", f"There is no artifact {entry}")
        parts = entry[: -len(".py")].split("/") if entry.endswith(".py") else [entry]
        if all(part and "." not in part for part in parts):
            return importlib.import_module(".".join(parts))
        return self._module_by_path(entry)

    def _module_by_path(self, entry: str) -> types.ModuleType:
        """For files that no import statement could name."""
        name = "entry_" + "".join(letter if letter.isalnum() else "_" for letter in entry)
        if name in sys.modules:
            return sys.modules[name]
        loader = importlib.machinery.SourceFileLoader(name, str(self._root / entry))
        spec = importlib.util.spec_from_loader(name, loader)
        if spec is None:
            raise Failure(500, "ImportError", f"Cannot load {entry}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        return module
