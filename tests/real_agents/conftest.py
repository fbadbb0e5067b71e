"""Fixtures of the tests with real agents: a model on loopback, and a home directory whose agents know only it."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.fake_model.server import FakeModel
from tests.support.real_agents import ROOT, Home, why_absent

if TYPE_CHECKING:
    from local.server.service import Server
    from tests.support.api_user import ApiUser


@pytest.fixture
def model() -> Iterator[FakeModel]:
    with FakeModel() as running:
        yield running


@pytest.fixture
def home(model: FakeModel, tmp_path: Path) -> Iterator[Home]:
    if reason := why_absent():
        pytest.skip(reason)
    made = Home(tmp_path / "home", model.url)
    made.prepare()
    yield made
    made.end_daemons()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Server]":
    """The service on one machine, with simulated chats."""
    from local.server.directory import DataDirectory  # noqa: PLC0415  # slow to import; many tests here do without it
    from local.server.service import Address, Server  # noqa: PLC0415  # see above

    with Server(DataDirectory(tmp_path_factory.mktemp("server") / "data"), {}, Address(port=0, page_port=0)) as running:
        yield running


@pytest.fixture
def user(server: "Server") -> "ApiUser":
    from tests.support.server_process import user_of  # noqa: PLC0415  # see above

    return user_of(server)


@pytest.fixture
def laptop(model: FakeModel, server: "Server", user: "ApiUser", tmp_path: Path) -> Iterator[Home]:
    """A home directory whose agents know the fake model, and whose `handoff` knows the service."""
    if reason := why_absent():
        pytest.skip(reason)
    more = {
        "PYTHONPATH": str(ROOT / "cli"),
        "HANDOFF_URL": server.url,
        "HANDOFF_TOKEN": user.http.headers["authorization"].removeprefix("Bearer "),
    }
    made = Home(tmp_path / "home", model.url, more)
    made.prepare()
    yield made
    made.end_daemons()
