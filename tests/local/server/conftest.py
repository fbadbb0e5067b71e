"""A service on one machine: in this process for tests that only use it, as a program for those that end it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from local.chats.simulator import Simulator
from local.server.directory import DataDirectory
from local.server.service import Address, Server
from tests.support.api_user import ApiUser
from tests.support.server_process import user_of

ANYWHERE = Address(port=0, page_port=0)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """With simulated chats."""
    with Server(DataDirectory(tmp_path_factory.mktemp("server") / "data"), {}, ANYWHERE) as running:
        yield running


@pytest.fixture
def user(server: Server) -> ApiUser:
    return user_of(server)


@pytest.fixture
def platforms() -> Iterator[Simulator]:
    """Chat platforms that outlive the service."""
    with Simulator() as simulator:
        yield simulator


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"
