"""Endpoints for Ray: ``score`` gives a Dataset the results of its rows, by ``Dataset.map_batches``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kgrid_client.scoring import ERROR, RESULT, OnRecordError, Scorer, Scoring, text_of

if TYPE_CHECKING:
    from ray.data import Dataset


def score(
    dataset: Dataset,
    endpoint: str,
    activators: str | Sequence[str],
    *,
    inputs: Sequence[str] | Mapping[str, str] | None = None,
    results: Mapping[str, str | pa.DataType] | None = None,
    errors: OnRecordError = "raise",
    retries: int = 5,
    timeout: float = 60,
    package: str | None = None,
    username: str | None = None,
    password: str | None = None,
    token: str | None = None,
    batch_size: int = 10_000,
    **options: Any,
) -> Dataset:
    """The Dataset with the results of its rows beside them.

    Each batch is scored by one activator; where it fails, the next goes on with the rows that have no answer. Ray may
    run a task twice, and then the endpoint is called twice.

    :param activators: address, or several of them, that the workers of Ray reach
    :param inputs: the columns that make a record; or the input of each, ``{"scr": "creatinine"}``, within others by
        dots (``lab.a1c``). Without it, all columns are inputs of the same name. A null is an absent input.
    :param results: what of the results becomes columns, with types of Arrow, ``{"egfr": "double", "unit": "string"}``.
        A column of text holds JSON of what is no text. Without it, ``result`` holds all of the result as JSON.
    :param errors: of single records: ``raise`` fails the task, ``column`` puts them into a column ``error``
    :param retries: how often all activators are asked again, without any answer in between, later each time
    :param timeout: seconds in which an activator may do nothing
    :param package: only results of this package, by its ``KGrid-Package-Digest``; without it, each batch holds on to
        the one that it met first
    :param username: of a login, with ``password``; or a ``token``. They are sent to the workers of Ray.
    :param options: further ones of ``map_batches``, such as ``num_cpus`` and ``concurrency``
    :raises ValueError: before anything is run, for what cannot work
    """
    added = {name: _type_of(kind) for name, kind in (results or {}).items()}
    scoring = Scoring.of(
        endpoint,
        activators,
        inputs,
        list(added),
        dataset.columns() or [],
        errors,
        retries=retries,
        timeout=timeout,
        package=package,
        username=username,
        password=password,
        token=token,
    )
    return dataset.map_batches(
        score_table,
        fn_kwargs={"scoring": scoring, "types": added},
        batch_format="pyarrow",
        batch_size=batch_size,
        **options,
    )


def score_table(table: pa.Table, *, scoring: Scoring, types: Mapping[str, pa.DataType]) -> pa.Table:
    """What is run for each batch."""
    columns = {column: table.column(column).to_pylist() for column, _ in scoring.inputs}
    outcomes = Scorer(scoring).outcomes_of(columns, table.num_rows)
    for name, values in scoring.columns_of(outcomes).items():
        kind = pa.string() if name in {RESULT, ERROR} and name not in types else types[name]
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        table = table.append_column(name, pa.array(map(text_of, values) if is_text else values, kind))
    return table


def _type_of(kind: str | pa.DataType) -> pa.DataType:
    return pa.type_for_alias(kind) if isinstance(kind, str) else kind
