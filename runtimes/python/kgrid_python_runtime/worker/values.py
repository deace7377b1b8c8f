"""Input and result of a call: bytes outside, Python values inside."""

from __future__ import annotations

import json

from kgrid_python_runtime.worker.failure import Failure
from kgrid_python_runtime.worker.frames import INPUT_JSON


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _plain(value: object) -> object:
    """What Flask makes of values that JSON does not know: knowledge objects were written for a runtime that uses it."""
    # Imported only here, since few results need it and each worker would pay for it.
    import dataclasses
    import datetime
    import decimal
    import email.utils
    import uuid

    if isinstance(value, datetime.date):
        moment = value if isinstance(value, datetime.datetime) else datetime.datetime(*value.timetuple()[:3])
        utc = moment.replace(tzinfo=datetime.timezone.utc) if moment.tzinfo is None else moment
        return email.utils.format_datetime(utc.astimezone(datetime.timezone.utc), usegmt=True)
    if isinstance(value, (decimal.Decimal, uuid.UUID)):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


_decoder = json.JSONDecoder(parse_constant=_refuse_constant)
_encoder = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=_plain)


def read_input(kind: int, body: bytes) -> object:
    try:
        text = body.decode("utf-8")
        return _decoder.decode(text) if kind == INPUT_JSON else text
    except UnicodeDecodeError:
        raise Failure(400, "Bad Request", "The body is not UTF-8") from None
    except RecursionError:
        raise Failure(400, "Bad Request", "The body is nested too deeply") from None
    except ValueError as error:
        raise Failure(400, "Bad Request", f"The body is not JSON: {error}") from None


def write_result(value: object, limit: int) -> bytes:
    """The body of the answer. Values that JSON cannot hold are an error of the call, and so is too much output."""
    try:
        body = b'{"result":' + _encoder.encode(value).encode() + b"}"
    except RecursionError:
        raise Failure(500, "RecursionError", "RecursionError: the result is nested too deeply for JSON") from None
    except ValueError as error:
        reason = str(error)
        if reason.startswith("Out of range float"):
            reason = "the result holds NaN or Infinity, which JSON does not know"
        raise Failure(500, "ValueError", f"ValueError: {reason}") from None
    except TypeError as error:
        raise Failure(500, "TypeError", f"TypeError: the result cannot be written as JSON: {error}") from None
    if len(body) > limit:
        raise Failure(500, "OutputLimit", f"The result has {len(body)} bytes; the limit is {limit}")
    return body
