"""Reads a `requirements.txt` and the files that it names."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from kgrid_runtime.installer.requirements import (
    ARCHIVES,
    HOST_PATH,
    LARGEST_FILE,
    LONGEST_LINE,
    MOST_FILES,
    MOST_LINES,
    URL,
    Line,
    Refusing,
    Requirements,
    hosts_of,
    hosts_of_wheel,
    marker_of,
    requirement,
)
from kgrid_runtime.installer.tree import read_file

_WHEEL = re.compile(r"([A-Za-z0-9](?:[\w.]*[A-Za-z0-9])?)-([A-Za-z0-9_.!+]+)(?:-\d\w*)?(?:-[\w.]+){3}\.whl", re.ASCII)
_OPTION = re.compile(r"(--[a-z-]+|-[a-z])(?:\s*=\s*|\s*)(.*)")
_LONG_NAMES = {"-r": "--requirement", "-c": "--constraint", "-e": "--editable", "-i": "--index-url"}
_LONG_NAMES |= {"-f": "--find-links"}
_FLAGS = {"--pre", "--prefer-binary", "--no-index", "--require-hashes"}
_FORMATS = {"--only-binary", "--no-binary"}
_NAMES = re.compile(r":all:|:none:|[\w.-]+(?:,[\w.-]+)*", re.ASCII)
_HASHES = re.compile(r"(?:\s+--hash[=\s]\s*(?:sha256|sha384|sha512):[0-9a-fA-F]+)+$")
_HASH = re.compile(r"(\w+:[0-9a-fA-F]+)(?=\s|$)")
_EXTRAS = re.compile(r"(.+?)(\[[\w\s.,-]*\])?$", re.ASCII)
_COMMENT = re.compile(r"(^|\s+)#.*$")
_CODING = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.MULTILINE)
_BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
_VARIABLE = re.compile(r"\$\{\w+\}")


def read_requirements(file: Path, root: Path) -> Requirements:
    """The file, and what it names in `root`, its knowledge object. Raises Failure."""
    reader = _Reader(root)
    reader.read(file, reader.found.lines)
    return reader.found


class _Reader:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._files: list[tuple[Path, bool]] = []
        self.found = Requirements()

    def read(self, file: Path, into: list[Line]) -> None:
        refusing = Refusing("Installing dependencies", file.relative_to(self._root).as_posix())
        if (file, into is self.found.lines) in self._files:
            return
        self._files.append((file, into is self.found.lines))
        if len(self._files) > MOST_FILES:
            raise refusing.all(f"is one of more than {MOST_FILES} files that name each other")
        for line in _lines(self._text(file, refusing)):
            if len(line) > LONGEST_LINE or len(self.found.lines) + len(self.found.constraints) >= MOST_LINES:
                raise refusing.all(f"has more than {MOST_LINES} lines, or one of more than {LONGEST_LINE} characters")
            self._read_line(line, file, into, refusing)

    def _text(self, file: Path, refusing: Refusing) -> str:
        content = read_file(self._root, *file.relative_to(self._root).parts, most=LARGEST_FILE)
        if content is None:
            raise refusing.all(f"is not there, or has more than {LARGEST_FILE} bytes")
        if content.startswith(_BYTE_ORDER_MARKS):
            raise refusing.all("begins with a byte order mark; save it as UTF-8 without one")
        try:
            text = content.decode()
        except UnicodeDecodeError:
            raise refusing.all("is no UTF-8; save it as UTF-8") from None
        coding = _CODING.search("\n".join(text.splitlines()[:2]))
        if coding is not None and coding[1].lower() not in ("utf-8", "utf8", "ascii", "us-ascii"):
            raise refusing.all("names another encoding than UTF-8; save it as UTF-8 without that line")
        return text

    def _read_line(self, line: str, file: Path, into: list[Line], refusing: Refusing) -> None:
        if _VARIABLE.search(line):
            raise refusing.line(line, "uses a variable of the environment")
        if not line.isprintable() and "\t" not in line:
            raise refusing.line(line, "has characters that cannot be printed")
        option = _OPTION.fullmatch(line)
        if option is None:
            into.append(self._package(line, refusing))
            return
        name, value = _LONG_NAMES.get(option[1], option[1]), option[2].strip().strip("'\"")
        if name in ("--requirement", "--constraint"):
            if URL.match(value):
                raise refusing.line(line, "names a file outside of the knowledge object")
            named = self._own(value, file.parent, line, refusing)
            self.read(named, into if name == "--requirement" else self.found.constraints)
        elif name == "--editable":
            into.append(self._file(value, "", line, refusing))
        else:
            into.append(self._option(name, value, line, refusing))

    def _option(self, name: str, value: str, line: str, refusing: Refusing) -> Line:
        if name in _FLAGS and value == "":
            return Line(name)
        if name in _FORMATS and _NAMES.fullmatch(value):
            return Line(f"{name}={value}")
        if name == "--find-links" and not URL.match(value):
            folder = self._own(value, self._root, line, refusing)
            if not folder.is_dir():
                raise refusing.line(line, "names a folder that is not there")
            hosts = [host for each in folder.glob("*.[wW][hH][lL]") for host in hosts_of_wheel(each)]
            return Line(f"{name}=", folder, "", _digest(folder), tuple(hosts))
        if name in ("--find-links", "--index-url", "--extra-index-url"):
            return Line(f"{name}={value}", hosts=hosts_of(value, line, refusing))
        raise refusing.line(line, "has an option that is not taken here")

    def _package(self, line: str, refusing: Refusing) -> Line:
        hashes = _HASHES.search(line)
        if hashes is not None:
            found = self._package(line[: hashes.start()].strip(), refusing)
            after = "".join(f" --hash={each}" for each in _HASH.findall(hashes[0]))
            if found.own is not None:
                return replace(found, after=found.after + after)
            return replace(found, before=found.before + after)
        path, _, marker = (part.strip() for part in line.partition(";"))
        is_path = path.startswith(".") or ("/" in path and "://" not in path and "@" not in path)
        if is_path or (_EXTRAS.sub(r"\1", path).lower().endswith(ARCHIVES) and "/" not in path):
            return self._file(path, marker, line, refusing)
        return requirement(line, refusing)

    def _file(self, text: str, marker: str, line: str, refusing: Refusing) -> Line:
        """A wheel, an archive of sources or a folder of the knowledge object."""
        match = _EXTRAS.fullmatch(text)
        name, extras = (match[1], match[2] or "") if match is not None else (text, "")
        path = self._own(name, self._root, line, refusing)
        if not path.is_dir() and not (path.is_file() and path.name.lower().endswith(ARCHIVES)):
            raise refusing.line(line, "names a package that is not among the artifacts")
        condition = f" ; {marker_of(marker, line, refusing)}" if marker else ""
        wheel = _WHEEL.fullmatch(path.name)
        if path.suffix.lower() == ".whl" and wheel is None:
            raise refusing.line(line, "names a wheel with a name that wheels do not have")
        if wheel is not None:
            return Line(f"{wheel[1]}{extras} @ ", path, condition, _digest(path), tuple(hosts_of_wheel(path)))
        return Line("", path, extras + condition, _digest(path))

    def _own(self, name: str, folder: Path, line: str, refusing: Refusing) -> Path:
        """A path within the knowledge object."""
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if HOST_PATH.search(name) or ".." in parts or "\\" in name or "\0" in name:
            raise refusing.line(line, "names a file outside of the knowledge object")
        path = folder.joinpath(*parts)
        if not path.resolve().is_relative_to(self._root.resolve()):
            raise refusing.line(line, "names a file outside of the knowledge object")
        return path


def _lines(text: str) -> Iterator[str]:
    """Without comments; those that end with a backslash go on in the next."""
    begun = ""
    for each in text.splitlines():
        if each.endswith("\\") and not _COMMENT.match(each):
            begun += each.rstrip("\\")
            continue
        line = _COMMENT.sub("", begun + (" " if _COMMENT.match(each) else "") + each).strip()
        begun = ""
        if line:
            yield line
    if begun.strip():
        yield begun.strip()


def archives_in(folder: Path) -> list[Path]:
    """Gives the packages of a folder; its pages are left out, whose links pip would follow."""
    return sorted(each for each in folder.iterdir() if each.is_file() and each.name.lower().endswith(ARCHIVES))


def _digest(path: Path) -> str:
    """Gives the digest of a file, or of all files in a folder with their names."""
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    files = sorted(each for each in path.rglob("*") if each.is_file())
    told = "\n".join(f"{_digest(each)} {each.relative_to(path).as_posix()!r}" for each in files)
    return hashlib.sha256(told.encode()).hexdigest()
