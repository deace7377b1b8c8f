"""The HTTP server, with small limits, over real sockets."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
import tracemalloc
from collections.abc import Generator

import pytest

from kgrid_runtime.http.connection import Connection, HttpLimits, TimeLimits
from kgrid_runtime.http.request import Request, RequestReader, SizeLimits
from kgrid_runtime.http.server import Server
from tests.harness.patience import PATIENCE, in_round, promised, wait_until

HOST = b"Host: x\r\n"
ONE = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
LIMITS = HttpLimits(SizeLimits(head=2048, body=100_000), TimeLimits(0.4, 0.6, 0.8, 0.5, 0.3, 0.05), connections=20)
UNHURRIED = HttpLimits(SizeLimits(head=2048, body=100_000), TimeLimits(60, 60, 60, 60, 60, 60), connections=20)


class Echo:
    """Answers every request with its method, path, body and headers; `/later` a little later."""

    def __init__(self, limits: HttpLimits = LIMITS) -> None:
        self.loop = asyncio.new_event_loop()
        self.server = Server(self.handle, limits)
        self.port = self.loop.run_until_complete(self.server.listen("127.0.0.1", 0))
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()

    def handle(self, request: Request, connection: Connection) -> None:
        value = [request.head.method, request.head.path, request.body.decode("latin-1")]
        answer = json.dumps(value).encode()
        if request.head.path == "/later":
            self.loop.call_later(0.1, connection.respond, 200, answer)
        elif request.head.path == "/large":
            connection.respond(200, b"x" * 50_000_000)
        else:
            connection.respond(200, answer)

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self.server.close(0), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    def connect(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port))
        connection.settimeout(PATIENCE)
        return connection

    def ask(self, data: bytes, count: int = 1) -> list[object]:
        """The bodies of `count` answers."""
        with self.connect() as connection:
            connection.sendall(data)
            return bodies(connection, count)

    def ask_until_closed(self, data: bytes) -> bytes:
        """All that comes back until the server closes."""
        with self.connect() as connection:
            connection.sendall(data)
            return until_closed(connection)


def bodies(connection: socket.socket, count: int) -> list[object]:
    found: list[object] = []
    with connection.makefile("rb") as answers:
        while len(found) < count:
            length = 0
            while (line := answers.readline()) != b"\r\n":
                assert line, "the connection was closed"
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            found.append(json.loads(answers.read(length)))
    return found


def until_closed(connection: socket.socket) -> bytes:
    received = b""
    while data := connection.recv(65536):
        received += data
    return received


@pytest.fixture(scope="module")
def echo() -> Generator[Echo]:
    echo = Echo(UNHURRIED)
    yield echo
    echo.close()


@pytest.fixture(scope="module")
def impatient() -> Generator[Echo]:
    echo = Echo()
    yield echo
    echo.close()


def test_requests_on_one_connection_are_answered_in_their_order(echo: Echo) -> None:
    sent = b"".join(
        b"POST /%b HTTP/1.1\r\n%bContent-Length: 2\r\n\r\n%02d" % (path, HOST, number)
        for number, path in enumerate([b"later", b"now", b"later", b"now"])
    )
    assert echo.ask(sent, 4) == [
        ["POST", "/later", "00"],
        ["POST", "/now", "01"],
        ["POST", "/later", "02"],
        ["POST", "/now", "03"],
    ]


def test_thousands_of_requests_in_one_piece_are_answered(echo: Echo) -> None:
    assert len(echo.ask(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 3000, 3000)) == 3000


def test_a_request_may_come_byte_by_byte(echo: Echo) -> None:
    with echo.connect() as connection:
        for byte in b"POST /a%20b?c=d HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc":
            connection.sendall(bytes([byte]))
            time.sleep(0.001)
        assert bodies(connection, 1) == [["POST", "/a b", "abc"]]


def test_chunked_bodies_are_put_together(echo: Echo) -> None:
    body = b"4\r\nWiki\r\n5;note=1\r\npedia\r\n0\r\nTrailer: x\r\n\r\n"
    request = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n" + body
    assert echo.ask(request * 2, 2) == [["POST", "/", "Wikipedia"]] * 2


def test_a_body_in_tiny_chunks_takes_little_more_memory_than_its_bytes() -> None:
    size = in_round(100_000, 400_000)
    reader = RequestReader(SizeLimits())
    reader.feed(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    tracemalloc.start()
    for _ in range(size // 2 // 100):
        reader.feed(b"2\r\nab\r\n" * 100)
        assert reader.next_request() is None
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 2 * size
    reader.feed(b"0\r\n\r\n")
    request = reader.next_request()
    assert request is not None
    assert request.body == b"ab" * (size // 2)


def test_a_client_that_waits_for_a_go_ahead_gets_it_once(echo: Echo) -> None:
    with echo.connect() as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        assert connection.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"a")
        time.sleep(0.05)
        connection.sendall(b"b")
        assert bodies(connection, 1) == [["POST", "/", "ab"]]


def test_head_answers_have_no_body(echo: Echo) -> None:
    received = echo.ask_until_closed(b"HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert received.endswith(b"\r\n\r\n")
    assert b"Content-Length: 17" in received


@pytest.mark.parametrize(
    ("request_line", "closes"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", True),
        (b"GET / HTTP/1.0\r\n\r\n", True),
        (b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", False),
        (b"GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n", False),
        (b"\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", False),
    ],
)
def test_connections_are_kept_as_the_client_asks(echo: Echo, request_line: bytes, closes: bool) -> None:
    with echo.connect() as connection:
        connection.sendall(request_line)
        assert bodies(connection, 1) == [["GET", "/", ""]]
        if closes:
            assert connection.recv(1) == b""
        else:
            connection.sendall(b"GET /again HTTP/1.1\r\nHost: x\r\n\r\n")
            assert bodies(connection, 1) == [["GET", "/again", ""]]


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505),
        (b"get / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET x HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nBad Name: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nName : x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\nA: b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\na", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100001\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n", 413),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1;" + b"x" * 2000, 400),
        (b"GET /" + b"x" * 3000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 150 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: x\r\n" + b"x" * 5000, 431),
    ],
)
def test_what_cannot_be_read_in_one_way_is_refused_and_the_connection_closed(
    echo: Echo, data: bytes, status: int
) -> None:
    received = echo.ask_until_closed(data + b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n")
    assert received.startswith(b"HTTP/1.1 %d " % status)
    assert b"Connection: close\r\n" in received
    assert b"smuggled" not in received


@pytest.mark.parametrize(
    ("start", "piece", "pause", "least"),
    [
        (b"", b"", 0.1, 0.8),
        (b"GET / HT", b"", 0.1, 0.4),
        (b"GET / HTTP/1.1\r\nA: ", b"x", 0.05, 0.4),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", b"x", 0.05, 0.6),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", 0.05, 0.6),
    ],
)
def test_slow_clients_are_closed_in_time(
    impatient: Echo, start: bytes, piece: bytes, pause: float, least: float
) -> None:
    with impatient.connect() as connection:
        began = time.monotonic()
        connection.sendall(start)
        connection.settimeout(pause)
        while time.monotonic() - began < PATIENCE:
            try:
                if not connection.recv(65536):
                    break
            except (TimeoutError, socket.timeout):
                pass
            except ConnectionError:
                break
            try:
                connection.sendall(piece)
            except OSError:
                break
        assert least <= time.monotonic() - began < promised(3)


def test_a_client_that_does_not_take_its_answer_is_closed(impatient: Echo) -> None:
    with impatient.connect() as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        # Read only once the server has given up, however late a busy machine lets it.
        assert connection.recv(1)
        wait_until(lambda: impatient.server.open_connections == 0)
        total = 0
        with pytest.raises((ConnectionError, EOFError)):
            while True:
                data = connection.recv(1_000_000)
                total += len(data)
                if not data:
                    raise EOFError
        assert total < 50_000_000


def test_there_is_a_most_of_connections(echo: Echo) -> None:
    connections = [echo.connect() for _ in range(21)]
    try:
        assert until_closed(connections[-1]).startswith(b"HTTP/1.1 503 ")
    finally:
        for connection in connections:
            connection.close()
    wait_until(lambda: echo.ask_until_closed(ONE).startswith(b"HTTP/1.1 200 "))


def test_a_client_that_leaves_early_does_no_harm(echo: Echo) -> None:
    for _ in range(20):
        with echo.connect() as connection:
            connection.sendall(b"GET /later HTTP/1.1\r\nHost: x\r\n\r\n")
    wait_until(lambda: echo.ask_until_closed(ONE).startswith(b"HTTP/1.1 200 "))
    assert echo.ask(b"GET /later HTTP/1.1\r\nHost: x\r\n\r\n") == [["GET", "/later", ""]]
