"""The answers of a service: read as HTTP, unpacked, cut into lines, and turned into results and errors."""

from __future__ import annotations

import contextlib
import http.client
import json
import zlib
from collections.abc import Iterator
from typing import Any, cast

from kgrid_client.errors import BadAnswer, RecordError, Redirected, ServiceError, problem_of, words_of
from kgrid_client.wire import Wire

#: Bytes of one result.
_MOST_BYTES = 256 * 1024 * 1024
_MOST_ERROR_BYTES = 1024 * 1024
_READ_BYTES = 256 * 1024


@contextlib.contextmanager
def open_answer(wire: Wire) -> Iterator[http.client.HTTPResponse]:
    """Sends, and reads until the headers have come. :raises OSError, http.client.HTTPException:"""
    response = http.client.HTTPResponse(cast("Any", wire), method="POST")
    try:
        response.begin()
        yield response
    finally:
        # In this order: an answer that is collected after its connection complains.
        response.close()
        wire.close()


def check_status(response: http.client.HTTPResponse) -> None:
    """:raises ServiceError, Redirected: for what is no 200"""
    if response.status == 200:
        return
    if 300 <= response.status < 400:
        location = response.headers.get("Location", "")
        raise Redirected(
            f"The service answers {response.status}, and redirects are not followed: give the address where it is"
            + (f" ({location[:500]})" if location else ""),
            location,
        )
    problem = problem_of(_json_or_none(_text_of_error(response)), response.status)
    problem["title"] = problem["title"] or response.reason
    raise ServiceError(words_of(problem), retry_after=_seconds_of(response.headers.get("Retry-After")), **problem)


def chunks_of(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """The body as it comes, unpacked. :raises http.client.IncompleteRead: where it breaks off :raises BadAnswer:"""
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding == "identity":
        return _raw_chunks(response)
    if encoding in {"gzip", "x-gzip"}:
        return _inflated(_raw_chunks(response))
    raise BadAnswer(f"The answer has a Content-Encoding that was not asked for: {encoding[:100]}")


def whole_body(response: http.client.HTTPResponse) -> bytes:
    """:raises http.client.IncompleteRead: :raises BadAnswer:"""
    parts: list[bytes] = []
    size = 0
    for chunk in chunks_of(response):
        parts.append(chunk)
        size += len(chunk)
        if size > _MOST_BYTES:
            raise BadAnswer(f"The answer is larger than {_MOST_BYTES} bytes")
    return b"".join(parts)


def lines_of(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Lines that are whole; one without its end is none. :raises BadAnswer:"""
    begun: list[bytes] = []
    size = 0
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        begun.append(first)
        size += len(first)
        if size > _MOST_BYTES:
            raise BadAnswer(f"A line of the answer is larger than {_MOST_BYTES} bytes")
        if not others:
            continue
        yield b"".join(begun)
        yield from others[:-1]
        begun = [others[-1]]
        size = len(others[-1])


def result_of(line: bytes, index: int) -> Any:
    """The result, or a ``RecordError`` as a value. :raises BadAnswer:"""
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadAnswer(f"The answer for record {index} is no JSON: {line[:200]!r}") from error
    if isinstance(answer, dict):
        if "result" in answer:
            return answer["result"]
        if isinstance(answer.get("error"), dict):
            problem = problem_of(answer["error"])
            line_number = answer.get("line")
            place = line_number if isinstance(line_number, int) else None
            return RecordError(f"Record {index}: {words_of(problem)}", index=index, line=place, **problem)
    raise BadAnswer(f"The answer for record {index} holds neither a result nor an error: {line[:200]!r}")


def media_type_of(response: http.client.HTTPResponse) -> str:
    return response.headers.get("Content-Type", "").split(";", 1)[0].strip().lower()


def _raw_chunks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    while chunk := response.read1(_READ_BYTES):
        yield chunk
    # What is left of a Content-Length: such a body ends as if it were whole.
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)


def _inflated(chunks: Iterator[bytes]) -> Iterator[bytes]:
    inflate = zlib.decompressobj(31)
    for chunk in chunks:
        rest = chunk
        while rest:
            if inflate.eof:
                inflate = zlib.decompressobj(31)
            try:
                yield inflate.decompress(rest, _READ_BYTES)
            except zlib.error as problem:
                raise BadAnswer(f"The answer is not the gzip that it is said to be: {problem}") from problem
            rest = inflate.unused_data if inflate.eof else inflate.unconsumed_tail
    if not inflate.eof:
        raise http.client.IncompleteRead(b"")


def _text_of_error(response: http.client.HTTPResponse) -> bytes:
    parts: list[bytes] = []
    size = 0
    try:
        for chunk in chunks_of(response):
            parts.append(chunk)
            size += len(chunk)
            if size > _MOST_ERROR_BYTES:
                break
    except (OSError, http.client.HTTPException, BadAnswer):
        # The status says enough.
        return b""
    return b"".join(parts)


def _json_or_none(text: bytes) -> object:
    try:
        return cast("object", json.loads(text))
    except (ValueError, RecursionError):
        return None


def _seconds_of(header: object) -> float:
    text = str(header).strip()
    return float(text) if text.isdecimal() and len(text) < 6 else 0
