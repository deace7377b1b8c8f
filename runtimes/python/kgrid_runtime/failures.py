"""Errors that a client of the runtime sees, in the form of the existing python runtime."""

from __future__ import annotations

import json
from http import HTTPStatus


class Failure(Exception):
    """`description` is one sentence, without paths of the host and without secrets."""

    def __init__(
        self, status: int, description: str, name: str = "", headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        super().__init__(description)
        self.status = status
        self.description = description
        self.name = name or HTTPStatus(status).phrase
        self.headers = headers
        # What else the answer says: `title` where the input is at fault, `place` where code failed.
        self.more: dict[str, object] = {}

    def body(self) -> bytes:
        said = {"code": self.status, "name": self.name, "description": self.description, **self.more}
        return json.dumps(said).encode()


def bad_request(description: str) -> Failure:
    return Failure(400, description)


def not_authenticated() -> Failure:
    return Failure(
        401, "The header x-kgrid-runtime-secret is missing or wrong", headers=(("WWW-Authenticate", "Secret"),)
    )


def not_found(description: str) -> Failure:
    return Failure(404, description)


def overloaded(description: str) -> Failure:
    return Failure(503, description, headers=(("Retry-After", "1"),))


def activation_failed(description: str) -> Failure:
    return Failure(500, description, "ActivationError")
