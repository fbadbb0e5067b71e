"""The partitions of the indexes in which the sweep finds what is due."""

import zlib
from collections.abc import Iterable

from shared.ports.tables import Index, Item, Tables

DUE_SHARDS = 4
"""Enough that none is hot, few enough to read all of them each minute."""


FILE_SHARDS = range(DUE_SHARDS, DUE_SHARDS + 2)
"""Of files, beside those of turns in the index of the Sessions table."""


def file_shard(file_id: str) -> int:
    """The partition of the due index that holds this file."""
    return FILE_SHARDS[zlib.crc32(file_id.encode()) % len(FILE_SHARDS)]


def due_shard(item_id: str) -> int:
    """The partition of a due index that holds this item."""
    return zlib.crc32(item_id.encode()) % DUE_SHARDS


def due_items(
    tables: Tables, index: Index, *, now: int, limit: int, shards: Iterable[int] = range(DUE_SHARDS)
) -> list[Item]:
    """Up to `limit` items that are due, the earliest first.

    The index may lag behind, and another sweep may have handled an item since: the item itself decides.
    """
    pages = [tables.index(index, shard, up_to=now, limit=limit) for shard in shards]
    rows = sorted((row for page in pages for row in page.rows), key=lambda row: int(row["due_at"]))
    items = tables.get_many(index.table, [index.table.key_of(row) for row in rows[:limit]])
    return [item for item in items if item.get("due_at", now + 1) <= now]
