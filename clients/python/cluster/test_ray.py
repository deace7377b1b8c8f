from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pandas as pd
import pytest
import ray

import kgrid_client.ray
from cluster.population import ENDPOINT, INPUTS, ROWS, check_scored, one_is_killed, patients
from tests.harness.service import Service


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Generator[None]:
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=512 * 1024 * 1024)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


def people(rows: int) -> Any:
    return ray.data.range(rows, override_num_blocks=8).map_batches(
        lambda batch: patients(batch["id"].to_numpy()), batch_format="pandas"
    )


def test_a_million_rows_are_scored_while_an_activator_is_killed() -> None:
    with one_is_killed() as activators:
        scored = kgrid_client.ray.score(
            people(ROWS),
            ENDPOINT,
            activators.urls,
            inputs=INPUTS,
            results={"egfr": "double", "category": "string"},
            errors="column",
        ).to_pandas(limit=None)
    check_scored(scored)


def test_a_record_that_fails_fails_the_job_where_nothing_else_was_asked(service: Service) -> None:
    with pytest.raises(Exception, match=r"Record 0: 400 Invalid Input: .*17"):
        kgrid_client.ray.score(people(100), ENDPOINT, service.url, inputs=INPUTS).take_all()


def test_values_of_all_types_arrive(service: Service) -> None:
    rows: list[dict[str, Any]] = [{"exact": 2**60 + 1, "a1cs": [{"a1c": 6.5}]}, {"exact": None, "a1cs": [{"a1c": 7.5}]}]
    scored = kgrid_client.ray.score(
        ray.data.from_items(rows),
        "diabetes/averageglucose/1.0/estimate",
        service.url,
        inputs={"a1cs": "measurements"},
        results={"estimates": "string"},
        batch_size=1,
    )
    assert sorted(scored.take_all(), key=str) == sorted(
        (
            {**row, "estimates": f'[{{"a1c":{a1c},"mgPerDl":{mg},"mmolPerL":{mmol}}}]'}
            for row, a1c, mg, mmol in zip(rows, (6.5, 7.5), (140, 169), (7.7, 9.3))
        ),
        key=str,
    )


def test_an_empty_dataset_has_the_columns_too(service: Service) -> None:
    nobody = ray.data.from_pandas(pd.DataFrame({"age": [50]})).filter(lambda row: row["age"] < 0)
    assert kgrid_client.ray.score(nobody, ENDPOINT, service.url).count() == 0
