"""A local service with its functions in threads: one per worker process, shared by all tests."""

from collections.abc import Iterator

import pytest

from local.service import LocalService
from tests.support.api_user import ApiUser


@pytest.fixture(scope="session")
def service(request: pytest.FixtureRequest) -> Iterator[LocalService]:
    """In-process functions, or the mode that a module requests with an indirect parameter."""
    with LocalService(mode=getattr(request, "param", "in_process")) as running:
        yield running


@pytest.fixture
def user(service: LocalService) -> ApiUser:
    return ApiUser(service)
