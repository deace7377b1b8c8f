"""The yardsticks: servers of the standard library that read, parse, call the function and answer.

No limits, no checks, no process beside them. `python3 bench/bare_servers.py asyncio|http.server` prints its port.
"""

from __future__ import annotations

import asyncio
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast


def main(value: Any) -> Any:
    return {"greeting": f"Hello, {value['name']}"}


class BareConnection(asyncio.Protocol):
    def __init__(self) -> None:
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while True:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            headers: dict[str, str] = {}
            for line in self._buffer[:end].decode("latin-1").split("\r\n")[1:]:
                name, _, value = line.partition(":")
                headers[name.lower()] = value.strip()
            stop = end + 4 + int(headers.get("content-length", "0"))
            if len(self._buffer) < stop:
                return
            body, self._buffer = self._buffer[end + 4 : stop], self._buffer[stop:]
            answer = json.dumps({"result": main(json.loads(body))}).encode()
            if self._transport is not None:
                head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(answer)}\r\n\r\n"
                self._transport.write(head.encode() + answer)


async def serve_asyncio() -> None:
    server = await asyncio.get_running_loop().create_server(BareConnection, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


class BareHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # An answer is written in two pieces, of which the kernel would hold up the second.
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        answer = json.dumps({"result": main(json.loads(body))}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


def serve_http_server() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), BareHandler)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    if sys.argv[1:] == ["http.server"]:
        serve_http_server()
    else:
        asyncio.run(serve_asyncio())
