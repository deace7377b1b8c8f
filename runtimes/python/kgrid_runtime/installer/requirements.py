"""Reads what a knowledge object requires: pip gets what is written from what was understood, never the text itself."""

from __future__ import annotations

import email.parser
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kgrid_runtime.installer.failures import Failure

ARCHIVES = (".whl", ".zip", ".tar.gz", ".tgz", ".tar", ".tar.bz2", ".tbz", ".tar.xz", ".txz", ".tlz", ".tar.lz")
HOST_PATH = re.compile(r"(?:^|[@=\s])(?:/|~/|file:|\\\\|[A-Za-z]:[\\/])", re.IGNORECASE)
URL = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_SPECIFIER = re.compile(r"[A-Za-z0-9.*+!_<>=~,\s-]*")
_METADATA = re.compile(r"[^/]+\.dist-info/METADATA")
_NAMED = re.compile(r"[A-Za-z0-9]")
_MOST_ARGUMENTS = 16_000
_WITH_CODE = ("git+https", "git+http")
LARGEST_FILE = 1024 * 1024
LONGEST_LINE = 4000
_LONGEST_SHOWN = 100
MOST_FILES = 20
MOST_LINES = 2000

Host = tuple[str, int]
Place = Callable[["Line"], Path]
"""Where pip finds the file or folder of a line."""


@dataclass(frozen=True)
class Line:
    """What pip gets as one line: text, and within it a file or folder of the knowledge object."""

    before: str
    own: Path | None = None
    after: str = ""
    digest: str = ""
    hosts: tuple[Host, ...] = ()
    """Where it says that something is to be fetched from."""

    @property
    def names_links(self) -> bool:
        return self.before.startswith("--find-links")

    @property
    def meaning(self) -> str:
        return f"{self.before}\t{self.digest}\t{self.after}"

    def written(self, place: Place) -> str:
        if self.own is None:
            return self.before
        path = place(self)
        # Only with its bare path does a folder have extras.
        return f"{self.before}{path if self.after.startswith('[') else path.as_uri()}{self.after}"


@dataclass
class Requirements:
    lines: list[Line] = field(default_factory=list)
    constraints: list[Line] = field(default_factory=list)

    def __iter__(self) -> Iterator[Line]:
        yield from (*self.lines, *self.constraints)

    def and_of(self, other: Requirements) -> Requirements:
        return Requirements([*self.lines, *other.lines], [*self.constraints, *other.constraints])

    @property
    def meaning(self) -> str:
        return "\n".join(
            [*(line.meaning for line in self.lines), "constraints", *(c.meaning for c in self.constraints)]
        )

    @property
    def has_own(self) -> bool:
        return any(line.own is not None for line in self)

    @property
    def are_short(self) -> bool:
        """Names with their versions and conditions alone, that can be arguments of a program."""
        names = (line.own is None and _NAMED.match(line.before) and " --" not in line.before for line in self.lines)
        return all(names) and sum(len(line.before) for line in self.lines) < _MOST_ARGUMENTS

    @property
    def hosts(self) -> list[Host]:
        return sorted({host for line in self for host in line.hosts})


def read_needs(lines: Iterable[object], source: str, doing: str = "Building the package") -> Requirements:
    """Requirements alone, of a package or a build backend. Raises Failure."""
    texts = sorted({" ".join(str(line).split()) for line in lines})
    if len(texts) > MOST_LINES:
        raise Failure(f"{doing} failed: {source} names more than {MOST_LINES} requirements")
    refusing = Refusing(doing, source)
    return Requirements(sorted((requirement(text, refusing) for text in texts), key=lambda line: line.before))


@dataclass(frozen=True)
class Refusing:
    doing: str
    file: str

    def line(self, line: str, why: str) -> Failure:
        shown = re.sub(r"//[^/\s]*@", "//", line)[:_LONGEST_SHOWN]
        return Failure(f"{self.doing} failed: the line {shown!r} of {self.file} {why}")

    def all(self, why: str) -> Failure:
        return Failure(f"{self.doing} failed: {self.file} {why}")


def requirement(text: str, refusing: Refusing) -> Line:
    """Name, versions and condition, or an address."""
    if HOST_PATH.search(text.partition(";")[0]) or re.search(r"(^|[/\s@])\.\.([/\s]|$)", text):
        raise refusing.line(text, "names a file outside of the knowledge object")
    if URL.match(text) and "://" in text:
        address, _, marker = text.partition(" ;")
        hosts = hosts_of(address.strip(), text, refusing)
        return Line(address.strip() + (f" ; {marker_of(marker, text, refusing)}" if marker else ""), hosts=hosts)
    parsed = _parsed("requirements", "Requirement", text)
    if parsed is None or len(text) > LONGEST_LINE or str(parsed.name).lower().endswith(ARCHIVES):
        raise Failure(f"{refusing.doing} failed: {text[:_LONGEST_SHOWN]!r} is no requirement")
    if _SPECIFIER.fullmatch(str(parsed.specifier)) is None:
        raise refusing.line(text, "names a version that is none")
    return Line(_as_one(str(parsed), text, refusing), hosts=hosts_of(parsed.url, text, refusing) if parsed.url else ())


def marker_of(text: str, line: str, refusing: Refusing) -> str:
    parsed = _parsed("markers", "Marker", text.strip())
    if parsed is None:
        raise refusing.line(line, "has a condition that cannot be read")
    return _as_one(str(parsed), line, refusing)


def _as_one(text: str, line: str, refusing: Refusing) -> str:
    """What pip reads as the same: no comment, option or variable in it."""
    if not text.isascii() or not text.isprintable() or re.search(r"\s[-#]|\$\{|\\", text):
        raise refusing.line(line, "cannot be passed on to pip")
    return text


def hosts_of(url: str, line: str, refusing: Refusing) -> tuple[Host]:
    """The one of an address, which all programs read alike."""
    try:
        parts = urlsplit(url)
        host, port, scheme = parts.hostname, parts.port, parts.scheme.lower()
    except ValueError:
        raise refusing.line(line, "has an address that cannot be read") from None
    if scheme in ("file", ""):
        raise refusing.line(line, "names a file outside of the knowledge object")
    if scheme not in ("https", "http", *_WITH_CODE):
        raise refusing.line(line, f"has an address that begins with {scheme[:20]}; https is taken, and http")
    if "${" in url:
        raise refusing.line(line, "uses a variable of the environment")
    if not host or parts.netloc.count("@") > 1 or re.fullmatch(r"[!#-\[\]_a-z~]+", url, re.IGNORECASE) is None:
        raise refusing.line(line, "has an address that cannot be read")
    return ((host.lower(), port or (80 if scheme.endswith("http") else 443)),)


def hosts_of_wheel(file: Path) -> list[Host]:
    """Which its own requirements name, that pip reads by itself. Raises Failure where they name files."""
    try:
        with zipfile.ZipFile(file) as wheel:
            (named,) = {each for each in wheel.namelist() if _METADATA.fullmatch(each)}
            with wheel.open(named) as metadata:
                content = metadata.read(LARGEST_FILE + 1)
                if len(content) > LARGEST_FILE:
                    raise ValueError("too large")
    except (OSError, ValueError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error):
        raise Failure(f"Installing dependencies failed: {file.name} is no wheel that can be read") from None
    return read_needs(requires_in(content), file.name, "Installing dependencies").hosts


def requires_in(metadata: bytes) -> list[str]:
    """What a package says that it requires."""
    parsed = email.parser.HeaderParser().parsestr(metadata.decode("utf-8", "replace"))
    return [str(each) for each in parsed.get_all("Requires-Dist", [])]


def _parsed(module: str, name: str, text: str) -> Any:
    """By the library that pip itself reads them with; None where that cannot."""
    try:
        library = __import__(f"pip._vendor.packaging.{module}", fromlist=[name])
    except ImportError:
        raise Failure(
            "Installing dependencies failed: pip is not usable in this Python; install it, for example as python3-pip"
        ) from None
    try:
        return getattr(library, name)(text)
    except (ValueError, RecursionError):
        return None
