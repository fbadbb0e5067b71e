"""The tables of template.yaml, created under unique names on any DynamoDB."""

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
KEPT_OF_INDEXES = ("IndexName", "KeySchema", "Projection")
NUMBERS = itertools.count(1)


@dataclass(frozen=True)
class TableNames:
    """The names of the two tables of one test."""

    handoffs: str
    sessions: str


@cache
def definitions() -> dict[str, dict[str, Any]]:
    """Translating the template costs a tenth of a second: once per process."""
    resources = translate(TEMPLATE.read_text(), "us-east-1", cache=TRANSLATED)["Resources"]
    return {
        logical_id: resource["Properties"]
        for logical_id, resource in resources.items()
        if resource["Type"] == "AWS::DynamoDB::Table"
    }


def create_table(client: Any, logical_id: str, name: str) -> None:
    """Create one table of the template without backups, encryption, caps and TTL, which matter only in the cloud."""
    properties = definitions()[logical_id]
    request = {key: properties[key] for key in KEPT if key in properties}
    request["GlobalSecondaryIndexes"] = [
        {key: index[key] for key in KEPT_OF_INDEXES} for index in request["GlobalSecondaryIndexes"]
    ]
    if stream := properties.get("StreamSpecification"):
        request["StreamSpecification"] = {"StreamEnabled": True, **stream}
    client.create_table(TableName=name, **request)


@contextmanager
def fresh_tables(client: Any) -> Iterator[TableNames]:
    """Both tables, empty, deleted when the block ends."""
    suffix = f"{os.getpid()}-{next(NUMBERS)}"
    names = TableNames(f"handoffs-{suffix}", f"sessions-{suffix}")
    create_table(client, "HandoffsTable", names.handoffs)
    create_table(client, "SessionsTable", names.sessions)
    try:
        yield names
    finally:
        client.delete_table(TableName=names.handoffs)
        client.delete_table(TableName=names.sessions)
