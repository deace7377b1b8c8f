"""What a caller gets to read about an exception: one line, without paths of the host."""

from __future__ import annotations

import json
import traceback

from kgrid_python_runtime.context import ExecutionError

_LONGEST = 2000
_SAID_BY_ACTIVATOR = "Code execution error: "


class Failure(Exception):
    """An error with a text of ours."""

    def __init__(self, status: int, name: str, description: str) -> None:
        super().__init__(description)
        self.status = status
        self.name = name


class Describer:
    def __init__(self, root: str, hidden: dict[str, str]) -> None:
        """`root` is the knowledge object's folder; `hidden` maps further folders to what is said instead."""
        self._root = root + "/"
        folders = {**hidden, root: ""}
        self._hidden = sorted(folders.items(), key=lambda pair: -len(pair[0]))

    def describe(self, error: BaseException, loading: bool = False) -> bytes:
        """A FAILURE payload: `status`, `name`, `description`, and `retire` when the worker should not go on."""
        if isinstance(error, Failure):
            status, name, text = error.status, error.name, str(error)
        else:
            status, name = 500, type(error).__name__
            text = self.one_line(error, loading)
            if isinstance(error, ExecutionError):
                # What the other endpoint said, and not who passed it on: such calls may nest 16 deep.
                text = text.replace(f"{name}: ", "", 1).replace(_SAID_BY_ACTIVATOR, "", 1)
        retire = isinstance(error, MemoryError)
        return json.dumps({"status": status, "name": name, "description": text, "retire": retire}).encode()

    def one_line(self, error: BaseException, loading: bool) -> str:
        name = type(error).__name__
        if isinstance(error, SyntaxError) and error.filename and error.lineno:
            message, place = error.msg, f" ({error.filename}, line {error.lineno})"
        else:
            message, place = _message(error), self._place(error) if loading else ""
        text = " ".join((f"{name}: {message}" if message else name).split())
        if len(text) > _LONGEST:
            text = text[:_LONGEST] + "…"
        return self._without_host(text + place)

    def _place(self, error: BaseException) -> str:
        """The last line of the knowledge object's own code that took part."""
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            if frame.filename.startswith(self._root):
                return f" ({frame.filename}, line {frame.lineno})"
        return ""

    def _without_host(self, text: str) -> str:
        for folder, instead in self._hidden:
            text = text.replace(folder + "/", instead + "/" if instead else "").replace(folder, instead or ".")
        return text


def _message(error: BaseException) -> str:
    try:
        if isinstance(error, MemoryError) and not error.args:
            return "the knowledge object passed its memory limit"
        return str(error)
    except BaseException:
        return "(an exception without a readable message)"
