from __future__ import annotations

import os
import sys
from collections.abc import Generator

import pytest
from pyspark.sql import SparkSession

from tests.harness.service import Service


@pytest.fixture(scope="session")
def spark() -> Generator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("kgrid")
    options = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def service() -> Generator[Service]:
    with Service("nephrology-ckdepi-v2.0", "diabetes-averageglucose-v1.0") as service:
        yield service
