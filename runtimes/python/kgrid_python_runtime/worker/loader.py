"""Finds the functions of a knowledge object."""

from __future__ import annotations

import importlib
import os
import sys
import threading
import types
from collections.abc import Callable

from kgrid_python_runtime.worker.failure import Failure

Function = Callable[[object], object]

# What Python loads before a script, so that no script's own module of such a name is ever found; and threading,
# which the interpreter needs at its end.
_ALWAYS_LOADED = {"abc", "codecs", "genericpath", "io", "os", "posixpath", "site", "stat", "threading"}


class Functions:
    """Functions of modules."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def function(self, entry: str, name: str) -> Function:
        """Raises whatever its module raises."""
        with self._lock:
            value: object = self._module(entry)
        for part in name.split("."):
            if not hasattr(value, part):
                raise Failure("AttributeError", f"Function {name} is not defined in {entry}")
            value = getattr(value, part)
        if not callable(value):
            raise Failure("TypeError", f"{name} in {entry} is not a function")
        return value

    def lister(self, entry: str) -> Function:
        """Gives the names of the functions that a module gives to others. Raises whatever the module raises."""
        import inspect  # noqa: PLC0415

        with self._lock:
            module = self._module(entry)
        named = getattr(module, "__all__", None)
        names = [name for name in named if isinstance(name, str)] if named is not None else list(vars(module))
        found = []
        for name in names:
            value = getattr(module, name, None)
            # Caches and other decorators give objects that wrap a function.
            is_function = inspect.isroutine(value) or (callable(value) and hasattr(value, "__wrapped__"))
            is_own = named is not None or getattr(value, "__module__", None) == module.__name__
            if is_function and is_own and not isinstance(value, type):
                found.append(name)
        return lambda _input: found

    def _module(self, entry: str) -> types.ModuleType:
        raise NotImplementedError


class PackageLoader(Functions):
    """Finds the functions of a knowledge object that is an installed package, by the names of its modules."""

    def __init__(self, installed: list[str]) -> None:
        super().__init__()
        _add_installed(installed)

    def _module(self, entry: str) -> types.ModuleType:
        return importlib.import_module(entry)


class Loader(Functions):
    """Finds the functions of a knowledge object that is a folder of files, by the paths of its modules."""

    def __init__(self, root: str, entry_folder: str, installed: list[str], basics: set[str]) -> None:
        """`installed`: folders with packages. `basics`: names of modules that the interpreter itself needs."""
        super().__init__()
        self._root = root
        self._basics = basics | _ALWAYS_LOADED
        # Python runs scripts like this: the script's folder comes before the standard library. Dependencies come last.
        beside = os.path.join(root, entry_folder) if entry_folder else root
        self._folders = list(dict.fromkeys([beside, root]))
        sys.path[:0] = self._folders
        _add_installed(installed)
        self._forget_shadowed()
        self._claim_packages()

    def _forget_shadowed(self) -> None:
        """Drops modules that only the worker itself imported, where the knowledge object has one of the same name."""
        for folder in self._folders:
            for file in os.listdir(folder):
                name, extension = os.path.splitext(file)
                if extension == ".py" and name not in self._basics:
                    sys.modules.pop(name, None)

    def _claim_packages(self) -> None:
        """Makes every top folder with Python files a package.

        Without an `__init__.py` it would lose against any installed module of that name (`code`, `src`, `test`).
        """
        for name in os.listdir(self._root):
            folder = os.path.join(self._root, name)
            if not name.isidentifier() or name in self._basics or os.path.exists(os.path.join(folder, "__init__.py")):
                continue
            if any(file.endswith(".py") for _, _, files in os.walk(folder) for file in files):
                package = types.ModuleType(name)
                package.__path__ = [folder]
                sys.modules[name] = package

    def _module(self, entry: str) -> types.ModuleType:
        if not os.path.isfile(os.path.join(self._root, entry)):
            raise Failure("FileNotFoundError", f"There is no artifact {entry}")
        path, extension = os.path.splitext(entry)
        parts = path.split("/")
        if extension != ".py" or parts[0] in self._basics or any("." in part for part in parts):
            return self._module_by_path(entry)
        return importlib.import_module(".".join(parts))

    def _module_by_path(self, entry: str) -> types.ModuleType:
        """For files that no import statement could name."""
        import importlib.machinery  # noqa: PLC0415
        import importlib.util  # noqa: PLC0415

        name = "entry_" + "".join(letter if letter.isalnum() else "_" for letter in entry)
        if name in sys.modules:
            return sys.modules[name]
        loader = importlib.machinery.SourceFileLoader(name, os.path.join(self._root, entry))
        spec = importlib.util.spec_from_loader(name, loader)
        if spec is None:
            raise Failure("ImportError", f"Cannot load {entry}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        return module


def _add_installed(folders: list[str]) -> None:
    """At the end of the path: nothing there can stand in for a module of the standard library."""
    if folders:
        import site  # noqa: PLC0415

        for folder in folders:
            site.addsitedir(folder)
