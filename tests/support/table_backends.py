"""The databases that the contracts of the tables and of the store run on: memory, SQLite, moto and other DynamoDBs."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config

from shared.aws.tables import DynamoTables
from shared.ports.tables import Item, Table, Tables
from shared.sqlite.database import Database
from shared.sqlite.tables import SqliteTables
from tests.support import dynamodb_servers
from tests.support.memory_tables import MemoryTables
from tests.support.tables import TableNames, fresh_tables

if TYPE_CHECKING:
    from local.cloud.engine import Engine

IN_MEMORY = next((path for path in [Path("/dev/shm")] if path.is_dir()), None)  # noqa: S108  # as fast as a test needs
INSTALLED = [name for name in dynamodb_servers.SERVERS if dynamodb_servers.is_installed(name)]
OTHER_MAKES = [pytest.param(name, marks=pytest.mark.npm) for name in INSTALLED or ["dynoxide"]]
DATABASES = ["memory", "sqlite", "moto", *OTHER_MAKES]
STORE_DATABASES = [
    "memory",
    pytest.param("sqlite", marks=pytest.mark.tier("test")),
    pytest.param("moto", marks=pytest.mark.tier("deep")),
    *OTHER_MAKES,
]
"""The store is the same on all of them, if their tables keep the contract: the dearer ones run in a dearer tier."""
DYNAMODBS = [pytest.param("moto", marks=pytest.mark.tier("test")), *OTHER_MAKES]
FAILED_ITEM = "a failed single write returns its item (2023)"
LARGE_TRANSACTIONS = "transactions of a hundred writes (2022)"
MISSING = {"amazon": (FAILED_ITEM, LARGE_TRANSACTIONS)}  # npm has a DynamoDB Local of early 2020


@dataclass
class DynamoServer:
    """A running DynamoDB and a client for it."""

    name: str
    connect: Callable[[Config], Any]

    @cached_property
    def client(self) -> Any:
        return self.other_client()

    def other_client(self, **config: Any) -> Any:
        """A new client without retries unless asked for, for tests that hook into it."""
        settings: dict[str, Any] = {"retries": {"max_attempts": 0}, "max_pool_connections": 64, **config}
        return self.connect(Config(parameter_validation=False, **settings))


@dataclass(frozen=True)
class Backend:
    """Two empty tables on one database."""

    name: str
    tables: Tables

    def scan(self, table: Table) -> list[Item]:
        return list(self.tables.scan(table))

    def needs(self, feature: str) -> None:
        """Skip a test on a server that is older than a feature."""
        skip_without(self.name, feature)


def skip_without(server: str, feature: str) -> None:
    if feature in MISSING.get(server, ()):
        pytest.skip(f"the {server} DynamoDB at hand is older than: {feature}")


def _connect(url: str, config: Config) -> Any:
    keys = {"aws_access_key_id": "local", "aws_secret_access_key": "local"}
    return boto3.session.Session().client("dynamodb", region_name="us-east-1", endpoint_url=url, config=config, **keys)


def dynamo_tables(client: Any, names: TableNames) -> DynamoTables:
    return DynamoTables(client, handoffs=names.handoffs, sessions=names.sessions)


def memory_backend() -> Backend:
    return Backend("memory", MemoryTables())


@contextmanager
def sqlite_backend() -> Iterator[Backend]:
    with new_database() as database:
        yield Backend("sqlite", SqliteTables(database))


@contextmanager
def new_database() -> Iterator[Database]:
    """A database in a new file."""
    with TemporaryDirectory(prefix="handoff-", dir=IN_MEMORY) as directory:
        database = Database(Path(directory) / "handoff.db")
        try:
            yield database
        finally:
            database.close()


def backend_on(server: DynamoServer, names: TableNames) -> Backend:
    return Backend(server.name, dynamo_tables(server.client, names))


@pytest.fixture(scope="session")
def servers(request: pytest.FixtureRequest) -> Iterator[Callable[[str], DynamoServer]]:
    """DynamoDBs by name, each started when it is first needed and kept: some take seconds."""
    with ExitStack() as stack:

        @cache
        def server(name: str) -> DynamoServer:
            if name == "moto":
                engine: Engine = request.getfixturevalue("engine")
                return DynamoServer(name, lambda config: engine.client("dynamodb", config=config))
            url = stack.enter_context(dynamodb_servers.running(name))
            return DynamoServer(name, lambda config: _connect(url, config))

        yield server


@pytest.fixture(params=DYNAMODBS)
def server(request: pytest.FixtureRequest, servers: Callable[[str], DynamoServer]) -> DynamoServer:
    """Each DynamoDB, for tests of what only DynamoDB does."""
    if request.param != "moto" and request.param not in INSTALLED:
        pytest.skip(dynamodb_servers.why_absent(request.param))
    return servers(request.param)


@pytest.fixture
def names(server: DynamoServer) -> Iterator[TableNames]:
    """Both tables, empty, on that DynamoDB."""
    with fresh_tables(server.client) as names:
        yield names


@pytest.fixture(params=DATABASES)
def backend(request: pytest.FixtureRequest, servers: Callable[[str], DynamoServer]) -> Iterator[Backend]:
    """Each database with two empty tables, for the contract of the tables."""
    yield from requested_backend(request, servers)


def requested_backend(request: pytest.FixtureRequest, servers: Callable[[str], DynamoServer]) -> Iterator[Backend]:
    """The database that a fixture's parameter names."""
    if request.param == "memory":
        yield memory_backend()
        return
    if request.param == "sqlite":
        with sqlite_backend() as sqlite:
            yield sqlite
        return
    if request.param != "moto" and request.param not in INSTALLED:
        pytest.skip(dynamodb_servers.why_absent(request.param))
    server = servers(request.param)
    with fresh_tables(server.client) as names:
        yield backend_on(server, names)
