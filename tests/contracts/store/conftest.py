"""The store on each DynamoDB that is at hand; every test of this folder runs on all of them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from typing import TYPE_CHECKING

import pytest

from shared.aws.store import dynamo_store
from shared.ports.store import Store
from tests.contracts.store.backends import INSTALLED, OTHER_MAKES, Backend, client_of
from tests.contracts.store.world import World
from tests.support import dynamodb_servers
from tests.support.tables import TableNames, fresh_tables

if TYPE_CHECKING:
    from local.cloud.engine import Engine


@pytest.fixture(scope="session")
def other_makes() -> Iterator[Callable[[str], Backend]]:
    """DynamoDBs of other makes, each started when it is first asked for and kept: one of them takes seconds."""
    with ExitStack() as stack:

        @cache
        def backend(name: str) -> Backend:
            url = stack.enter_context(dynamodb_servers.running(name))
            return Backend(name, url, client_of(url))

        yield backend


@pytest.fixture(params=["moto", *OTHER_MAKES])
def backend(request: pytest.FixtureRequest, other_makes: Callable[[str], Backend]) -> Backend:
    if request.param == "moto":
        engine: Engine = request.getfixturevalue("engine")
        return Backend("moto", engine.url, request.getfixturevalue("dynamodb"))
    if request.param not in INSTALLED:
        pytest.skip(dynamodb_servers.why_absent(request.param))
    return other_makes(request.param)


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
