"""A local service with its functions in threads: one per worker process, shared by all tests."""

from collections.abc import Iterator

import pytest

from local.service import LocalService
from tests.support.api_user import ApiUser, add_neighbour


@pytest.fixture(scope="session")
def service(request: pytest.FixtureRequest) -> Iterator[LocalService]:
    """In-process functions, or the mode that a module requests with an indirect parameter."""
    with LocalService(mode=getattr(request, "param", "in_process")) as running:
        yield running


@pytest.fixture
def user(service: LocalService) -> ApiUser:
    return ApiUser(service)


@pytest.fixture(scope="module")
def town() -> Iterator[LocalService]:
    """A service with a second user who has accounts in the same chats."""
    with LocalService(mode="in_process") as running:
        add_neighbour(running)
        yield running


@pytest.fixture
def owner(town: LocalService) -> ApiUser:
    return ApiUser(town)


@pytest.fixture
def neighbour(town: LocalService) -> ApiUser:
    return ApiUser(town, "neighbour")
