"""Where a service is, and how a connection to it is made."""

from __future__ import annotations

import base64
import re
import socket
import ssl
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from kgrid_client.errors import Unreachable

_CONTROL = re.compile(r"[\x00-\x20\x7f]")


@dataclass(frozen=True)
class Address:
    host: str
    port: int
    is_secure: bool
    #: What stands in front of all paths of the service, such as "/kgrid" behind a proxy; without a slash at the end.
    prefix: str

    @classmethod
    def parse(cls, url: str) -> Address:
        """:raises ValueError: where it is no address of a service"""
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(f"An activator has an address such as http://127.0.0.1:8080 (got {_without_login(url)!r})")
        if parts.username is not None or parts.password is not None:
            raise ValueError("Give username= and password= in place of a login within the address")
        if parts.query or parts.fragment or _CONTROL.search(url):
            raise ValueError(f"The address of an activator has no query and no spaces (got {url!r})")
        is_secure = parts.scheme == "https"
        port = (443 if is_secure else 80) if parts.port is None else parts.port
        return cls(parts.hostname, port, is_secure, parts.path.rstrip("/"))

    @property
    def host_header(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.is_secure else 80) else f"{host}:{self.port}"

    def path_of(self, endpoint: str) -> str:
        return f"{self.prefix}/{quote(endpoint, safe='/:@!$()*+,;=~')}"

    def connect(self, timeout: float, context: ssl.SSLContext | None) -> socket.socket:
        """A connection that never blocks. :raises Unreachable:"""
        where = f"{self.host}:{self.port}"
        try:
            plain = socket.create_connection((self.host, self.port), timeout)
        except (OSError, UnicodeError) as error:
            raise Unreachable(f"{where} cannot be reached: {error}") from error
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connected = plain
            if self.is_secure:
                secure = context if context is not None else ssl.create_default_context()
                connected = secure.wrap_socket(plain, server_hostname=self.host)
            connected.setblocking(False)
            return connected
        except ssl.SSLCertVerificationError as error:
            plain.close()
            failure = Unreachable(f"{where} has a certificate that is not trusted: {error.verify_message}")
            failure.retryable = False
            raise failure from error
        except OSError as error:
            plain.close()
            raise Unreachable(f"{where} cannot be reached: {error}") from error


def authorization_of(username: str | None, password: str | None, token: str | None) -> str | None:
    """The header. :raises ValueError: where the parts do not make one"""
    if token is not None:
        if username is not None or password is not None:
            raise ValueError("Give either a token or a username and password")
        if not token.isascii() or not token or _CONTROL.search(token):
            raise ValueError("A token is text without spaces and line ends")
        return f"Bearer {token}"
    if username is None and password is None:
        return None
    if username is None or password is None:
        raise ValueError("A login needs both username= and password=")
    if ":" in username:
        raise ValueError("A username has no colon")
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


def _without_login(url: str) -> str:
    return re.sub(r"//[^/@]*@", "//…@", url)
