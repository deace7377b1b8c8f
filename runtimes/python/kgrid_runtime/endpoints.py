"""The endpoints that this runtime has activated."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from kgrid_runtime.activation_request import ActivationRequest
from kgrid_runtime.workers.runner import Runner

_GENERATIONS = 2


@dataclass(frozen=True)
class Endpoint:
    request: ActivationRequest
    runner: Runner
    activated: str = field(default_factory=lambda: datetime.now().isoformat(timespec="microseconds"))

    @property
    def target(self) -> tuple[str, str]:
        """What a worker is told to run."""
        package = self.request.package
        return self.request.entry if package is None else package.module, self.request.function

    @property
    def key(self) -> str:
        """The id, and what distinguishes this code from what the id meant before.

        With it the activator's calls reach the old code until it has taken note of the new one.
        """
        code = "\0".join(self.target).encode() + repr(self.runner.code).encode()
        return f"{self.request.uri}~{hashlib.sha256(code).hexdigest()[:12]}"

    def describe(self, base_url: str) -> dict[str, object]:
        return {
            "id": self.request.uri,
            "uri": self.key,
            "baseUrl": base_url,
            "url": f"{base_url}/{self.key}",
            "activated": self.activated,
            "status": "Activated",
            # Many calls in one request; see calls_in_one_request.py.
            "batch": True,
        }


class Endpoints:
    def __init__(self) -> None:
        # Newest last.
        self._by_uri: dict[str, list[Endpoint]] = {}
        self._by_key: dict[str, Endpoint] = {}

    def find(self, key: str) -> Endpoint | None:
        """By the key that activation answered, or by id."""
        found = self._by_key.get(key)
        if found is None and key in self._by_uri:
            found = self._by_uri[key][-1]
        return found

    def put(self, endpoint: Endpoint) -> None:
        """Replaces an endpoint of the same code. Of older code the last one stays, for calls that are on their way."""
        others = [one for one in self._by_uri.get(endpoint.request.uri, []) if one.key != endpoint.key]
        for old in others[: -(_GENERATIONS - 1)]:
            del self._by_key[old.key]
        self._by_uri[endpoint.request.uri] = [*others[-(_GENERATIONS - 1) :], endpoint]
        self._by_key[endpoint.key] = endpoint

    def remove(self, uri: str) -> bool:
        """Takes away an endpoint with all its code. False when there was none."""
        generations = self._by_uri.pop(uri, [])
        for endpoint in generations:
            del self._by_key[endpoint.key]
        return bool(generations)

    def newest(self) -> Iterator[Endpoint]:
        return (generations[-1] for generations in self._by_uri.values())

    def runners(self) -> set[Runner]:
        return {endpoint.runner for endpoint in self._by_key.values()}
