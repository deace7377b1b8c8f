from __future__ import annotations

from collections.abc import Generator

import pytest

from kgrid_client import Activator, Endpoint
from tests.harness.service import Service


@pytest.fixture(scope="session")
def service() -> Generator[Service]:
    with Service("nephrology-ckdepi-v2.0", "cpic-cyp2d6-v1.0") as service:
        yield service


@pytest.fixture
def activator(service: Service) -> Generator[Activator]:
    with Activator(service.url) as activator:
        yield activator


@pytest.fixture
def egfr(activator: Activator) -> Endpoint:
    return activator.endpoint("nephrology/ckdepi/2.0/egfr")
