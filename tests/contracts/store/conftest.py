"""The store on each DynamoDB that is at hand; every test of this folder runs on all of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config

from shared.aws.store import dynamo_store
from shared.ports import Store
from tests.contracts import dynamodb_servers
from tests.contracts.store.world import World
from tests.tables import TableNames, fresh_tables

if TYPE_CHECKING:
    from local.engine import Engine


@dataclass(frozen=True)
class Backend:
    """One DynamoDB: its name, its address, and a client for it."""

    name: str
    url: str
    client: Any

    def other_client(self, **config: Any) -> Any:
        """A client of its own, for tests that hook into it; retries as told, no waiting between them."""
        return _client(self.url, **config)


def _client(url: str, **config: Any) -> Any:
    settings: dict[str, Any] = {
        "retries": {"max_attempts": 0},
        "max_pool_connections": 64,
        "parameter_validation": False,
        **config,
    }
    return boto3.session.Session().client(
        "dynamodb",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id="local",
        aws_secret_access_key="local",
        config=Config(**settings),
    )


@pytest.fixture(
    scope="session",
    params=["moto", *(pytest.param(name, marks=pytest.mark.npm) for name in dynamodb_servers.SERVERS)],
)
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    if request.param == "moto":
        engine: Engine = request.getfixturevalue("engine")
        yield Backend("moto", engine.url, engine.client("dynamodb"))
        return
    if not dynamodb_servers.is_installed(request.param):
        pytest.skip(dynamodb_servers.why_absent(request.param))
    with dynamodb_servers.running(request.param) as url:
        yield Backend(request.param, url, _client(url))


@pytest.fixture
def tables(backend: Backend) -> Iterator[TableNames]:
    with fresh_tables(backend.client) as names:
        yield names


@pytest.fixture
def store(backend: Backend, tables: TableNames) -> Store:
    return dynamo_store(backend.client, handoffs=tables.handoffs, sessions=tables.sessions)


@pytest.fixture
def world(store: Store) -> World:
    return World(store)
