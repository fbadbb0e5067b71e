"""The tables of template.yaml, created anew under names of their own on any DynamoDB."""

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from local.cloud.template import translate
from local.paths import TEMPLATE, TRANSLATED

KEPT = ("AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes", "BillingMode")
NUMBERS = itertools.count(1)


@dataclass(frozen=True)
class TableNames:
    """What the two tables of one test are called."""

    handoffs: str
    sessions: str


@cache
def _definitions() -> dict[str, dict[str, Any]]:
    """Translating the template costs a tenth of a second: once per process."""
    resources = translate(TEMPLATE.read_text(), "us-east-1", cache=TRANSLATED)["Resources"]
    return {
        logical_id: resource["Properties"]
        for logical_id, resource in resources.items()
        if resource["Type"] == "AWS::DynamoDB::Table"
    }


def create_table(client: Any, logical_id: str, name: str) -> None:
    """Create one table of the template; what only matters in the cloud (backups, encryption, TTL) is left out."""
    properties = _definitions()[logical_id]
    request = {key: properties[key] for key in KEPT if key in properties}
    if stream := properties.get("StreamSpecification"):
        request["StreamSpecification"] = {"StreamEnabled": True, **stream}
    client.create_table(TableName=name, **request)


@contextmanager
def fresh_tables(client: Any) -> Iterator[TableNames]:
    """Both tables, empty, gone when the block ends."""
    suffix = f"{os.getpid()}-{next(NUMBERS)}"
    names = TableNames(f"handoffs-{suffix}", f"sessions-{suffix}")
    create_table(client, "HandoffsTable", names.handoffs)
    create_table(client, "SessionsTable", names.sessions)
    try:
        yield names
    finally:
        client.delete_table(TableName=names.handoffs)
        client.delete_table(TableName=names.sessions)
