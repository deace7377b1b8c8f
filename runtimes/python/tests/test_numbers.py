"""Results with numbers of numpy and pandas, which are asked only where a knowledge object has imported them."""

from __future__ import annotations

import datetime
import subprocess
import sys
from decimal import Decimal
from importlib import import_module
from typing import Any

import pytest

from kgrid_python_runtime.worker.failure import Failure
from kgrid_python_runtime.worker.frames import UNWRITABLE
from kgrid_python_runtime.worker.values import write_result

np: Any = import_module("numpy")
pd: Any = import_module("pandas")
NAN = float("nan")


def written(value: object) -> str:
    return write_result(value, 10_000_000).decode()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float64(0.1), "0.1"),
        (np.float32(0.5), "0.5"),
        (np.float16(2), "2.0"),
        (np.longdouble(0.25), "0.25"),
        (np.int8(-3), "-3"),
        (np.uint64(2**64 - 1), "18446744073709551615"),
        (np.bool_(True), "true"),
        (np.str_("é"), '"\\u00e9"'),
        (np.array([[1, 2], [3, 4]]), "[[1,2],[3,4]]"),
        (np.array(7), "7"),
        (np.array([], dtype=float), "[]"),
        (np.array([0.25], dtype=np.longdouble), "[0.25]"),
        (np.array([True, None, "x", Decimal("1.10")], dtype=object), '[true,null,"x",1.10]'),
        (np.ma.array([1, 2], mask=[False, True]), "[1,null]"),
        (np.datetime64("2026-11-20T12:30:00.123456789"), '"Fri, 20 Nov 2026 12:30:00 GMT"'),
        (np.datetime64("NaT"), "null"),
        (np.array(["2026-11-20", "NaT"], dtype="datetime64[ns]"), '["Fri, 20 Nov 2026 00:00:00 GMT",null]'),
        ({np.int64(3): np.float64(1.5), np.float64(0.5): 1, np.bool_(True): 2}, '{"3":1.5,"0.5":1,"true":2}'),
        (pd.Series([1, 2]), "[1,2]"),
        (pd.Series([1, None], dtype="Int64"), "[1,null]"),
        (pd.Series(["a", "b"]).astype("category"), '["a","b"]'),
        (pd.Index([0.5]), "[0.5]"),
        (pd.Categorical(["x"]), '["x"]'),
        (pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]}), '[{"a":1,"b":0.5},{"a":2,"b":1.5}]'),
        (pd.NA, "null"),
        (pd.NaT, "null"),
        (pd.Timestamp("2026-11-20T12:30"), '"Fri, 20 Nov 2026 12:30:00 GMT"'),
        (pd.Series(pd.to_datetime(["2026-11-20", None])), '["Fri, 20 Nov 2026 00:00:00 GMT",null]'),
        (Decimal("2.50"), "2.50"),
        (Decimal("-0"), "-0"),
        (Decimal("1E+30"), "1E+30"),
        ([Decimal("12345678901234567890.123456789"), "ü", None, 2**80, 0.1], None),
        (
            {Decimal("1.5"): Decimal("0E-8"), None: 1, True: 2, 3: 4, 0.5: 6},
            '{"1.5":0E-8,"null":1,"true":2,"3":4,"0.5":6}',
        ),
    ],
)
def test_numbers_are_written_as_the_numbers_they_are(value: object, text: str | None) -> None:
    expected = text or '[12345678901234567890.123456789,"\\u00fc",null,1208925819614629174706176,0.1]'
    assert written(value) == expected
    # What else the result holds makes no difference.
    assert written([value, Decimal(1)]) == f"[{expected},1]"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (NAN, "NaN at result"),
        ({"score": NAN}, "NaN at result.score"),
        ({"list": [1, 2, 3, {"x": -np.inf}]}, "-Infinity at result.list[3].x"),
        ({"two words": {"é": {3: NAN}}}, 'NaN at result["two words"]["é"]["3"]'),
        ({"scores": np.array([0.5, np.nan])}, "NaN at result.scores[1]"),
        (np.array([[1, 2], [3, np.inf]]), "Infinity at result[1][1]"),
        (np.float32("nan"), "NaN at result"),
        (pd.Series([1.0, None]), "NaN at result[1]"),
        (pd.DataFrame({"a": [1.0, None]}), "NaN at result[1].a"),
        ({"a": (Decimal("NaN"),)}, "NaN at result.a[0]"),
        ({"a": Decimal("-sNaN12")}, "NaN at result.a"),
        ([Decimal("-Infinity")], "-Infinity at result[0]"),
        ({"a": {NAN: 1}}, "NaN at result.a.NaN"),
    ],
)
def test_numbers_that_json_does_not_know_are_an_error_with_their_place(value: object, said: str) -> None:
    with pytest.raises(Failure) as raised:
        written(value)
    assert str(raised.value) == f"the result holds {said}"
    assert raised.value.kind == UNWRITABLE


def test_a_place_has_200_characters_at_most() -> None:
    deep: object = NAN
    for _ in range(100):
        deep = {"name": deep}
    for value in (deep, {"x" * 100_000: NAN}):
        with pytest.raises(Failure) as raised:
            written(value)
        place = str(raised.value).partition(" at ")[2]
        assert len(place) == 200
        assert place.endswith("…")


@pytest.mark.parametrize(
    "value", [datetime.timedelta(1), np.timedelta64(5, "ns"), np.array([1j]), pd.Timedelta(1), {1, 2}]
)
def test_what_is_no_number_is_refused_as_before(value: object) -> None:
    with pytest.raises(Failure, match="is not JSON serializable"):
        written(value)


def test_nothing_is_imported_for_it() -> None:
    code = (
        "import sys; from kgrid_python_runtime.worker.values import write_result; import decimal\n"
        "write_result([decimal.Decimal(1)], 1000)\n"
        "assert not {'numpy', 'pandas'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
