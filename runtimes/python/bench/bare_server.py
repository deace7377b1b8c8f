"""The yardstick: an asyncio server of the standard library that reads, parses, calls the function and answers.

No limits, no checks, no process beside it. `python3 bench/bare_server.py` prints its port.
"""

from __future__ import annotations

import asyncio
import json
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


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(BareConnection, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())
