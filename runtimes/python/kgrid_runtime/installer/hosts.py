"""From where pip fetches: from the package indexes of the operator, and from hosts that the operator allowed."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

_HOSTS_ALONE = ("trusted-host", "proxy")


class Hosts:
    def __init__(self, allowed: dict[str, Any], environment: Iterable[tuple[str, str]]) -> None:
        """`allowed`: `any` public host, and `hosts`, each with its port."""
        self._any = bool(allowed.get("any"))
        self._allowed = {(host, port) for host, port in allowed.get("hosts", [])}
        self._configured = set(_configured())
        for name, value in environment:
            if name.lower().endswith("_proxy") and name.lower() != "no_proxy":
                self._configured.update(_hosts_in(value, True))
        self._names = {host for host, _ in self._configured}
        self._asked = threading.local()
        self.refused: str | None = None

    def refuse(self, named: Iterable[tuple[str, int]]) -> bool:
        """Whether there is one from which nothing is fetched."""
        for host, port in named:
            known = (host, port) in self._configured or (host, port) in self._allowed
            if not (known or (self._any and _is_public(host))):
                # An index shares its host with other services.
                self.refused = f"{host}:{port}" if host in self._names else host
                return True
        return False

    def watch(self) -> None:
        """Refuses connections to this machine and to private networks, but those to hosts that the operator named."""

        def audit(event: str, arguments: tuple[Any, ...]) -> None:
            if event == "socket.getaddrinfo":
                host = arguments[0]
                self._asked.host = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
            elif event == "socket.connect" and isinstance(arguments[1], tuple):
                host = getattr(self._asked, "host", str(arguments[1][0])).lower()
                if not self.may_lead(host, str(arguments[1][0]), int(arguments[1][1])):
                    self.refused = host
                    raise PermissionError(f"{host} is no package index, and on this machine or in a private network")

        sys.addaudithook(audit)

    def may_lead(self, host: str, address: str, port: int) -> bool:
        """A name that the operator allowed may lead into private networks, but not to this machine or its link."""
        if (host, port) in self._configured or _is_public(address):
            return True
        found = ipaddress.ip_address(address.partition("%")[0])
        is_near = (found.is_loopback or found.is_link_local or found.is_unspecified) and host not in (
            address,
            "localhost",
        )
        return (host, port) in self._allowed and not is_near


def _is_public(host: str) -> bool:
    """Whether an address, in any spelling, is public; a name is, unless it means this machine."""
    text = host.partition("%")[0]
    address: ipaddress.IPv4Address | ipaddress.IPv6Address
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        try:
            address = ipaddress.IPv4Address(socket.inet_aton(text))
        except OSError:
            return text != "localhost" and not text.endswith(".localhost")
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_global and not address.is_multicast)


def _configured() -> Iterator[tuple[str, int]]:
    """By pip's variables and files, each with its port."""
    from pip._internal.configuration import Configuration  # noqa: PLC0415
    from pip._internal.models.index import PyPI  # noqa: PLC0415

    configuration = Configuration(isolated=False)
    configuration.load()
    values = list(_flat(configuration.items()))
    for name, value in values:
        yield from _hosts_in(value, name.endswith(_HOSTS_ALONE))
    is_named = any(name.endswith("index-url") and "extra" not in name for name, _ in values)
    if not is_named or any(PyPI.netloc in value for _, value in values):
        # What pip asks where nothing else is configured; and where that keeps its files.
        yield from ((host, port) for host in (PyPI.netloc, PyPI.file_storage_domain) for port in (80, 443))


def _flat(items: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, str]]:
    for name, value in items:
        if isinstance(value, dict):
            yield from _flat(value.items())
        else:
            yield name, str(value)


def _hosts_in(value: str, alone: bool) -> Iterator[tuple[str, int]]:
    """Gives the hosts and ports of addresses; `alone`: also of those without a scheme."""
    for word in value.split():
        with contextlib.suppress(ValueError):
            parts = urlsplit(word if "://" in word else f"//{word}")
            if parts.hostname and (alone or "://" in word):
                for port in _ports_of(parts.scheme, parts.port):
                    yield parts.hostname.lower(), port


def _ports_of(scheme: str, port: int | None) -> tuple[int, ...]:
    """From the port of http, servers redirect to that of https."""
    if port is not None and port != 80:
        return (port,)
    return (443,) if scheme.endswith("https") and port is None else (80, 443)
