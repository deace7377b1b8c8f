"""A KGrid activator, and the connections to it."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import ssl
import threading
import time
from typing import Any

from kgrid_client.address import Address, authorization_of
from kgrid_client.endpoint import Endpoint

#: The service keeps a connection that does nothing for 5 s.
_IDLE_SECONDS = 3.0
_MOST_IDLE = 16


class Activator:
    """A service, by its address. Nothing is asked of it before an endpoint is called.

    It may be used by many threads at once, and pickled.

    :param url: such as ``http://127.0.0.1:8080``, or ``https://kgrid.example/activator`` behind a proxy
    :param username: of a login by HTTP Basic, with ``password``
    :param token: an OAuth 2.0 bearer token in their place
    :param timeout: seconds that a call may take; of a stream, seconds in which the service may do nothing
    :param connect_timeout: seconds in which a connection must come about
    :param retries: how often a call is sent again that was certainly not run
    :param ssl_context: for certificates of an authority of one's own, or of clients; it cannot be pickled
    :raises ValueError: where the address or the login cannot be meant
    """

    def __init__(
        self,
        url: str,
        *,
        username: str | None = None,
        password: str | None = None,
        token: str | None = None,
        timeout: float = 60,
        connect_timeout: float = 10,
        retries: int = 3,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self.url = url
        self.address = Address.parse(url)
        self.authorization = authorization_of(username, password, token)
        if not timeout > 0 or not connect_timeout > 0 or retries < 0:
            raise ValueError("timeout= and connect_timeout= are more than 0, retries= is not less than 0")
        self.timeout = timeout
        self.retries = retries
        self._connect_timeout = connect_timeout
        self._ssl_context = ssl_context
        self._lock = threading.Lock()
        self._idle: list[tuple[socket.socket, float]] = []
        self._process = os.getpid()

    def endpoint(self, endpoint: str, version: str | None = None) -> Endpoint:
        """An endpoint by its id, such as ``nephrology/ckdepi/2.0/egfr``.

        :param version: of an id without one; where that is left out too, the newest that is active
        """
        return Endpoint(self, endpoint, version)

    def connect(self, *, is_new: bool = False) -> socket.socket:
        """:raises Unreachable:"""
        while not is_new:
            with self._lock:
                # A process that was forked has the connections of the other one.
                if self._process != os.getpid() or not self._idle:
                    break
                connection, since = self._idle.pop()
            if time.monotonic() - since < _IDLE_SECONDS and not _says_anything(connection):
                return connection
            connection.close()
        return self.address.connect(self._connect_timeout, self._ssl_context)

    def keep(self, connection: socket.socket) -> None:
        """For the next call."""
        with self._lock:
            if self._process != os.getpid():
                self._idle, self._process = [], os.getpid()
            if len(self._idle) < _MOST_IDLE:
                self._idle.append((connection, time.monotonic()))
                return
        connection.close()

    def close(self) -> None:
        """Closes connections that nothing uses; it can be used again."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            with contextlib.suppress(OSError):
                connection.close()

    def __enter__(self) -> Activator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Activator({self.url!r})"

    def __getstate__(self) -> dict[str, Any]:
        own = {"_lock", "_idle", "_process"}
        return {name: value for name, value in self.__dict__.items() if name not in own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()
        self._idle = []
        self._process = os.getpid()


def _says_anything(connection: socket.socket) -> bool:
    """Of one on which nothing was asked: that it has ended."""
    if not hasattr(select, "poll"):
        return bool(select.select([connection], [], [], 0)[0])
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(0))
