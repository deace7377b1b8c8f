"""Services that answer badly, slowly, or not at all."""

from __future__ import annotations

import gzip
import socket
import ssl
import threading
import time

import pytest

from kgrid_client import (
    Activator,
    BadAnswer,
    BrokenOff,
    Endpoint,
    KGridError,
    RecordError,
    Redirected,
    ServiceError,
    TimedOut,
    answers,
    records,
    wire,
)
from tests.harness.fake import LAST_CHUNK, OK_RECORDS, FakeServer, Script, chunk, fake_server, is_silent, says, whole
from tests.harness.service import PROJECT

TLS = PROJECT / "test" / "support" / "tls"
RESULT = b'{"result":1}\n'
#: More than connections hold by themselves.
LARGE = [{"text": "x" * 1000}] * 20_000


def endpoint_of(server: FakeServer, **options: object) -> Endpoint:
    return Activator(server.url, **{"timeout": 20.0, "retries": 1, **options}).endpoint("a/b/1.0/c")  # type: ignore[arg-type]


def echoes(connection: socket.socket) -> None:
    """Answers each record at once."""
    connection.sendall(OK_RECORDS)
    file = connection.makefile("rb")
    while size := int(file.readline(), 16):
        count = file.read(size).count(b"\n")
        file.readline()
        connection.sendall(chunk(RESULT * count))
    connection.sendall(LAST_CHUNK)


def records_then(*parts: bytes) -> Script:
    return says(OK_RECORDS, *parts)


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (b"SSH-2.0-OpenSSH_9\r\n", BadAnswer, "does not answer as HTTP"),
        (b"", BrokenOff, "broke off"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{}", BrokenOff, "broke off"),
        (whole("200 OK", b"{"), BadAnswer, "no JSON"),
        (whole("200 OK", b"\xff"), BadAnswer, "no JSON"),
        (whole("200 OK", b"[" * 100_000), BadAnswer, "no JSON"),
        (whole("200 OK", b"{}", "Content-Encoding: br"), BadAnswer, "Content-Encoding"),
        (whole("200 OK", b"{}", "Content-Encoding: gzip"), BadAnswer, "gzip"),
        (whole("200 OK", gzip.compress(b"{}")[:-9], "Content-Encoding: gzip"), BrokenOff, "broke off"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>Log in</p>", BadAnswer, "text/html"),
        (whole("307 Temporary Redirect", b"", "Location: http://elsewhere/x"), Redirected, "elsewhere"),
        (whole("401 Unauthorized", b'{"Status": "401 Unauthorized", "Title": "Unauthorized"}'), ServiceError, "401"),
        (whole("500 Internal Server Error", b"<html>"), ServiceError, "^500 Internal Server Error$"),
        (whole("404 Not Found", b'{"Status": "404 NOT_FOUND", "Error": "No"}'), ServiceError, "^404 NOT_FOUND: No$"),
    ],
)
def test_an_answer_that_is_none(answer: bytes, kind: type[KGridError], words: str) -> None:
    with fake_server(says(answer)) as server:
        with pytest.raises(kind, match=words):
            endpoint_of(server)({})
        assert server.connections == 1


@pytest.mark.parametrize(
    ("parts", "kind", "words", "answered"),
    [
        ([], BrokenOff, "broke off", 0),
        ([chunk(RESULT * 2)], BrokenOff, "broke off after 2 records", 2),
        ([chunk(RESULT + RESULT[:5]), LAST_CHUNK], BrokenOff, "broke off after 1 records", 1),
        ([chunk(RESULT), LAST_CHUNK], BrokenOff, "broke off after 1 records", 1),
        ([b"100\r\nabc"], BrokenOff, "broke off", 0),
        ([b"zz\r\n"], BrokenOff, "broke off", 0),
        ([chunk(RESULT + b"no\n"), LAST_CHUNK], BadAnswer, "record 1 is no JSON", 1),
        ([chunk(b"7\n"), LAST_CHUNK], BadAnswer, "neither a result nor an error", 0),
        ([chunk(b'{"error": "x"}\n'), LAST_CHUNK], BadAnswer, "neither a result nor an error", 0),
        ([chunk(RESULT * 4), LAST_CHUNK], BadAnswer, "more answers than there are records", 3),
    ],
)
def test_answers_to_records_that_are_none(
    parts: list[bytes], kind: type[KGridError], words: str, answered: int
) -> None:
    results = []
    with fake_server(records_then(*parts)) as server:
        with pytest.raises(kind, match=words) as raised:
            for result in endpoint_of(server).map([1, 2, 3]):
                results.append(result)
        assert server.connections == 1
    assert len(results) == raised.value.answered == answered


def test_answers_may_come_in_any_pieces_and_compressed() -> None:
    lines = b'\n{"result":{"a":"\xc3\xa9"}}\r\n\n{"error":{"Status":"418 I"},"line":2}\n{"result":null}'
    one_by_one = [chunk(bytes([byte])) for byte in lines + b"\n"]
    packed = gzip.compress(lines[:20]) + gzip.compress(lines[20:] + b"\n")
    gzipped = OK_RECORDS.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
    for script in (records_then(*one_by_one, LAST_CHUNK), says(gzipped, chunk(packed), LAST_CHUNK)):
        with fake_server(script) as server:
            first, second, third = endpoint_of(server).map([1, 2, 3], errors="return")
        assert (first, third) == ({"a": "é"}, None)
        assert isinstance(second, RecordError)
        assert (second.status, second.index, str(second)) == (418, 1, "Record 1: 418 I")


def test_a_refusal_comes_before_all_is_sent() -> None:
    refusal = whole("415 Unsupported Media Type", b'{"Status": "415", "Title": "T", "Detail": "D"}')

    def refuses(connection: socket.socket) -> None:
        connection.recv(1000)
        connection.sendall(refusal)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1000)

    with fake_server(refuses) as server, pytest.raises(ServiceError, match=r"^415 T: D$") as raised:
        list(endpoint_of(server).map(LARGE))
    assert raised.value.answered == 0
    with fake_server(says(refusal)) as server, pytest.raises(ServiceError, match=r"^415 T: D$"):
        list(endpoint_of(server).map(LARGE))


def test_what_was_said_before_the_end_is_read_although_nothing_more_can_be_sent() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(whole("413 Payload Too Large", b"{}"))
        theirs.close()
        ours.setblocking(False)
        both = wire.Wire(ours, records.Whole(b"x"), patience=20)
        with answers.open_answer(both) as answer:
            assert answer.status == 413
            assert not both.has_sent_all


def test_a_service_that_is_silent_is_waited_for_no_longer_than_was_asked() -> None:
    with fake_server(is_silent) as server:
        silent = endpoint_of(server, timeout=0.2, retries=0)
        with pytest.raises(TimedOut, match="no answer in time"):
            silent({})
        with pytest.raises(TimedOut):
            list(silent.map([1]))
        with pytest.raises(TimedOut):
            silent.package()


def test_a_service_that_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_SILENCE_SECONDS", 0.01)

    def is_deaf(connection: socket.socket) -> None:
        connection.sendall(OK_RECORDS + chunk(RESULT))
        released.wait(20)

    released = threading.Event()
    with fake_server(is_deaf) as server, pytest.raises(TimedOut, match="after 1 records") as raised:
        list(endpoint_of(server, timeout=3).map(LARGE))
    released.set()
    assert raised.value.answered == 1


BUSY = whole("503 Service Unavailable", b"{}", "Retry-After: 0")
GOOD = whole("200 OK", b"1")


@pytest.mark.parametrize(
    ("first", "repeatable", "is_repeated"),
    [
        (BUSY, False, True),
        (whole("429 Too Many Requests", b"{}"), False, True),
        (whole("502 Bad Gateway", b"{}"), False, False),
        (whole("502 Bad Gateway", b"{}"), True, True),
        (whole("504 Gateway Timeout", b"{}"), False, False),
        (b"", False, False),
        (b"", True, True),
        (whole("500 Internal Server Error", b"{}"), True, False),
        (whole("404 Not Found", b"{}"), True, False),
    ],
)
def test_only_what_is_safe_is_sent_again(
    first: bytes, repeatable: bool, is_repeated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    with fake_server(says(first), says(GOOD)) as server:
        endpoint = endpoint_of(server)
        if is_repeated:
            assert endpoint({}, repeatable=repeatable) == 1
        else:
            with pytest.raises(KGridError):
                endpoint({}, repeatable=repeatable)
        assert server.connections == 1 + is_repeated
    assert len([seconds for seconds in waited if seconds >= 0.25]) == is_repeated


def test_it_waits_as_long_as_the_service_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    slower = BUSY.replace(b"After: 0", b"After: 7")
    with fake_server(says(slower), says(BUSY)) as server, pytest.raises(ServiceError, match="503") as raised:
        endpoint_of(server)({})
    assert waited == [7]
    assert raised.value.retryable


def test_logins_and_paths_are_sent_as_they_should_be() -> None:
    with fake_server(says(GOOD)) as server:
        Activator(server.url, username="ann", password="a:ü").endpoint("a/b/c")({})
        Activator(server.url + "/kgrid/", token="t0ken").endpoint("a/b/ü c")({})
        Activator(server.url).endpoint("a/b/c", version="1 0")({})
    basic, bearer, plain = server.heads
    assert "\r\nAuthorization: Basic YW5uOmE6w7w=\r\n" in basic
    assert bearer.startswith("POST /kgrid/a/b/%C3%BC%20c HTTP/1.1\r\n")
    assert "\r\nAuthorization: Bearer t0ken\r\n" in bearer
    assert plain.startswith("POST /a/b/c?v=1%200 HTTP/1.1\r\n")
    assert f"\r\nHost: 127.0.0.1:{server.port}\r\n" in plain
    assert "Authorization" not in plain


def test_https_is_checked_and_goes_both_ways_at_once() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "localhost.pem", TLS / "localhost.key")
    with fake_server(echoes, context=context) as server:
        trusting = ssl.create_default_context(cafile=str(TLS / "authority.pem"))
        url = server.url.replace("127.0.0.1", "localhost")
        good = Activator(url, ssl_context=trusting).endpoint("a/b/c")
        assert sum(good.map(LARGE[:5000])) == 5000
        with pytest.raises(KGridError, match="certificate that is not trusted") as refused:
            Activator(url).endpoint("a/b/c")({})
        assert not refused.value.retryable
