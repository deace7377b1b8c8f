"""What a caller gets to read about an exception: one line, without paths of the host."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from kgrid_python_runtime.context import ExecutionError
from kgrid_python_runtime.invalid_input import InvalidInputError
from kgrid_python_runtime.worker.frames import FAILED, INVALID, MEMORY, THROWN, UNLOADED
from kgrid_python_runtime.worker.missing_package import advice

_LONGEST = 2000
_LONGEST_TRACE = 3500
_MOST_FRAMES = 20
_SAID_BY_ACTIVATOR = "Code execution error: "


class Failure(Exception):
    """An error with a text of ours."""

    def __init__(self, name: str, description: str, kind: int = FAILED) -> None:
        """`kind` of the answer: see `frames.py`."""
        super().__init__(description)
        self.name = name
        self.kind = kind


class Describer:
    def __init__(
        self, root: str, hidden: dict[str, str], entry_folder: str = "", listed: str = "requirements.txt"
    ) -> None:
        """`root` is the knowledge object's folder; `hidden` maps further folders to what is said instead.

        `listed`: where its packages are listed.
        """
        self._root = root + "/"
        self._listed = listed
        self._own = [root, self._root + entry_folder]
        folders = {**hidden, root: ""}
        self._hidden = sorted(folders.items(), key=lambda pair: -len(pair[0]))

    def describe(self, error: BaseException, loading: bool = False) -> tuple[int, bytes]:
        """What kind of answer it is, and its text: JSON `{description, name}`.

        `place` is there where the code itself failed, `status` where it says that its input is at fault, and `retire`
        where the worker should get no more calls, since what took the memory may be there for good.
        """
        more: dict[str, object] = {}
        kind = THROWN
        if isinstance(error, Failure):
            kind, name, text = error.kind, error.name, str(error)
        elif isinstance(error, InvalidInputError) and not loading:
            kind, name, text = INVALID, "InvalidInputError", self._cut(_message(error))
            more["status"] = _status(error)
        else:
            place = None if loading else self._place(error)
            if place is not None:
                more["place"] = {"file": place[0], "line": place[1]}
            name = type(error).__name__
            text = self.one_line(error, loading)
            if isinstance(error, ExecutionError):
                # What the other endpoint said, and not who passed it on: such calls may nest 16 deep.
                text = text.replace(f"{name}: ", "", 1).replace(_SAID_BY_ACTIVATOR, "", 1)
        if isinstance(error, MemoryError):
            kind = MEMORY
            more["retire"] = True
        if loading and kind in (THROWN, FAILED, MEMORY):
            kind = UNLOADED
        return kind, json.dumps({"name": name, "description": text, **more}).encode()

    def one_line(self, error: BaseException, loading: bool) -> str:
        name = type(error).__name__
        message = error.msg if isinstance(error, SyntaxError) and error.filename else _message(error)
        text = self._cut(f"{name}: {message}" if message else name) + advice(error, self._own, self._listed)
        place = self._place(error) if loading else None
        return text if place is None else f"{text} ({place[0]} line {place[1]})"

    def log(self, error: BaseException | None, ours: str = "") -> None:
        """To the knowledge object's log. `ours`: a file whose frames are left out."""
        try:
            if error is not None:
                sys.stderr.write(self._trace(error, ours) + "\n")
        except BaseException:
            pass

    def _trace(self, error: BaseException, ours: str) -> str:
        """The traceback on one line, from the outermost frame; no message, which may hold what a caller sent."""
        lines = [f"{place[0]} line {place[1]} in {name}" for place, name in self._frames(error, ours)][-_MOST_FRAMES:]
        text = " > ".join([*lines, type(error).__name__])
        cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if cause is not None:
            text = f"{text} | after {type(cause).__name__}"
        return text if len(text) <= _LONGEST_TRACE else text[:_LONGEST_TRACE] + "…"

    def _frames(self, error: BaseException, ours: str) -> Iterator[tuple[tuple[str, int], str]]:
        trace = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            if code.co_filename != ours:
                yield (self._without_host(code.co_filename), trace.tb_lineno), code.co_name
            trace = trace.tb_next

    def _place(self, error: BaseException) -> tuple[str, int] | None:
        """The last line of the knowledge object's own code that took part."""
        if isinstance(error, SyntaxError) and error.lineno and (error.filename or "").startswith("/"):
            return self._without_host(error.filename or ""), error.lineno
        found = None
        trace = error.__traceback__
        while trace is not None:
            file = trace.tb_frame.f_code.co_filename
            if file.startswith(self._root):
                found = file[len(self._root) :], trace.tb_lineno
            trace = trace.tb_next
        return found

    def _cut(self, text: str) -> str:
        text = " ".join(text[: 4 * _LONGEST].split())
        return self._without_host(text if len(text) <= _LONGEST else text[:_LONGEST] + "…")

    def _without_host(self, text: str) -> str:
        for folder, instead in self._hidden:
            text = text.replace(folder + "/", instead + "/" if instead else "").replace(folder, instead or ".")
        return text


def _status(error: InvalidInputError) -> int:
    """Code may have changed it since."""
    return 400 if error.status == 400 else 422


def _message(error: BaseException) -> str:
    try:
        if isinstance(error, MemoryError) and not error.args:
            return "the knowledge object passed its memory limit"
        return str(error)
    except BaseException:
        return "(an exception without a readable message)"
