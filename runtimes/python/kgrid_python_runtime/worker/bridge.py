"""Connects `Context`, which knowledge objects use, with the worker that runs them."""

from __future__ import annotations

from contextvars import ContextVar

# Not from typing, which would take a tenth of the worker's start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from kgrid_python_runtime.worker.requests import Requests

# Id of the call that the running code belongs to.
current_call: ContextVar[int] = ContextVar("current_call")
# Set once, when the worker starts.
requests: list[Requests] = []
