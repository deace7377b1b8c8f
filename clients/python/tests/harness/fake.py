"""A server that answers as a test says, so that answers can be wrong in any way."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Generator

#: What a test does with one connection; it is closed afterwards.
Script = Callable[[socket.socket], None]

OK_RECORDS = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"


class FakeServer:
    """Each connection gets the next script; the last one is for all that follow."""

    def __init__(self, scripts: tuple[Script, ...], context: ssl.SSLContext | None) -> None:
        self._scripts = scripts
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.url = f"{'http' if context is None else 'https'}://127.0.0.1:{self.port}"
        self.connections = 0
        #: What each connection began with.
        self.heads: list[str] = []
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        # Wakes what waits for a connection.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                script = self._scripts[min(self.connections, len(self._scripts) - 1)]
                self.connections += 1
                threading.Thread(target=self._serve, args=(connection, script), daemon=True).start()

    def _serve(self, plain: socket.socket, script: Script) -> None:
        # What a client left is no fault of the test.
        with contextlib.suppress(OSError), plain:
            connection = plain
            if self._context is not None:
                connection = self._context.wrap_socket(plain, server_side=True)
            self._open.append(connection)
            self.heads.append(read_head(connection))
            with connection:
                script(connection)


@contextlib.contextmanager
def fake_server(*scripts: Script, context: ssl.SSLContext | None = None) -> Generator[FakeServer]:
    server = FakeServer(scripts, context)
    try:
        yield server
    finally:
        server.close()


def read_head(connection: socket.socket) -> str:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        if not byte:
            break
        head += byte
    return head.decode()


def read_body(connection: socket.socket) -> bytes:
    """A body in chunks, to its end."""
    file = connection.makefile("rb")
    body = b""
    while size := int(file.readline(), 16):
        body += file.read(size)
        file.readline()
    file.readline()
    return body


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def says(*parts: bytes) -> Script:
    """Answers with these, whatever it is asked."""

    def script(connection: socket.socket) -> None:
        for part in parts:
            connection.sendall(part)
        connection.shutdown(socket.SHUT_WR)
        # Until the client goes: an end before all was read would be a reset.
        while connection.recv(65536):
            pass

    return script


def is_silent(connection: socket.socket) -> None:
    while connection.recv(65536):
        pass


def whole(status: str, body: bytes, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body
