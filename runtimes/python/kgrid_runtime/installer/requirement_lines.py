"""What a `requirements.txt` may say: pip reads it with the rights and the environment of the host."""

from __future__ import annotations

import re
from pathlib import Path

from kgrid_runtime.failures import Failure, activation_failed

_OPTION_WITH_PATH = re.compile(r"(-r|--requirement|-c|--constraint|-f|--find-links|-e|--editable)(?:\s*=\s*|\s*)(.*)")
_READ_AS_LINES = {"-r", "--requirement", "-c", "--constraint"}
_HOST_PATH = re.compile(r"(?:^|[@=\s])(?:/|~/|file:|\\\\)", re.IGNORECASE)
_LONGEST_SHOWN = 100
_MOST_FILES = 20


def requirement_lines(text: str) -> list[str]:
    """Without comments."""
    lines = [re.sub(r"(^|\s+)#.*", "", line).strip() for line in re.sub(r"\\\r?\n", " ", text).splitlines()]
    return [line for line in lines if line]


def names_own_files(lines: list[str]) -> bool:
    """Whether the same lines may mean something else in another knowledge object."""
    return any(line.startswith(("-", ".", "/")) or ("/" in line and "://" not in line) for line in lines)


def check_requirements(file: Path, root: Path) -> None:
    """Raises Failure where a line would read what is not in `root`, or send out what is secret."""
    files = [file]
    for number, each in enumerate(files):
        if number == _MOST_FILES or not each.is_file():
            break
        name = each.relative_to(root).as_posix()
        for line in requirement_lines(each.read_text("utf-8", "replace")):
            check_requirement(line, name)
            option = _OPTION_WITH_PATH.match(line)
            if option is not None and option[1] in _READ_AS_LINES:
                if "://" in option[2]:
                    raise _refused(line, name, "names a file outside of the knowledge object")
                named = each.parent / option[2].strip("'\"")
                if named not in files:
                    files.append(named)


def check_requirement(line: str, file: str) -> None:
    """Raises Failure."""
    option = _OPTION_WITH_PATH.match(line)
    path = line if option is None else option[2]
    if re.search(r"\$\{\w+\}", line):
        raise _refused(line, file, "uses a variable of the environment")
    if _HOST_PATH.search(path) or ".." in re.split(r"[/\s@'\"]", path):
        raise _refused(line, file, "names a file outside of the knowledge object")


def _refused(line: str, file: str, why: str) -> Failure:
    shown = re.sub(r"//[^/@\s]+@", "//", line[:_LONGEST_SHOWN])
    return activation_failed(f"Installing dependencies failed: the line {shown!r} of {file} {why}")
