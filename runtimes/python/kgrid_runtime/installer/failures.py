"""What goes wrong in an installation."""

from __future__ import annotations


class Failure(Exception):
    """`description` is one sentence, without paths of the host and without secrets."""

    def __init__(self, description: str) -> None:
        super().__init__(description)
        self.description = description
