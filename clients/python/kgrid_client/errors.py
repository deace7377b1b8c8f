"""What can go wrong with a call. All of it can be pickled, as clusters need it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# 504 is told of code that takes too long too: it would do so again, but not for certain.
_RETRYABLE = frozenset({429, 502, 503, 504})
# "500 Code execution error", a runtime that broke off, one that was silent.
_MAY_HAVE_RUN = frozenset({500, 502, 504})


class KGridError(Exception):
    """The parent of all others."""

    #: The same may succeed later, or elsewhere.
    retryable: bool = False
    #: The knowledge object may have been run although its answer did not come.
    may_have_run: bool = False
    #: How many records of ``map`` were answered before: those that follow have no answer yet.
    answered: int = 0


class Unreachable(KGridError):
    """No connection came about, so that nothing was run."""

    retryable = True


class BrokenOff(KGridError):
    """The connection ended before the answer did. What came before stands."""

    retryable = True
    may_have_run = True


class TimedOut(BrokenOff):
    """The service neither took nor gave anything for as long as ``timeout`` says, or did not end within it."""


class BadAnswer(KGridError):
    """What came is not what an activator answers: the address may be that of something else."""

    may_have_run = True


class Redirected(KGridError):
    """The service is said to be elsewhere. Records and credentials are not sent where nobody meant them to go."""

    def __init__(self, message: str, location: str = "") -> None:
        super().__init__(message)
        self.location = location


class OtherPackage(KGridError):
    """The endpoint answers with another package of its knowledge object than was asked for, or than before."""


class ServiceError(KGridError):
    """An error that the service gave as its answer.

    ``status`` is 404, ``title`` "Endpoint not found", ``detail`` what is wrong.
    """

    def __init__(
        self, message: str, *, status: int = 0, title: str = "", detail: str = "", retry_after: float = 0
    ) -> None:
        super().__init__(message)
        self.status = status
        self.title = title
        self.detail = detail
        #: Seconds that the service asks to wait.
        self.retry_after = retry_after
        self.retryable = status in _RETRYABLE
        self.may_have_run = status in _MAY_HAVE_RUN


class RecordError(ServiceError):
    """The error of one record; it concerns no other."""

    def __init__(self, message: str, *, index: int = 0, line: int | None = None, **problem: Any) -> None:
        super().__init__(message, **problem)
        #: Its place among the records that were given, from 0.
        self.index = index
        #: Its line in the request, from 1; ``None`` where it was not sent.
        self.line = line


def problem_of(body: object, status: int = 0) -> dict[str, Any]:
    """What an error of the service says: an object with Status, Title and Detail, or as shelf errors have it."""
    fields: Mapping[str, Any] = body if isinstance(body, dict) else {}
    said = str(fields.get("Status", ""))
    code = said.split(" ", 1)[0]
    return {
        "status": status or (int(code) if code.isdecimal() and len(code) == 3 else 500),
        "title": str(fields.get("Title", said.partition(" ")[2])),
        "detail": str(fields.get("Detail", fields.get("Error", ""))),
    }


def words_of(problem: Mapping[str, Any]) -> str:
    """As people read it."""
    head = f"{problem['status']} {problem['title']}".strip()
    return f"{head}: {problem['detail']}" if problem["detail"] else head
