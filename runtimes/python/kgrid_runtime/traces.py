"""By which headers a call is known in logs."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAMES = ("x-request-id", "traceparent")
_TRACE = re.compile(r"[A-Za-z0-9_.:/+=-]{1,128}")
_STATE = re.compile(r"[ -~]{1,512}")


def traces_of(headers: Mapping[str, str], count: int) -> list[dict[str, str]]:
    """For each of `count` calls in one request: theirs are divided by commas."""
    traces: list[dict[str, str]] = [{} for _ in range(count)]
    for name in _NAMES:
        if name in headers:
            for trace, part in zip(traces, headers[name].split(",")):
                if _TRACE.fullmatch(part):
                    trace[name] = part
    # It holds commas itself: those of several calls do not come.
    state = headers.get("tracestate", "")
    if count == 1 and "traceparent" in traces[0] and _STATE.fullmatch(state):
        traces[0]["tracestate"] = state
    return traces
