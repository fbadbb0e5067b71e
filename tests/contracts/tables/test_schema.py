"""template.yaml creates the keys and indexes that the port names."""

from typing import Any

from shared.ports.tables import DUE, HANDOFFS_BY_USER, SESSIONS_BY_USER, SESSIONS_DUE, Table
from tests.support.tables import definitions

LOGICAL_IDS = {Table.HANDOFFS: "HandoffsTable", Table.SESSIONS: "SessionsTable"}


def attributes(schema: list[dict[str, Any]]) -> tuple[str, ...]:
    return tuple(key["AttributeName"] for key in schema)


def test_the_template_has_the_keys_of_the_port() -> None:
    assert {table: attributes(definitions()[name]["KeySchema"]) for table, name in LOGICAL_IDS.items()} == {
        table: table.value for table in Table
    }


def test_the_template_has_the_indexes_of_the_port() -> None:
    found = {
        (table, index["IndexName"], *attributes(index["KeySchema"]), index["Projection"]["ProjectionType"])
        for table, name in LOGICAL_IDS.items()
        for index in definitions()[name]["GlobalSecondaryIndexes"]
    }
    indexes = (DUE, HANDOFFS_BY_USER, SESSIONS_BY_USER, SESSIONS_DUE)
    assert found == {(index.table, index.name, index.partition, index.sort, "KEYS_ONLY") for index in indexes}
