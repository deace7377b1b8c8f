"""Calls the endpoints of a KGrid activator: one record at a time, or a stream of them over one connection."""

from __future__ import annotations

from kgrid_client.activator import Activator
from kgrid_client.endpoint import Endpoint
from kgrid_client.errors import (
    BadAnswer,
    BrokenOff,
    KGridError,
    OtherPackage,
    RecordError,
    Redirected,
    ServiceError,
    TimedOut,
    Unreachable,
)

__all__ = [
    "Activator",
    "BadAnswer",
    "BrokenOff",
    "Endpoint",
    "KGridError",
    "OtherPackage",
    "RecordError",
    "Redirected",
    "ServiceError",
    "TimedOut",
    "Unreachable",
]
