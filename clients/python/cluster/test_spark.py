from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import kgrid_client.spark
from cluster.population import ENDPOINT, INPUTS, ROWS, TOO_YOUNG_EACH, check_scored, one_is_killed
from kgrid_client import Activator
from tests.harness.service import Service

PATIENTS = f"""
    select id as patient, cast((40 + id * 7919 % 960) / 100 as double) as creatinine,
           cast(if(id % {TOO_YOUNG_EACH} = 0, 17, 18 + id % 100) as int) as age,
           if(id % 2 = 0, 'female', 'male') as sex
    from range({ROWS})
"""


def test_a_million_rows_are_scored_while_an_activator_is_killed(spark: SparkSession) -> None:
    patients = spark.sql(PATIENTS).repartition(8)
    with one_is_killed() as activators:
        scored = kgrid_client.spark.score(
            patients,
            ENDPOINT,
            activators.urls,
            inputs=INPUTS,
            results="egfr double, category string",
            errors="column",
        ).toPandas()
    check_scored(scored)


def test_a_record_that_fails_fails_the_job_where_nothing_else_was_asked(spark: SparkSession, service: Service) -> None:
    scored = kgrid_client.spark.score(spark.sql(PATIENTS).limit(2000), ENDPOINT, service.url, inputs=INPUTS)
    with pytest.raises(Exception, match=r"Record \d+: 400 Invalid Input: .*17"):
        scored.count()
        scored.collect()


def test_values_of_all_types_arrive(spark: SparkSession, service: Service) -> None:
    rows = spark.sql(
        """select if(id = 1, null, 9007199254740993) as exact, array(named_struct('a1c', 6.5D + id)) as a1cs
             from range(2)"""
    )
    scored = kgrid_client.spark.score(
        rows,
        "diabetes/averageglucose/1.0/estimate",
        service.url,
        inputs={"a1cs": "measurements"},
        results="estimates array<struct<a1c: double, mgPerDl: int>>",
        package=Activator(service.url).endpoint("diabetes/averageglucose/1.0/estimate").package(),
    )
    assert scored.schema.fieldNames() == ["exact", "a1cs", "estimates"]
    first, second = scored.orderBy("a1cs").collect()
    assert (first.exact, second.exact) == (9007199254740993, None)
    assert [row.estimates[0].asDict() for row in (first, second)] == [
        {"a1c": 6.5, "mgPerDl": 140},
        {"a1c": 7.5, "mgPerDl": 169},
    ]
