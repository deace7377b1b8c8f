from __future__ import annotations

import pickle
import socket
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest

from kgrid_client import Activator, Endpoint, RecordError, ServiceError, Unreachable

PATIENT = {"creatinine": 1.2, "age": 65, "sex": "female"}


def test_an_endpoint_is_called_with_a_record(egfr: Endpoint) -> None:
    assert egfr(PATIENT)["egfr"] == 50
    assert egfr({**PATIENT, "creatinine": Decimal("1.2"), "age": Decimal(65)})["egfr"] == 50
    assert egfr(b'{"creatinine": 1.2, "age": 65, "sex": "female"}')["category"] == "G3a"


def test_text_is_sent_as_it_is(activator: Activator) -> None:
    phenotype = activator.endpoint("cpic/cyp2d6/1.0/phenotype")
    assert phenotype("*1/*4", content_type="text/plain")["activityScore"] == 1
    with pytest.raises(TypeError, match="text or bytes"):
        phenotype({}, content_type="text/plain")


def test_the_version_may_be_named_apart(activator: Activator) -> None:
    assert activator.endpoint("nephrology/ckdepi/egfr", version="2.0")(PATIENT)["egfr"] == 50
    assert activator.endpoint("/nephrology/ckdepi/egfr")(PATIENT)["egfr"] == 50
    with pytest.raises(ServiceError, match="404"):
        activator.endpoint("nephrology/ckdepi/egfr", version="9&x=1")(PATIENT)


def test_an_error_of_the_service_tells_what_is_wrong(activator: Activator, egfr: Endpoint) -> None:
    with pytest.raises(ServiceError) as of_code:
        egfr({})
    error = of_code.value
    assert (error.status, error.title) == (400, "Invalid Input")
    assert error.detail.startswith(
        "The input breaks the schema of nephrology/ckdepi/2.0/egfr: /creatinine: expected number"
    )
    assert not error.retryable
    with pytest.raises(ServiceError) as of_path:
        activator.endpoint("a/b/1.0/c")(PATIENT)
    assert (of_path.value.status, of_path.value.title) == (404, "Endpoint not found")
    assert str(of_path.value) == "404 Endpoint not found: No active endpoints found for a/b/c"
    assert not of_path.value.may_have_run


def test_connections_are_kept_and_shared_by_threads(activator: Activator, egfr: Endpoint) -> None:
    first = activator.connect()
    activator.keep(first)
    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(lambda age: egfr({**PATIENT, "age": age})["egfr"], range(18, 118)))
    alone = [egfr({**PATIENT, "age": age})["egfr"] for age in range(18, 118)]
    assert results == alone
    last = activator.connect()
    assert last.getsockname() == activator_again(activator, last)
    last.close()


def activator_again(activator: Activator, connection: socket.socket) -> object:
    """The name of the connection that comes after this one was given back."""
    activator.keep(connection)
    return activator.connect().getsockname()


def test_what_clusters_send_around_can_be_pickled(egfr: Endpoint) -> None:
    egfr(PATIENT)
    assert pickle.loads(pickle.dumps(egfr))(PATIENT)["egfr"] == 50
    error = RecordError("Record 3: 500 No", index=3, line=4, status=500, title="No", detail="x")
    error.answered = 3
    copy = pickle.loads(pickle.dumps(error))
    assert vars(copy) == vars(error)
    assert str(copy) == str(error)


def test_an_address_where_nothing_is() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    nothing = Activator(f"http://127.0.0.1:{port}", retries=0).endpoint("a/b/c")
    with pytest.raises(Unreachable, match="cannot be reached") as of_call:
        nothing({})
    assert of_call.value.retryable
    assert not of_call.value.may_have_run
    records = iter(range(9))
    with pytest.raises(Unreachable):
        list(nothing.map(records))
    assert next(records) == 0


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("127.0.0.1:8080", "such as http"),
        ("ftp://127.0.0.1", "such as http"),
        ("http://", "such as http"),
        ("http://ann:secret@127.0.0.1", "username="),
        ("http://127.0.0.1?a=b", "no query"),
        ("http://127.0.0.1/a\r\nb", "no spaces"),
    ],
)
def test_an_address_that_cannot_be_meant(url: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refused:
        Activator(url)
    assert "secret" not in str(refused.value)


def test_a_login_that_cannot_be_meant() -> None:
    for login in ({"username": "ann"}, {"token": "a", "username": "b", "password": "c"}, {"token": "a\r\nX: y"}):
        with pytest.raises(ValueError, match=r"token|login"):
            Activator("http://127.0.0.1", **login)  # type: ignore[arg-type]
    for endpoint in ("", "/", "a//b", "../a"):
        with pytest.raises(ValueError, match="such as"):
            Activator("http://127.0.0.1").endpoint(endpoint)
