from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kgrid_client import Activator, BrokenOff, Endpoint, OtherPackage, RecordError, ServiceError
from kgrid_client import records as sending
from tests.harness.service import Service

MANY = 30_000


def patient(number: int) -> dict[str, Any]:
    return {"creatinine": 0.5 + number % 70 / 10, "age": 18 + number % 80, "sex": ("female", "male")[number % 2]}


def test_results_come_in_order_while_records_are_taken(egfr: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    # However slow this machine is.
    monkeypatch.setattr(sending, "_SILENCE_SECONDS", 60)
    taken = 0

    def records() -> Iterator[dict[str, Any]]:
        nonlocal taken
        for number in range(MANY):
            taken += 1
            yield patient(number)

    alone = {number: egfr(patient(number)) for number in range(0, MANY, 3001)}
    most_ahead = 0
    for number, result in enumerate(egfr.map(records())):
        most_ahead = max(most_ahead, taken - number)
        if number in alone:
            assert result == alone[number]
    assert number + 1 == taken == MANY
    # Eight pieces of 64 KB, and results that came with the last one; by no means all.
    assert most_ahead < 20_000


def test_records_that_come_slowly_are_answered_meanwhile(egfr: Endpoint) -> None:
    taken = 0

    def slow() -> Iterator[dict[str, Any]]:
        nonlocal taken
        for number in range(MANY):
            time.sleep(0.02)
            taken += 1
            yield patient(number)

    results = egfr.map(slow())
    assert next(results)["egfr"] > 0
    results.close()
    # A piece of 64 KB would hold a thousand.
    assert taken < 200


def test_records_may_be_sent_with_gzip_and_as_bytes(egfr: Endpoint) -> None:
    lines = [b'{"creatinine": 1.2, "age": 65, "sex": "female"}\n'] * 3000
    results = list(egfr.map(lines, compress=True))
    assert [result["egfr"] for result in results] == [50] * 3000
    assert list(egfr.map([])) == []


def test_a_record_that_fails_is_an_error_in_its_place(egfr: Endpoint) -> None:
    records = [patient(1), {}, b"{", patient(2)]
    first, of_code, of_text, last = egfr.map(records, errors="return")
    assert (first, last) == (egfr(patient(1)), egfr(patient(2)))
    assert isinstance(of_code, RecordError)
    assert (of_code.status, of_code.title, of_code.index, of_code.line) == (400, "Invalid Input", 1, 2)
    assert "/creatinine: expected number" in of_code.detail
    assert isinstance(of_text, RecordError)
    assert (of_text.status, of_text.title, of_text.index) == (400, "Http Message Not Readable", 2)


def test_a_record_that_fails_is_raised_where_nothing_else_was_asked(egfr: Endpoint) -> None:
    results = []
    with pytest.raises(RecordError, match=r"^Record 2: 400 Invalid Input: ") as raised:
        for result in egfr.map([patient(1), patient(2), {}, patient(3)]):
            results.append(result)
    assert len(results) == raised.value.answered == raised.value.index == 2
    with pytest.raises(ValueError, match="'raise' or 'return'"):
        egfr.map([], errors="ignore")  # type: ignore[arg-type]


def test_an_error_of_the_whole_request(activator: Activator) -> None:
    with pytest.raises(ServiceError, match="404 Endpoint not found") as raised:
        list(activator.endpoint("a/b/1.0/c").map(patient(number) for number in range(MANY)))
    assert raised.value.answered == 0


def test_what_the_records_fail_with_stays_what_it_is(egfr: Endpoint) -> None:
    def records() -> Iterator[dict[str, Any]]:
        yield patient(0)
        raise ValueError("the file ends here")

    with pytest.raises(ValueError, match=r"^the file ends here$"):
        list(egfr.map(records()))
    for bad in (float("nan"), object(), b" \n", b"{}\n{}"):
        with pytest.raises(ValueError, match="Record 1 cannot be sent: "):
            list(egfr.map([patient(0), bad]))


def test_who_wants_no_more_stops_the_work(egfr: Endpoint) -> None:
    taken = 0

    def endless() -> Iterator[dict[str, Any]]:
        nonlocal taken
        while True:
            taken += 1
            yield patient(taken)

    results = egfr.map(endless())
    assert next(results)["egfr"] > 0
    results.close()
    gc.collect()
    before = taken
    assert egfr(patient(0))["egfr"] > 0
    assert taken == before < MANY


def test_only_the_package_that_is_meant_answers(egfr: Endpoint) -> None:
    package = egfr.package()
    assert package.startswith("sha256:")
    assert len(list(egfr.map([patient(0)], package=package))) == 1
    with pytest.raises(OtherPackage, match=package):
        list(egfr.map([patient(0)], package="sha256:0"))


def test_what_was_not_answered_is_told_when_the_service_is_killed(egfr: Endpoint) -> None:
    records = [patient(number) for number in range(MANY)]
    results = []
    with Service("nephrology-ckdepi-v2.0") as service:
        killed = Activator(service.url).endpoint(egfr.id)
        with pytest.raises(BrokenOff) as broken:
            for result in killed.map(records):
                results.append(result)
                if len(results) == 1000:
                    service.kill()
    assert 1000 <= len(results) == broken.value.answered < MANY
    assert broken.value.retryable
    assert broken.value.may_have_run
    results += egfr.map(records[broken.value.answered :])
    assert len(results) == MANY
    assert results[12_345] == egfr(records[12_345])
