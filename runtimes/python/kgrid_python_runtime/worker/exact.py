"""Writes results as JSON, slower than the standard library: with all digits of a Decimal, numbers of numpy as keys, and
the place of a number that JSON does not know.
"""

from __future__ import annotations

import decimal
import json
import math
import re
from collections.abc import Iterator

from kgrid_python_runtime.worker.values import OddNumber, of_numpy, plain

_LONGEST_PLACE = 200
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_string = json.encoder.encode_basestring_ascii


def encode(value: object) -> str:
    """Raises OddNumber, ValueError, TypeError, RecursionError."""
    return "".join(_write(value, [], set()))


def _write(value: object, path: list[str], within: set[int]) -> Iterator[str]:
    if value is None or isinstance(value, (bool, str)):
        yield json.dumps(value)
    elif isinstance(value, int):
        yield int.__repr__(value)
    elif isinstance(value, float):
        yield _number(float.__repr__(value), not math.isfinite(value), path)
    elif isinstance(value, decimal.Decimal):
        yield _number(str(value), not value.is_finite(), path)
    elif isinstance(value, (dict, list, tuple)):
        if id(value) in within:
            raise ValueError("Circular reference detected")
        within.add(id(value))
        yield from _members(value, path, within) if isinstance(value, dict) else _items(value, path, within)
        within.remove(id(value))
    else:
        yield from _write(plain(value), path, within)


def _items(values: list[object] | tuple[object, ...], path: list[str], within: set[int]) -> Iterator[str]:
    yield "["
    for i, each in enumerate(values):
        if i > 0:
            yield ","
        path.append(f"[{i}]")
        yield from _write(each, path, within)
        path.pop()
    yield "]"


def _members(values: dict[object, object], path: list[str], within: set[int]) -> Iterator[str]:
    yield "{"
    for i, (key, each) in enumerate(values.items()):
        if i > 0:
            yield ","
        name = _key(key, path)
        path.append(_member(name))
        yield _string(name) + ":"
        yield from _write(each, path, within)
        path.pop()
    yield "}"


def _key(key: object, path: list[str]) -> str:
    """Writes what the standard library writes, and numbers of numpy and Decimals."""
    own = of_numpy(key)
    if isinstance(own, str):
        return own
    if own is None or isinstance(own, bool):
        return json.dumps(own)
    if isinstance(own, (int, float, decimal.Decimal)):
        # Where it is odd, the place is that of the key.
        return "".join(_write(own, [*path, _member(_name_of(str(own)))], set()))
    raise TypeError(f"keys must be str, int, float, bool or None, not {type(key).__name__}")


def _number(text: str, odd: bool, path: list[str]) -> str:
    if not odd:
        return text
    place = "result" + "".join(path)
    if len(place) > _LONGEST_PLACE:
        place = place[: _LONGEST_PLACE - 1] + "…"
    raise OddNumber(f"the result holds {_name_of(text)} at {place}")


def _name_of(text: str) -> str:
    """`text`: what Python writes for a number that is not finite."""
    if "nan" in text.lower():
        return "NaN"
    return "-Infinity" if text.startswith("-") else "Infinity"


def _member(name: str) -> str:
    """Gives the number as JavaScript reads it, so that the words are the same for every engine."""
    start = name[:_LONGEST_PLACE]
    return f".{start}" if _NAME.fullmatch(start) else f"[{json.dumps(start, ensure_ascii=False)}]"
