"""A small HTTP client with kept-alive connections, for the one server that the runtime talks to: the activator."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

# Shorter than any server keeps a silent connection: one that is taken from here is still open.
_KEEP_SECONDS = 3.0
_KEEP_MOST = 32
_HEAD_LIMIT = 64 * 1024

_Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Unreachable(Exception):
    """No answer: one sentence without credentials."""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes


class Client:
    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], list[tuple[float, _Stream]]] = {}
        self._tls: ssl.SSLContext | None = None

    async def exchange(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, *, seconds: float, limit: int
    ) -> Answer:
        """One request and its answer, whose body may have `limit` bytes. Follows no redirects. Raises Unreachable."""
        parts = urlsplit(url)
        try:
            return await asyncio.wait_for(self._exchange(method, parts, headers, body, limit), seconds)
        except asyncio.TimeoutError:
            raise Unreachable(f"{parts.hostname} did not answer within {seconds:g} s") from None
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as error:
            raise Unreachable(f"{parts.hostname} cannot be reached: {error or type(error).__name__}") from None

    def close(self) -> None:
        for streams in self._kept.values():
            for _, (_, writer) in streams:
                writer.close()
        self._kept.clear()

    async def _exchange(
        self, method: str, url: SplitResult, headers: Mapping[str, str], body: bytes, limit: int
    ) -> Answer:
        origin = (url.scheme, url.netloc)
        stream = self._take(origin) or await self._connect(url)
        reader, writer = stream
        done = False
        try:
            target = (url.path or "/") + (f"?{url.query}" if url.query else "")
            lines = [f"{method} {target} HTTP/1.1", f"Host: {url.netloc}", f"Content-Length: {len(body)}"]
            lines += [f"{name}: {value}" for name, value in headers.items()]
            writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body)
            await writer.drain()
            answer, reusable = await _read_answer(reader, method, limit)
            done = reusable
            return answer
        finally:
            if done:
                self._keep(origin, stream)
            else:
                writer.close()

    async def _connect(self, url: SplitResult) -> _Stream:
        secure = url.scheme == "https"
        if secure and self._tls is None:
            self._tls = ssl.create_default_context()
        return await asyncio.open_connection(
            url.hostname, url.port or (443 if secure else 80), ssl=self._tls if secure else None, limit=_HEAD_LIMIT
        )

    def _take(self, origin: tuple[str, str]) -> _Stream | None:
        now = asyncio.get_running_loop().time()
        streams = self._kept.get(origin, [])
        while streams:
            since, (reader, writer) = streams.pop()
            if now - since < _KEEP_SECONDS and not reader.at_eof() and not writer.is_closing():
                return reader, writer
            writer.close()
        return None

    def _keep(self, origin: tuple[str, str], stream: _Stream) -> None:
        streams = self._kept.setdefault(origin, [])
        streams.append((asyncio.get_running_loop().time(), stream))
        if len(streams) > _KEEP_MOST:
            streams.pop(0)[1][1].close()


async def _read_answer(reader: asyncio.StreamReader, method: str, limit: int) -> tuple[Answer, bool]:
    """The answer, and whether the connection can be used again."""
    while True:
        head = (await reader.readuntil(b"\r\n\r\n"))[:-4].decode("latin-1").split("\r\n")
        version, status = head[0].split(" ", 2)[:2]
        if not status.startswith("1"):
            break
    headers: dict[str, str] = {}
    for line in head[1:]:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    keep = version == "HTTP/1.1" and "close" not in headers.get("connection", "").lower()
    if method == "HEAD" or status in ("204", "304"):
        body = b""
    elif "chunked" in headers.get("transfer-encoding", "").lower():
        body = await _read_chunks(reader, limit)
    elif "content-length" in headers:
        length = int(headers["content-length"])
        _check(length, limit)
        body = await reader.readexactly(length)
    else:
        body, keep = await reader.read(limit + 1), False
        while len(body) <= limit and (more := await reader.read(limit + 1 - len(body))):
            body += more
        _check(len(body), limit)
    return Answer(int(status), headers, body), keep


async def _read_chunks(reader: asyncio.StreamReader, limit: int) -> bytes:
    chunks: list[bytes] = []
    total = 0
    while True:
        size = int((await reader.readline()).partition(b";")[0], 16)
        total += size
        _check(total, limit)
        if size == 0:
            while (await reader.readline()).strip():
                pass
            return b"".join(chunks)
        chunks.append(await reader.readexactly(size))
        await reader.readexactly(2)


def _check(length: int, limit: int) -> None:
    if not 0 <= length <= limit:
        raise ValueError(f"its answer has more than {limit} bytes")
