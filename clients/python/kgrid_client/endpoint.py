"""An endpoint that can be called, with one record or with a stream of them."""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import socket
import time
from collections.abc import Generator, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from kgrid_client.answers import (
    check_status,
    chunks_of,
    lines_of,
    media_type_of,
    open_answer,
    result_of,
    whole_body,
)
from kgrid_client.errors import BadAnswer, BrokenOff, KGridError, OtherPackage, RecordError, ServiceError, TimedOut
from kgrid_client.records import Sending, Whole, to_json
from kgrid_client.wire import Wire

if TYPE_CHECKING:
    from kgrid_client.activator import Activator

_RECORDS = "application/x-ndjson"
_RECORD_TYPES = frozenset({_RECORDS, "application/ndjson", "application/jsonl", "application/fhir+ndjson"})
_MINIMAL = 'application/json;profile="minimal"'
_DIGEST = "KGrid-Package-Digest"
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0

OnError = Literal["raise", "return"]


class Endpoint:
    """What an activator runs for one of its knowledge objects: ``endpoint(record)`` gives the result."""

    def __init__(self, activator: Activator, endpoint: str, version: str | None = None) -> None:
        self.id = endpoint.strip("/")
        if not self.id or any(not part or part in {".", ".."} for part in self.id.split("/")):
            raise ValueError(f"An endpoint has an id such as nephrology/ckdepi/2.0/egfr (got {endpoint!r})")
        self.activator = activator
        query = "" if version is None else f"?v={quote(version, safe='')}"
        self._path = activator.address.path_of(self.id) + query

    def __repr__(self) -> str:
        return f"{self.activator!r}.endpoint({self.id!r})"

    def __call__(
        self,
        record: Any,
        *,
        content_type: str | None = None,
        timeout: float | None = None,
        repeatable: bool = False,
    ) -> Any:
        """The result for a record.

        What was certainly not run is sent again, up to ``retries=`` of the activator: where no connection came about,
        and 429 and 503.

        :param content_type: of a record that is text or bytes, and is sent as it is
        :param timeout: seconds for one attempt, in place of the activator's
        :param repeatable: also sends again what may have been run, after 502, 504 and connections that broke
        :raises KGridError:
        """
        body, kind = _body_of(record, content_type)
        request = self._head({"Content-Type": kind, "Accept": _MINIMAL, "Content-Length": str(len(body))}) + body
        seconds = self.activator.timeout if timeout is None else timeout
        for attempt in range(self.activator.retries + 1):
            try:
                return self._call(request, seconds)
            except KGridError as error:
                if attempt == self.activator.retries or not _may_repeat(error, repeatable):
                    raise
                time.sleep(pause_before(attempt, error))
        raise AssertionError

    def map(
        self,
        records: Iterable[Any],
        *,
        errors: OnError = "raise",
        compress: bool = False,
        timeout: float | None = None,
        package: str | None = None,
    ) -> Generator[Any, None, None]:
        """The results for records, one for each, in their order, as they come over one connection.

        Records are taken as they can be sent, ahead of their answers. Nothing is sent again once a record was taken:
        each error tells by ``answered`` how many results came before it, and the records from there on have none.

        :param records: each what JSON can say, or bytes that are JSON already
        :param errors: of single records: ``raise`` ends with the first, ``return`` gives it in place of the result
        :param compress: sends with gzip
        :param timeout: seconds in which the service may neither take nor give anything
        :param package: only results of this package, by its ``KGrid-Package-Digest``
        :raises KGridError:
        """
        if errors not in {"raise", "return"}:
            raise ValueError(f"errors= is 'raise' or 'return' (got {errors!r})")
        return self._map(records, errors, compress, self.activator.timeout if timeout is None else timeout, package)

    def package(self) -> str:
        """The ``KGrid-Package-Digest`` of the package that answers now. :raises KGridError:"""
        with self._records_exchange(Sending(self._records_head(False), [], compress=False), None) as response:
            return _digest_of(response)

    def _map(
        self, records: Iterable[Any], errors: OnError, compress: bool, timeout: float, package: str | None
    ) -> Generator[Any, None, None]:
        sending = Sending(self._records_head(compress), records, compress=compress)
        try:
            with self._records_exchange(sending, timeout) as response:
                _check_package(response, package)
                for line in lines_of(chunks_of(response)):
                    if not line.strip():
                        continue
                    if sending.answered >= sending.taken:
                        raise BadAnswer("The service gives more answers than there are records")
                    result = result_of(line, sending.answered)
                    if errors == "raise" and isinstance(result, RecordError):
                        raise result
                    sending.answered += 1
                    yield result
                if not sending.has_ended or sending.answered < sending.taken:
                    raise BrokenOff(f"{self} broke off after {sending.answered} records")
        except KGridError as error:
            error.answered = sending.answered
            raise

    @contextlib.contextmanager
    def _records_exchange(self, sending: Sending, timeout: float | None) -> Iterator[http.client.HTTPResponse]:
        seconds = self.activator.timeout if timeout is None else timeout
        with (
            contextlib.closing(self._connect_anew()) as connection,
            self._named(sending),
            open_answer(Wire(connection, sending, patience=seconds)) as response,
        ):
            check_status(response)
            if media_type_of(response) not in _RECORD_TYPES:
                raise BadAnswer(
                    f"{self} does not answer record by record, but as {media_type_of(response) or 'nothing known'}"
                )
            yield response

    def _connect_anew(self) -> socket.socket:
        """Before any record is taken."""
        for attempt in range(self.activator.retries + 1):
            try:
                return self.activator.connect(is_new=True)
            except KGridError as error:
                if attempt == self.activator.retries or not error.retryable:
                    raise
                time.sleep(pause_before(attempt, error))
        raise AssertionError

    def _call(self, request: bytes, seconds: float) -> Any:
        connection = self.activator.connect()
        is_good = False
        try:
            wire = Wire(connection, Whole(request), patience=seconds, deadline=time.monotonic() + seconds)
            with self._named(None), open_answer(wire) as response:
                check_status(response)
                body = whole_body(response)
                is_good = wire.has_sent_all and not response.will_close
                return _result_in(body, response)
        finally:
            if is_good:
                self.activator.keep(connection)
            else:
                connection.close()

    @contextlib.contextmanager
    def _named(self, sending: Sending | None) -> Iterator[None]:
        """What breaks a connection, as an error of this package."""
        try:
            yield
        except (OSError, http.client.HTTPException, ValueError) as problem:
            # What the records themselves fail with comes through here too.
            if sending is not None and sending.problem is not None:
                raise sending.problem from None
            raise self._error_of(problem, 0 if sending is None else sending.answered) from problem

    def _error_of(self, problem: Exception, answered: int) -> KGridError:
        so_far = f" after {answered} records" if answered else ""
        if isinstance(problem, TimeoutError):
            return TimedOut(f"{self} gave no answer in time{so_far}")
        if isinstance(problem, (OSError, http.client.IncompleteRead)):
            return BrokenOff(f"{self} broke off{so_far}: {problem}")
        return BadAnswer(f"{self} does not answer as HTTP{so_far}: {problem!r}")

    def _records_head(self, compress: bool) -> bytes:
        return self._head(
            {
                "Content-Type": _RECORDS,
                "Accept": f"{_RECORDS}, application/json",
                "Transfer-Encoding": "chunked",
                **({"Content-Encoding": "gzip"} if compress else {}),
            }
        )

    def _head(self, headers: dict[str, str]) -> bytes:
        every = {"Host": self.activator.address.host_header, "Accept-Encoding": "gzip", **headers}
        if self.activator.authorization is not None:
            every["Authorization"] = self.activator.authorization
        lines = [f"POST {self._path} HTTP/1.1", *(f"{name}: {value}" for name, value in every.items()), "", ""]
        return "\r\n".join(lines).encode("latin-1")


def pause_before(attempt: int, error: KGridError) -> float:
    """Seconds, with chance in them, so that many clients do not come again at the same moment."""
    most: float = min(_FIRST_PAUSE_SECONDS * 2**attempt, _LONGEST_PAUSE_SECONDS)
    asked = error.retry_after if isinstance(error, ServiceError) else 0
    return max(most / 2 + random.random() * most / 2, min(asked, _LONGEST_PAUSE_SECONDS))


def _may_repeat(error: KGridError, repeatable: bool) -> bool:
    return error.retryable and (repeatable or not error.may_have_run)


def _body_of(record: Any, content_type: str | None) -> tuple[bytes, str]:
    if content_type is None:
        return (record if isinstance(record, bytes) else to_json(record)), "application/json"
    if not isinstance(record, (str, bytes)):
        raise TypeError("With content_type= a record is text or bytes")
    if not content_type.isascii() or not content_type.isprintable():
        raise ValueError(f"{content_type!r} is no media type")
    return (record.encode() if isinstance(record, str) else record), content_type


def _result_in(body: bytes, response: http.client.HTTPResponse) -> Any:
    """:raises BadAnswer:"""
    kind = media_type_of(response)
    if kind != "application/json" and not kind.endswith("+json"):
        raise BadAnswer(f"The answer is no JSON, but {kind or 'of no type'}: {body[:200]!r}")
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as problem:
        raise BadAnswer(f"The answer is no JSON: {body[:200]!r}") from problem


def _digest_of(response: http.client.HTTPResponse) -> str:
    return str(response.headers.get(_DIGEST, ""))


def _check_package(response: http.client.HTTPResponse, package: str | None) -> None:
    if package is not None and _digest_of(response) != package:
        raise OtherPackage(f"The package that answers is {_digest_of(response) or 'unknown'}, not {package}")
