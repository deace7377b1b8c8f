"""Input and result of a call: bytes outside, Python values inside."""

from __future__ import annotations

import json
import sys

from kgrid_python_runtime.worker.failure import Failure
from kgrid_python_runtime.worker.frames import UNREADABLE, UNWRITABLE


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


class OddNumber(ValueError):
    """The result holds a number that JSON does not know; the text says which and where."""


class _Exact(Exception):
    """The result holds a number whose digits only `exact.py` can write."""


def plain(value: object) -> object:
    """What can be written of a value that JSON does not know.

    numpy and pandas hold numbers, and are asked for them, if the knowledge object has imported them. Else as Flask
    does: knowledge objects were written for a runtime that uses it.
    """
    # Imported only here, since few results need it and each worker would pay for it.
    import dataclasses
    import datetime
    import decimal
    import email.utils
    import uuid

    if isinstance(value, decimal.Decimal):
        raise _Exact
    numbers = of_numpy(value)
    if numbers is not value:
        return numbers
    if isinstance(value, datetime.date):
        moment = value if isinstance(value, datetime.datetime) else datetime.datetime(*value.timetuple()[:3])
        utc = moment.replace(tzinfo=datetime.timezone.utc) if moment.tzinfo is None else moment
        return email.utils.format_datetime(utc.astimezone(datetime.timezone.utc), usegmt=True)
    if isinstance(value, uuid.UUID):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def of_numpy(value: object) -> object:
    """Arrays and series as lists, tables as lists of records, scalars as Python's own, what is missing as None."""
    pandas = sys.modules.get("pandas")
    if pandas is not None:
        if value is getattr(pandas, "NA", None) or value is getattr(pandas, "NaT", None):
            return None
        if isinstance(value, _types(pandas, "DataFrame")):
            return value.to_dict("records")  # type: ignore[attr-defined]
        if isinstance(value, _types(pandas, "Series", "Index", "Categorical")):
            return value.tolist()  # type: ignore[attr-defined]
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, _types(numpy, "ndarray", "generic")):
        return value
    kind = value.dtype.kind  # type: ignore[attr-defined]
    if kind in ("M", "m"):
        # In finer units than these numpy gives times as plain numbers.
        value = value.astype(f"{'datetime64' if kind == 'M' else 'timedelta64'}[us]")  # type: ignore[attr-defined]
    found: object = value.tolist()  # type: ignore[attr-defined]
    return float(found) if kind == "f" and type(found) is type(value) else found  # type: ignore[arg-type]


def _types(module: object, *names: str) -> tuple[type, ...]:
    found = (getattr(module, name, None) for name in names)
    return tuple(each for each in found if isinstance(each, type))


_decoder = json.JSONDecoder(parse_constant=_refuse_constant)
_encoder = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=plain)


def read_input(is_json: int, body: bytes) -> object:
    try:
        text = body.decode("utf-8")
        return _decoder.decode(text) if is_json else text
    except UnicodeDecodeError:
        raise Failure("Bad Request", "The body is not UTF-8", UNREADABLE) from None
    except RecursionError:
        raise Failure("Bad Request", "The body is nested too deeply", UNREADABLE) from None
    except ValueError as error:
        raise Failure("Bad Request", f"The body is not JSON: {error}", UNREADABLE) from None


def write_result(value: object, limit: int) -> bytes:
    """The result as JSON. Values that JSON cannot hold are an error of the call, and so is too much output."""
    try:
        try:
            text = _encoder.encode(value)
        except (_Exact, ValueError, TypeError):
            # For what the encoder of the standard library cannot write, and for the place of what nobody can.
            from kgrid_python_runtime.worker.exact import encode

            text = encode(value)
        body = text.encode()
    except RecursionError:
        raise Failure(
            "RecursionError", "RecursionError: the result is nested too deeply for JSON", UNWRITABLE
        ) from None
    except OddNumber as odd:
        raise Failure("ValueError", str(odd), UNWRITABLE) from None
    except ValueError as error:
        raise Failure("ValueError", f"ValueError: {error}", UNWRITABLE) from None
    except TypeError as error:
        raise Failure("TypeError", f"TypeError: the result cannot be written as JSON: {error}", UNWRITABLE) from None
    if len(body) > limit:
        raise Failure("OutputLimit", f"The result has {len(body)} bytes; the limit is {limit}", UNWRITABLE)
    return body
