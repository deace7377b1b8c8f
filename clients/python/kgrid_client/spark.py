"""Endpoints for Spark: ``score`` gives a DataFrame the results of its rows, by ``DataFrame.mapInPandas``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from kgrid_client.scoring import ERROR, RESULT, OnRecordError, Scorer, Scoring, text_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def score(
    df: DataFrame,
    endpoint: str,
    activators: str | Sequence[str],
    *,
    inputs: Sequence[str] | Mapping[str, str] | None = None,
    results: str | None = None,
    errors: OnRecordError = "raise",
    retries: int = 5,
    timeout: float = 60,
    package: str | None = None,
    username: str | None = None,
    password: str | None = None,
    token: str | None = None,
) -> DataFrame:
    """The DataFrame with the results of its rows beside them.

    Each partition is scored by one activator after another; where one fails, the next goes on with the rows that have
    no answer. Spark may run a task twice, and then the endpoint is called twice.

    :param activators: address, or several of them, that the workers of Spark reach
    :param inputs: the columns that make a record; or the input of each, ``{"scr": "creatinine"}``, within others by
        dots (``lab.a1c``). Without it, all columns are inputs of the same name. A null is an absent input.
    :param results: what of the results becomes columns, with types, ``"egfr double, category string"``. A column of
        text holds JSON of what is no text. Without it, ``result`` holds all of the result as JSON.
    :param errors: of single records: ``raise`` fails the task, ``column`` puts them into a column ``error``
    :param retries: how often all activators are asked again, without any answer in between, later each time
    :param timeout: seconds in which an activator may do nothing
    :param package: only results of this package, by its ``KGrid-Package-Digest``; without it, each task holds on to the
        one that it met first
    :param username: of a login, with ``password``; or a ``token``. They are sent to the workers of Spark.
    :raises ValueError: before anything is run, for what cannot work
    """
    from pyspark.sql import types  # noqa: PLC0415
    from pyspark.sql.functions import col  # noqa: PLC0415

    added = df.sparkSession.createDataFrame([], f"{RESULT} string" if results is None else results).schema.fields
    scoring = Scoring.of(
        endpoint,
        activators,
        inputs,
        [] if results is None else [field.name for field in added],
        df.columns,
        errors,
        retries=retries,
        timeout=timeout,
        package=package,
        username=username,
        password=password,
        token=token,
    )
    # What may be null becomes a float in pandas, which does not hold all of them.
    longs = [each.name for each in df.schema.fields if isinstance(each.dataType, types.LongType) and each.nullable]
    as_text = df.withColumns({name: col(_quoted(name)).cast("string") for name in longs}) if longs else df
    failed = [types.StructField(ERROR, types.StringType())] if errors == "column" else []
    integers = [each.name for each in df.schema.fields if isinstance(each.dataType, types.IntegralType)]
    texts = [each.name for each in [*added, *failed] if isinstance(each.dataType, types.StringType)]
    scored = as_text.mapInPandas(
        partition_scorer(scoring, integers, texts), types.StructType([*as_text.schema.fields, *added, *failed])
    )
    return scored.withColumns({name: col(_quoted(name)).cast("long") for name in longs}) if longs else scored


def partition_scorer(
    scoring: Scoring, integers: Sequence[str], texts: Sequence[str]
) -> Callable[[Iterable[pd.DataFrame]], Iterator[pd.DataFrame]]:
    """What is run for each partition."""

    def run(frames: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        scorer = Scorer(scoring)
        for frame in frames:
            columns = {column: _values_of(frame[column], column in integers) for column, _ in scoring.inputs}
            added = scoring.columns_of(scorer.outcomes_of(columns, len(frame)))
            for name, values in added.items():
                held = [text_of(value) for value in values] if name in texts else values
                frame[name] = pd.Series(held, index=frame.index, dtype=object)
            yield frame

    return run


def _values_of(series: Any, is_integer: bool) -> list[Any]:
    values = series.to_dict("records") if isinstance(series, pd.DataFrame) else series.tolist()
    if isinstance(series, pd.DataFrame):
        return list(values)
    missing = series.isna()
    if missing.any():
        values = [None if is_missing else value for value, is_missing in zip(values, missing)]
    return [None if value is None else int(value) for value in values] if is_integer else list(values)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
