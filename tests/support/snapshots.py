"""Snapshots of both tables, to prove that a request wrote nothing."""

import json
from collections.abc import Iterator
from typing import Any

from local.service import LocalService
from shared.store.keys import DIRECTORY
from tests.support.waiting import eventually


def snapshot(service: LocalService) -> dict[str, str]:
    """Every item of both tables, by its key, but for the days on which tokens were used."""
    client = service.engine.client("dynamodb")
    names = (service.stack.resources["SessionsTable"], service.stack.resources["HandoffsTable"])
    return {
        json.dumps([item.get(key) for key in ("pk", "sk", "handoff_id")]): json.dumps(
            item, sort_keys=True, default=repr
        )
        for name in names
        for item in _items(client, name)
        if item.get("pk") != {"S": DIRECTORY}
    }


def settled_snapshot(service: LocalService) -> dict[str, str]:
    """The tables when no function writes any more: two equal snapshots in a row."""
    before: dict[str, str] = {}

    def unchanged() -> dict[str, str] | None:
        nonlocal before
        earlier, before = before, snapshot(service)
        return before if before == earlier else None

    return eventually(unchanged)


def _items(client: Any, table: str) -> Iterator[dict[str, Any]]:
    for page in client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True):
        yield from page["Items"]
