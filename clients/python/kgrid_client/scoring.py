"""What Spark and Ray have in common: rows become records, and get their answers from whichever activator serves.

Only records without an answer are sent again. A record may be run twice all the same: where a connection broke after it
was sent, and where a cluster runs a task again, as all clusters do. A knowledge object computes its result from its
record alone, so that it does not matter; one that does anything else must not be run by a cluster.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kgrid_client.activator import Activator
from kgrid_client.endpoint import Endpoint, pause_before
from kgrid_client.errors import KGridError, RecordError, ServiceError, words_of
from kgrid_client.records import to_line

#: Records of one request.
_PIECE_RECORDS = 10_000
#: An activator that failed is asked last for so long.
_REST_SECONDS = 15.0
#: A record's own answers that say no more than a refusal of the whole request would.
_RECORD_AGAIN = frozenset({429, 502, 503})
#: An activator that starts does not have the endpoint yet.
_NOT_YET = 404

OnRecordError = Literal["raise", "column"]
#: The column of errors.
ERROR = "error"
#: The column of whole results.
RESULT = "result"


@dataclass(frozen=True)
class Scoring:
    """What is asked; it is pickled and sent to the workers of the cluster, the login too."""

    endpoint: str
    activators: tuple[str, ...]
    #: The input of each column, by its path.
    inputs: tuple[tuple[str, tuple[str, ...]], ...]
    #: What of the results becomes columns; none: all of it, as JSON.
    results: tuple[str, ...]
    errors: OnRecordError
    retries: int
    timeout: float
    package: str | None
    username: str | None
    password: str | None
    token: str | None

    @classmethod
    def of(
        cls,
        endpoint: str,
        activators: str | Sequence[str],
        inputs: Sequence[str] | Mapping[str, str] | None,
        results: Sequence[str],
        columns: Sequence[str],
        errors: OnRecordError,
        **options: Any,
    ) -> Scoring:
        """:raises ValueError: before any task begins, for what cannot work"""
        urls = (activators,) if isinstance(activators, str) else tuple(activators)
        if not urls:
            raise ValueError("activators= names no activator")
        if errors not in {"raise", "column"}:
            raise ValueError(f"errors= is 'raise' or 'column' (got {errors!r})")
        named = (
            inputs if isinstance(inputs, Mapping) else {name: name for name in (columns if inputs is None else inputs)}
        )
        unknown = [column for column in named if column not in columns]
        if unknown:
            raise ValueError(f"There is no column {unknown[0]!r} among {', '.join(columns)}")
        added = [*(results or [RESULT]), *([ERROR] if errors == "column" else [])]
        twice = [name for place, name in enumerate(added) if name in columns or name in added[:place]]
        if twice:
            raise ValueError(f"There would be two columns {twice[0]!r}: rename or drop one first")
        scoring = cls(
            endpoint,
            urls,
            tuple((column, tuple(path.split("."))) for column, path in named.items()),
            tuple(results),
            errors,
            **options,
        )
        # What is wrong with addresses and logins is told here, and not by each task.
        scoring.endpoints()
        return scoring

    def endpoints(self) -> list[Endpoint]:
        return [
            Activator(
                url, username=self.username, password=self.password, token=self.token, timeout=self.timeout, retries=0
            ).endpoint(self.endpoint)
            for url in self.activators
        ]

    def columns_of(self, outcomes: Sequence[Any]) -> dict[str, list[Any]]:
        """The columns that rows get, from results and errors. :raises RecordError:"""
        columns: dict[str, list[Any]] = {}
        if self.results:
            outcomes = [_with_fields(outcome, index) for index, outcome in enumerate(outcomes)]
        failed = [isinstance(outcome, RecordError) for outcome in outcomes]
        if self.errors == "column":
            columns[ERROR] = [_words_of(each) if bad else None for each, bad in zip(outcomes, failed)]
        elif any(failed):
            raise outcomes[failed.index(True)]
        if not self.results:
            whole = [None if bad else json_text(each) for each, bad in zip(outcomes, failed)]
            return {RESULT: whole, **columns}
        fields = {
            name: [None if bad else each.get(name) for each, bad in zip(outcomes, failed)] for name in self.results
        }
        return {**fields, **columns}


class Scorer:
    """Scores the rows of one task, piece by piece, each by the activators in turn until all are answered."""

    def __init__(self, scoring: Scoring) -> None:
        self._scoring = scoring
        endpoints = scoring.endpoints()
        # Each task begins elsewhere.
        start = random.randrange(len(endpoints))
        self._endpoints = deque(endpoints[start:] + endpoints[:start])
        self._rests_until = dict.fromkeys(endpoints, 0.0)
        self._package = scoring.package

    def outcomes_of(self, columns: Mapping[str, Sequence[Any]], rows: int) -> list[Any]:
        """The result of each row, or its ``RecordError``. :raises KGridError: where no activator answers"""
        outcomes: dict[int, Any] = {}
        for start in range(0, rows, _PIECE_RECORDS):
            lines: dict[int, bytes] = {}
            for index in range(start, min(start + _PIECE_RECORDS, rows)):
                try:
                    lines[index] = to_line(record_of(self._scoring.inputs, columns, index))
                except (TypeError, ValueError) as problem:
                    outcomes[index] = _error_of(index, "Record not sent", str(problem))
            outcomes.update(self._answers(lines))
        return [outcomes[index] for index in range(rows)]

    def _answers(self, lines: Mapping[int, bytes]) -> dict[int, Any]:
        outcomes: dict[int, Any] = {}
        attempt = 0
        while True:
            before = len(outcomes)
            passing, failures = self._ask_each(lines, outcomes)
            if len(outcomes) == len(lines):
                return outcomes
            attempt = 0 if len(outcomes) > before else attempt + 1
            failures.extend(passing.values())
            if attempt > self._scoring.retries or not any(failure.retryable for failure in failures):
                if len(outcomes) + len(passing) == len(lines):
                    return {**outcomes, **passing}
                raise next(failure for failure in reversed(failures) if not isinstance(failure, RecordError))
            time.sleep(pause_before(max(attempt - 1, 0), failures[-1]))

    def _ask_each(
        self, lines: Mapping[int, bytes], outcomes: dict[int, Any]
    ) -> tuple[dict[int, RecordError], list[KGridError]]:
        """Adds answers to ``outcomes``. Returns those that may be others in a while, and what broke off."""
        passing: dict[int, RecordError] = {}
        failures: list[KGridError] = []
        self._endpoints.rotate(-1)
        now = time.monotonic()
        for endpoint in sorted(self._endpoints, key=lambda each: max(self._rests_until[each], now)):
            missing = [index for index in lines if index not in outcomes]
            if not missing:
                break
            try:
                if self._package is None:
                    self._package = endpoint.package()
                answers = endpoint.map([lines[index] for index in missing], errors="return", package=self._package)
                for place, answer in enumerate(answers):
                    index = missing[place]
                    if isinstance(answer, RecordError):
                        answer.index = index
                        if answer.status in _RECORD_AGAIN:
                            passing[index] = answer
                            continue
                    passing.pop(index, None)
                    outcomes[index] = answer
            except KGridError as error:
                if not error.retryable and not (isinstance(error, ServiceError) and error.status == _NOT_YET):
                    raise
                self._rests_until[endpoint] = time.monotonic() + _REST_SECONDS
                failures.append(error)
        return passing, failures


def record_of(
    inputs: Sequence[tuple[str, tuple[str, ...]]], columns: Mapping[str, Sequence[Any]], index: int
) -> dict[str, Any]:
    """A row as a record; what a row does not have is absent in it."""
    record: dict[str, Any] = {}
    for column, path in inputs:
        value = columns[column][index]
        if value is None or (value.__class__ is float and math.isnan(value)):
            continue
        place = record
        for name in path[:-1]:
            place = place.setdefault(name, {})
        place[path[-1]] = value
    return record


def json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text_of(value: Any) -> str | None:
    """What a column of text holds: text as it is, and JSON of all else."""
    return value if value is None or isinstance(value, str) else json_text(value)


def _with_fields(outcome: Any, index: int) -> Any:
    """What has no fields cannot become columns of their names."""
    if isinstance(outcome, (dict, RecordError)):
        return outcome
    detail = "results= names fields, and the result is no object: leave it out to get the result as it is"
    return _error_of(index, "Result without fields", detail)


def _error_of(index: int, title: str, detail: str) -> RecordError:
    says: dict[str, Any] = {"status": 400, "title": title, "detail": detail}
    return RecordError(f"Record {index}: {words_of(says)}", index=index, **says)


def _words_of(error: RecordError) -> str:
    return words_of({"status": error.status, "title": error.title, "detail": error.detail})
