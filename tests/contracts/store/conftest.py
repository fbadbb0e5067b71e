"""The store on each DynamoDB that is at hand; every test of this folder runs on all of them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from shared.aws.store import dynamo_store
from shared.ports import Store
from tests.contracts import dynamodb_servers
from tests.contracts.store.backends import Backend, client_of
from tests.contracts.store.world import World
from tests.tables import TableNames, fresh_tables

if TYPE_CHECKING:
    from local.engine import Engine


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
        yield Backend(request.param, url, client_of(url))


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
