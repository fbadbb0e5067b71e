"""What many folders need: a local cloud per process and fresh tables per test. Nothing is imported before it is used."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import hypothesis  # noqa: F401  # its plugin imports it at the end otherwise, and CPython 3.11 cannot parse in two threads
import pytest

if TYPE_CHECKING:
    from local.engine import Engine
    from shared.ports import Store
    from tests.tables import TableNames


@pytest.fixture(scope="session")
def engine() -> "Iterator[Engine]":
    """The mended moto of this worker process. Tests share it, so each makes what it needs under names of its own."""
    from local.engine import Engine  # noqa: PLC0415  # moto takes long to import, and most tests do not need it

    engine = Engine.start()
    yield engine
    engine.stop()


@pytest.fixture(scope="session")
def dynamodb(engine: "Engine") -> Any:
    """One DynamoDB client for all tests of this process; clients are safe to share between threads."""
    return engine.client("dynamodb")


@pytest.fixture
def tables(dynamodb: Any) -> "Iterator[TableNames]":
    """Both tables of template.yaml, empty."""
    from tests.tables import fresh_tables  # noqa: PLC0415  # brings the SAM translator

    with fresh_tables(dynamodb) as names:
        yield names


@pytest.fixture
def store(dynamodb: Any, tables: "TableNames") -> "Store":
    """The store on fresh tables."""
    from shared.aws.store import dynamo_store  # noqa: PLC0415  # brings boto3

    return dynamo_store(dynamodb, handoffs=tables.handoffs, sessions=tables.sessions)
