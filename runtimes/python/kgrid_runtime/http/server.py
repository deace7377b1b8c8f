"""Listens, and closes connections whose client is too slow."""

from __future__ import annotations

import asyncio

from kgrid_runtime.http.connection import Connection, Handler, HttpLimits


class Server:
    def __init__(self, handler: Handler, limits: HttpLimits) -> None:
        self._handler = handler
        self._limits = limits
        self._connections: set[Connection] = set()
        self._server: asyncio.Server | None = None
        self._check: asyncio.TimerHandle | None = None

    async def listen(self, host: str, port: int) -> int:
        """The port, for `port` 0 one that was free. Raises OSError."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Connection(self._handler, self._limits, self._connections), host, port, backlog=512
        )
        self._check_times()
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    @property
    def open_connections(self) -> int:
        return len(self._connections)

    async def close(self, patience: float) -> None:
        """Takes no new requests, and waits up to `patience` seconds for the answers to those at hand."""
        if self._server is not None:
            self._server.close()
        if self._check is not None:
            self._check.cancel()
        loop = asyncio.get_running_loop()
        until = loop.time() + patience
        while any(connection.busy for connection in self._connections) and loop.time() < until:
            for connection in [one for one in self._connections if not one.busy]:
                connection.close()
            await asyncio.sleep(0.02)
        for connection in list(self._connections):
            connection.close()

    def _check_times(self) -> None:
        for connection in list(self._connections):
            connection.check_time()
        self._check = asyncio.get_running_loop().call_later(self._limits.times.check, self._check_times)
