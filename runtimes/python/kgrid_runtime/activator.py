"""The activator, as the runtime sees it: registration, artifacts, other endpoints."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from urllib.parse import urlsplit

from kgrid_runtime.http.client import Answer, Client, Unreachable
from kgrid_runtime.settings import Settings

_MIB = 1024 * 1024


class Refused(Exception):
    """The activator's answer was an error, or there was none. The text is its Detail."""


class Activator:
    def __init__(self, settings: Settings, client: Client, secret: str | None) -> None:
        self._client = client
        # Beside the result, an answer holds the metadata of the KO and the input as a text.
        self._largest_answer = settings.workers.output + 2 * settings.workers.body + 2 * _MIB
        self._settings = settings
        self.url = settings.activator.geturl()
        """Without credentials."""
        self._own_headers: dict[str, str] = {}
        if settings.credentials is not None:
            token = base64.b64encode(":".join(settings.credentials).encode()).decode()
            self._own_headers["Authorization"] = f"Basic {token}"
        if secret is not None:
            self._own_headers["x-kgrid-runtime-secret"] = secret

    async def register(self, registration: dict[str, object]) -> None:
        """Raises Refused."""
        await self._ask("POST", f"{self.url}/proxy/environments", json.dumps(registration).encode(), {}, 10, _MIB)

    async def artifact(self, url: str, limit: int) -> bytes | None:
        """The bytes at `url`, None for 404. Raises Refused."""
        # Credentials are for the activator alone, whatever address an activation names.
        headers = self._own_headers if self._is_activator(url) else {}
        try:
            answer = await self._client.exchange("GET", url, headers, b"", seconds=60, limit=limit)
        except Unreachable as unreachable:
            raise Refused(str(unreachable)) from None
        if answer.status == 404:
            return None
        if answer.status != 200:
            raise Refused(f"the activator answered {answer.status}")
        return answer.body

    async def execute(
        self, uri: str, body: bytes, depth: str, token: str, trace: Mapping[str, str], seconds: float
    ) -> bytes:
        """The activator's answer for another endpoint. `token` came with the call that asks. Raises Refused."""
        headers = {"Content-Type": "application/json", "x-kgrid-deadline-ms": str(max(int(seconds * 1000), 1))}
        if depth:
            headers["x-kgrid-depth"] = depth
        if token:
            headers["x-kgrid-call-token"] = token
        headers.update(trace)
        return (await self._ask("POST", f"{self.url}/{uri}", body, headers, seconds, self._largest_answer)).body

    async def metadata(self, uri: str, seconds: float) -> bytes:
        """The activator's representation of an endpoint. Raises Refused."""
        return (await self._ask("GET", f"{self.url}/endpoints/{uri}", b"", {}, seconds, _MIB)).body

    async def _ask(
        self, method: str, url: str, body: bytes, headers: dict[str, str], seconds: float, limit: int
    ) -> Answer:
        every = {"Accept": "application/json", **self._own_headers, **headers}
        if method == "POST":
            every.setdefault("Content-Type", "application/json")
        try:
            answer = await self._client.exchange(method, url, every, body, seconds=seconds, limit=limit)
        except Unreachable as unreachable:
            raise Refused(str(unreachable)) from None
        if not 200 <= answer.status < 300:
            raise Refused(_detail(answer))
        return answer

    def _is_activator(self, url: str) -> bool:
        asked, own = urlsplit(url), self._settings.activator
        return (asked.scheme, asked.hostname, asked.port) == (own.scheme, own.hostname, own.port)


def _detail(answer: Answer) -> str:
    try:
        error = json.loads(answer.body)
    except (ValueError, RecursionError):
        error = None
    if isinstance(error, dict):
        for key in ("Detail", "detail", "description", "Error", "Title"):
            if isinstance(error.get(key), str) and error[key]:
                return str(error[key])[:2000]
    return f"the activator answered {answer.status}"
