"""The head of a request, read strictly: what two programs could read in two ways is refused."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

_METHOD = re.compile(r"[A-Z]{1,20}")
_HEADER = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[^\r\n\0]*"
_HEADERS = re.compile(rf"{_HEADER}(?:\r\n{_HEADER})*")
_ONLY_ONCE = frozenset(("content-length", "transfer-encoding", "host", "content-type"))
_LENGTH = re.compile(r"[0-9]{1,18}")
_MOST_HEADERS = 100
_LONGEST_KEPT = 1024


class Refused(Exception):
    """The request cannot be read; the connection is closed after the answer."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass(frozen=True)
class Head:
    method: str
    path: str
    """Decoded, without the query."""
    headers: Mapping[str, str]
    """Names in lower case."""
    keep_alive: bool
    length: int
    """Of the body, unless it is chunked."""
    chunked: bool
    expects_continue: bool


def read_head(head: bytes) -> Head:
    """Reads all that comes before the empty line. Raises Refused."""
    # The requests on a connection mostly differ in nothing but their bodies.
    return _read_known(head) if len(head) <= _LONGEST_KEPT else _read(head)


def _read(head: bytes) -> Head:
    line, _, rest = head.decode("latin-1").partition("\r\n")
    method, path, version = _request_line(line)
    headers = _headers(rest) if rest else {}
    if version == "HTTP/1.1" and "host" not in headers:
        raise Refused(400, "The header Host is missing")
    connection = headers.get("connection", "").lower()
    keep_alive = "close" not in connection if version == "HTTP/1.1" else "keep-alive" in connection
    chunked = _is_chunked(headers)
    length = headers.get("content-length", "0")
    if _LENGTH.fullmatch(length) is None:
        raise Refused(400, "Content-Length is not a number")
    expects = headers.get("expect", "").lower() == "100-continue"
    return Head(method, path, headers, keep_alive, int(length), chunked, expects)


_read_known = functools.lru_cache(maxsize=256)(_read)


def _request_line(line: str) -> tuple[str, str, str]:
    parts = line.split(" ")
    if len(parts) != 3 or _METHOD.fullmatch(parts[0]) is None or not parts[1].isprintable():
        raise Refused(400, "The request line cannot be read")
    method, target, version = parts
    if version not in ("HTTP/1.1", "HTTP/1.0"):
        raise Refused(505, "Only HTTP/1.1 and HTTP/1.0 are understood")
    if not target.startswith("/"):
        # The absolute form, which clients send to proxies.
        _, found, rest = target.partition("://")
        target = "/" + rest.partition("/")[2]
        if not found:
            raise Refused(400, "The request line cannot be read")
    return method, unquote(target.partition("?")[0]), version


def _headers(text: str) -> dict[str, str]:
    lines = text.split("\r\n")
    if len(lines) > _MOST_HEADERS:
        raise Refused(431, "There are too many headers")
    if _HEADERS.fullmatch(text) is None:
        raise Refused(400, "A header cannot be read")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        name = name.lower()
        if name in headers and name in _ONLY_ONCE:
            raise Refused(400, f"The header {name} is there twice")
        headers[name] = value.strip(" \t")
    return headers


def _is_chunked(headers: Mapping[str, str]) -> bool:
    coding = headers.get("transfer-encoding")
    if coding is None:
        return False
    if "content-length" in headers:
        raise Refused(400, "Content-Length and Transfer-Encoding exclude each other")
    if coding.lower() != "chunked":
        raise Refused(501, "The only Transfer-Encoding that is understood is chunked")
    return True
