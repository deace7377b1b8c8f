"""What tasks of clusters do, with activators that fail in every way."""

from __future__ import annotations

import json
import pickle
import socket
import time
from typing import Any

import pandas as pd
import pytest

from kgrid_client import Endpoint, OtherPackage, RecordError, ServiceError, Unreachable
from kgrid_client.scoring import Scorer, Scoring
from kgrid_client.spark import partition_scorer
from tests.harness.fake import LAST_CHUNK, OK_RECORDS, Script, chunk, fake_server, read_body, says, whole

OK = OK_RECORDS.replace(b"\r\n\r\n", b"\r\nKGrid-Package-Digest: p1\r\n\r\n")
NUMBERS = {"n": [0, 1, 2, 3, 4]}


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Nothing waits; what it would have waited."""
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    # The first activator is asked first.
    monkeypatch.setattr("random.randrange", lambda _: -1)
    return waited


def scoring_of(*activators: str, **options: Any) -> Scoring:
    every = {"inputs": None, "results": [], "columns": ["n"], "errors": "column", "retries": 1, "timeout": 20.0}
    login = {"username": None, "password": None, "token": None, "package": "p1"}
    return Scoring.of("a/b/1.0/c", activators, **{**every, **login, **options})


def refused() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


class Activator:
    """Gives back ``n``, as many as it is told, of each request in turn; the errors in place of some."""

    def __init__(self, *most: int, errors: dict[int, list[int]] | None = None) -> None:
        self._most = list(most)
        self._errors = errors or {}
        self.asked: list[list[int]] = []

    def script(self, connection: socket.socket) -> None:
        numbers = [json.loads(line)["n"] for line in read_body(connection).splitlines()]
        self.asked.append(numbers)
        most = self._most.pop(0) if self._most else len(numbers)
        connection.sendall(OK + chunk(b"".join(self._answer(number) for number in numbers[:most]) or b"\n"))
        if most >= len(numbers):
            connection.sendall(LAST_CHUNK)

    def _answer(self, number: int) -> bytes:
        statuses = self._errors.get(number, [])
        answer = {"error": {"Status": f"{statuses.pop(0)} X"}, "line": 1} if statuses else {"result": number * 10}
        return json.dumps(answer).encode() + b"\n"


def run(scoring: Scoring) -> list[Any]:
    return Scorer(pickle.loads(pickle.dumps(scoring))).outcomes_of(NUMBERS, 5)


def test_only_rows_without_an_answer_are_sent_again_and_elsewhere() -> None:
    first, second = Activator(2, 0), Activator()
    with fake_server(first.script) as one, fake_server(second.script) as two:
        assert run(scoring_of(one.url, two.url)) == [0, 10, 20, 30, 40]
    assert (first.asked, second.asked) == ([[0, 1, 2, 3, 4]], [[2, 3, 4]])


def test_an_activator_that_failed_is_asked_last_for_a_while() -> None:
    first, second = Activator(2), Activator()
    with fake_server(first.script) as one, fake_server(second.script) as two:
        scorer = Scorer(scoring_of(one.url, two.url))
        for _ in range(3):
            assert scorer.outcomes_of(NUMBERS, 5) == [0, 10, 20, 30, 40]
    assert (len(first.asked), len(second.asked)) == (1, 3)


def test_where_none_answers_the_task_fails(pauses: list[float]) -> None:
    with pytest.raises(Unreachable):
        run(scoring_of(refused(), refused()))
    assert len(pauses) == 1


def test_as_long_as_there_are_answers_it_goes_on(pauses: list[float]) -> None:
    slow = Activator(1, 0, 1, 0, 1, 0, 1, 0)
    with fake_server(slow.script) as one:
        assert run(scoring_of(one.url)) == [0, 10, 20, 30, 40]
    assert slow.asked == [[0, 1, 2, 3, 4], *[[1, 2, 3, 4]] * 2, *[[2, 3, 4]] * 2, *[[3, 4]] * 2, [4], [4]]
    assert len(pauses) == 8


def test_a_record_that_may_be_answered_later_is_sent_again_alone() -> None:
    busy = Activator(errors={1: [503], 3: [500], 4: [503] * 9})
    with fake_server(busy.script) as one:
        outcomes = run(scoring_of(one.url))
    assert [getattr(each, "status", each) for each in outcomes] == [0, 10, 20, 500, 503]
    assert [getattr(each, "index", None) for each in outcomes] == [None, None, None, 3, 4]
    assert busy.asked == [[0, 1, 2, 3, 4], [1, 4], [4], [4]]


def refusal(status: str) -> Script:
    return says(whole(status, b"{}"))


def test_one_that_does_not_have_the_endpoint_yet_is_passed_over(pauses: list[float]) -> None:
    missing = refusal("404 Not Found")
    with fake_server(missing) as one, fake_server(Activator().script) as two:
        assert run(scoring_of(one.url, two.url)) == [0, 10, 20, 30, 40]
        with pytest.raises(ServiceError, match="404"):
            run(scoring_of(one.url, one.url))
    assert pauses == []


@pytest.mark.parametrize("status", ["401 Unauthorized", "415 Unsupported Media Type"])
def test_what_is_refused_is_not_asked_elsewhere(status: str) -> None:
    with fake_server(refusal(status)) as one, fake_server(Activator().script) as two:
        with pytest.raises(ServiceError, match=status):
            run(scoring_of(one.url, two.url))
        assert two.connections == 0


def test_results_of_two_packages_are_never_mixed() -> None:
    def other(connection: socket.socket) -> None:
        read_body(connection)
        connection.sendall(OK.replace(b"p1", b"p2") + LAST_CHUNK)

    # Of the first, one connection tells the package where it is not said.
    for package, answered in (("p1", (2,)), (None, (0, 2))):
        first = Activator(*answered).script
        said = pytest.raises(OtherPackage, match="is p2, not p1")
        with fake_server(first) as one, fake_server(other) as two, said:
            run(scoring_of(one.url, two.url, package=package))


def test_a_row_that_cannot_be_said_fails_alone() -> None:
    columns = {"n": [1, float("inf"), object(), None, float("nan")]}
    with fake_server(says(OK, chunk(b'{"result":1}\n' * 3), LAST_CHUNK)) as one:
        outcomes = Scorer(scoring_of(one.url)).outcomes_of(columns, 5)
    assert [getattr(each, "title", each) for each in outcomes] == [1, "Record not sent", "Record not sent", 1, 1]
    assert [getattr(each, "index", None) for each in outcomes] == [None, 1, 2, None, None]


def test_errors_are_raised_or_a_column() -> None:
    failed = RecordError("Record 1: 500 X: y", index=1, status=500, title="X", detail="y")
    outcomes = [{"a": 1, "b": [2]}, failed, {"a": 3}]
    column = scoring_of("http://a", results=["a", "b"])
    assert column.columns_of(outcomes) == {"a": [1, None, 3], "b": [[2], None, None], "error": [None, "500 X: y", None]}
    whole_results = scoring_of("http://a").columns_of(outcomes)["result"]
    assert whole_results == ['{"a":1,"b":[2]}', None, '{"a":3}']
    with pytest.raises(RecordError, match="Record 1: 500 X: y"):
        scoring_of("http://a", errors="raise").columns_of(outcomes)
    with pytest.raises(RecordError, match="Record 0: 400 Result without fields"):
        scoring_of("http://a", errors="raise", results=["a"]).columns_of([7])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"activators": ()}, "names no activator"),
        ({"activators": ("nowhere",)}, "such as http"),
        ({"errors": "ignore"}, "'raise' or 'column'"),
        ({"inputs": ["m"]}, "no column 'm' among n"),
        ({"results": ["n"]}, "two columns 'n'"),
        ({"results": ["error"]}, "two columns 'error'"),
        ({"token": "t", "username": "u"}, "either a token"),
    ],
)
def test_what_cannot_work_is_told_before_any_task(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scoring_of(*options.pop("activators", ("http://a",)), **options)


def test_frames_of_pandas_are_scored(egfr: Endpoint) -> None:
    frame = pd.DataFrame(
        {"patient": [1, 2, 3], "scr": [1.2, None, 0.9], "age": [65.0, 40.0, None], "sex": ["female", "male", "male"]},
        index=[7, 8, 9],
    )
    scoring = scoring_of(
        egfr.activator.url,
        columns=list(frame.columns),
        inputs={"scr": "creatinine", "age": "age", "sex": "sex"},
        results=["egfr", "category"],
        package=None,
    )
    scoring = Scoring(**{**vars(scoring), "endpoint": egfr.id})
    scored = list(partition_scorer(scoring, ["age"], ["category", "error"])([frame, frame.iloc[:0]]))
    assert [len(each) for each in scored] == [3, 0]
    assert scored[0]["egfr"].tolist() == [50, None, None]
    assert scored[0]["category"].tolist() == ["G3a", None, None]
    assert [text and text[:62] for text in scored[0]["error"]] == [
        None,
        "400 Invalid Input: The input breaks the schema of nephrology/c",
        "400 Invalid Input: The input breaks the schema of nephrology/c",
    ]


def test_whole_numbers_stay_whole_and_empty_cells_are_absent() -> None:
    sent: list[Any] = []

    def script(connection: socket.socket) -> None:
        sent.extend(read_body(connection).splitlines())
        connection.sendall(OK + chunk(b'{"result":1}\n' * 3) + LAST_CHUNK)

    frame = pd.DataFrame({"n": [65.0, None, 2.0], "x": [0.5, 1.0, None], "t": ["a", None, "c"]})
    inputs = {"n": "n", "x": "lab.x", "t": "lab.t"}
    with fake_server(script) as one:
        scoring = scoring_of(one.url, columns=["n", "x", "t"], inputs=inputs)
        (scored,) = partition_scorer(scoring, ["n"], ["result", "error"])([frame])
    assert sent == [b'{"n":65,"lab":{"x":0.5,"t":"a"}}', b'{"lab":{"x":1.0}}', b'{"n":2,"lab":{"t":"c"}}']
    assert scored["result"].tolist() == ["1", "1", "1"]
