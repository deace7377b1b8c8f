"""Gives a knowledge object the other endpoints of the activator.

from kgrid_python_runtime.context import Context

def main(patient):
    bmi = Context().get_executor_by_id("naan/bmi/1.0/calculate")
    return {"bmi": bmi({"height": 1.8, "weight": 80})}
"""

from __future__ import annotations

import json

from kgrid_python_runtime.worker import bridge
from kgrid_python_runtime.worker.requests import Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kgrid_python_runtime.worker.requests import Requests


class ExecutionError(Exception):
    """A call of another endpoint failed; the text is the `Detail` of the activator's answer."""


class Executor:
    """Runs one endpoint. Ids have the form `<naan>/<name>/<apiVersion>/<endpoint>`."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        # For threads that the knowledge object starts: they have no call of their own.
        self._call = bridge.current_call.get(None)

    def __call__(self, value: Any) -> Any:
        """The endpoint's result for `value`, anything that JSON can hold. Raises ExecutionError."""
        requests, call = _asking(self._call)
        try:
            return requests.execute(call, self._uri, json.dumps(value, allow_nan=False))
        except Refusal as refusal:
            raise ExecutionError(str(refusal)) from None

    execute = __call__


class Context:
    def get_executor_by_id(self, uri: str) -> Executor:
        """A callable that gives the endpoint's result for an input."""
        return Executor(uri)

    def get_metadata_by_id(self, uri: str) -> Any:
        """What the activator says about an endpoint: title, engine, status, knowledge object. Raises ExecutionError."""
        requests, call = _asking(None)
        try:
            return requests.metadata(call, uri)
        except Refusal as refusal:
            raise ExecutionError(str(refusal)) from None


def _asking(fallback: int | None) -> tuple[Requests, int]:
    call = bridge.current_call.get(fallback)
    if call is None or not bridge.requests:
        raise ExecutionError("other endpoints can be called only while a call runs, from its own thread")
    return bridge.requests[0], call
