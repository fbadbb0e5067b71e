"""A whole local service with its functions in threads: one per worker, each test with sessions of its own."""

from collections.abc import Iterator

import pytest

from local.service import LocalService
from tests.support.desk import Desk


@pytest.fixture(scope="session")
def service(request: pytest.FixtureRequest) -> Iterator[LocalService]:
    """Functions as threads of this process, or in the mode that a module asks for by an indirect parameter."""
    with LocalService(mode=getattr(request, "param", "in_process")) as running:
        yield running


@pytest.fixture
def desk(service: LocalService) -> Desk:
    return Desk(service)
