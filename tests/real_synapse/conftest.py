"""Fixtures of the tests on a real homeserver: one Synapse, one person, and a service for each way in."""

import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from local.chats.matrix.set_pusher import main as set_pusher
from local.server.directory import DataDirectory
from local.server.service import Address, Server
from tests.support.api_user import ApiUser
from tests.support.server_process import user_of
from tests.support.synapse import NAME, Account, AppService, Synapse, why_absent

WAYS = ("application service", "pusher", "sync")
SECRET = "a secret of service and homeserver"  # of a test


@dataclass(frozen=True)
class Deployment:
    """A service with its bot, and the person who may talk to it."""

    server: Server
    user: ApiUser
    synapse: Synapse
    person: Account
    bot: str


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number: int = free.getsockname()[1]
        return number


@pytest.fixture(scope="session")
def app_service() -> AppService:
    return AppService(f"http://127.0.0.1:{free_port()}/webhooks/matrix")


@pytest.fixture(scope="session")
def synapse(app_service: AppService, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synapse]:
    if reason := why_absent():
        pytest.skip(reason)
    running = Synapse(tmp_path_factory.mktemp("synapse"), free_port(), app_service)
    try:
        running.start()
        yield running
    finally:
        running.kill()


@pytest.fixture(scope="session")
def person(synapse: Synapse) -> Account:
    return synapse.register("olivia")


@pytest.fixture(scope="session")
def deployments(
    synapse: Synapse, person: Account, app_service: AppService, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[str, Deployment]]:
    """A service for each way in. Only `sync` has a relay: the others have a public address."""
    with ExitStack() as stack:
        made: dict[str, Deployment] = {}
        for way in WAYS:
            is_app = way == "application service"
            port = int(app_service.url.rpartition(":")[2].partition("/")[0]) if is_app else free_port()
            bot = Account(synapse.url, f"@{app_service.bot}:{NAME}", app_service.as_token)
            bot = bot if is_app else synapse.register(way)
            secret = app_service.hs_token if is_app else SECRET
            variables = {"MATRIX_BOT_TOKEN": bot.token, "MATRIX_WEBHOOK_SECRET": secret}
            environment = {**variables, "MATRIX_API_URL": synapse.url, "MATRIX_USER_ID": person.id}
            url = f"http://127.0.0.1:{port}"
            if way == "pusher":
                assert set_pusher(["--url", url, "--api-url", synapse.url], variables) == 0
            data: Path = tmp_path_factory.mktemp("service") / "data"
            address = Address(port=port, public_url="" if way == "sync" else url)
            server = stack.enter_context(Server(DataDirectory(data), environment, address))
            made[way] = Deployment(server, user_of(server), synapse, person, bot.id)
        yield made


@pytest.fixture(params=WAYS)
def at(request: pytest.FixtureRequest, deployments: Mapping[str, Deployment]) -> Deployment:
    """The service of each way in."""
    found: Deployment = deployments[request.param]
    return found


@pytest.fixture
def at_sync(deployments: Mapping[str, Deployment]) -> Deployment:
    """The service whose relay polls."""
    return deployments["sync"]


@pytest.fixture
def at_app_service(deployments: Mapping[str, Deployment]) -> Deployment:
    """The service that the homeserver sends transactions to."""
    return deployments["application service"]
