"""The SQL of the two tables. Names come from the port, values only as parameters."""
# ruff: noqa: S608  # no text from outside is part of a statement

import sys
from dataclasses import dataclass
from typing import Any

from shared.ports.tables import Index, Item, Table

COPIED = ("user_id", "created_at", "due_shard", "due_at")
"""Attributes that indexes need, as columns of the same name."""
_COLUMNS = ("plain", "bytes", *COPIED, "expires_at", "held_until")
_SURROGATES = (0xD800, 0xDFFF)


@dataclass(frozen=True)
class Statements:
    """Of one table; parameters in the order: content, copies, key."""

    key: tuple[str, ...]
    get: str
    insert: str
    update: str
    update_all: str
    delete: str
    expire: str
    held: str
    scan: str


def _statements(table: Table) -> Statements:
    name, key = table.name.lower(), ", ".join(table.value)
    is_it = " AND ".join(f"{column} = ?" for column in table.value)
    content = "plain, bytes"
    assignments = ", ".join(f"{column} = ?" for column in _COLUMNS)
    marks = ", ".join("?" * (len(table.value) + len(_COLUMNS)))
    return Statements(
        key=table.value,
        get=f"SELECT {content} FROM {name} WHERE {is_it}",
        insert=f"INSERT INTO {name} ({key}, {', '.join(_COLUMNS)}) VALUES ({marks})",
        update=f"UPDATE {name} SET plain = ?, bytes = ? WHERE {is_it}",
        update_all=f"UPDATE {name} SET {assignments} WHERE {is_it}",
        delete=f"DELETE FROM {name} WHERE {is_it}",
        expire=f"DELETE FROM {name} WHERE rowid IN (SELECT rowid FROM {name} WHERE expires_at <= ? LIMIT ?)",
        held=f"SELECT {key}, {content} FROM {name} WHERE held_until > ?",
        scan=f"SELECT {key}, {content} FROM {name} "
        f"WHERE ({key}) > ({', '.join('?' * len(table.value))}) ORDER BY {key} LIMIT ?",
    )


STATEMENTS = {table: _statements(table) for table in Table}


def page_of_partition(
    pk: str, low: str, high: str | None, after: str | None, *, backwards: bool, limit: int
) -> tuple[str, list[Any]]:
    """Sort keys and contents of the items of a partition, behind `after`."""
    where, values = ["pk = ?", "sk >= ?"], [pk, low]
    if high is not None:
        where.append("sk <= ?")
        values.append(high)
    elif end := _end_of_prefix(low):
        where.append("sk < ?")
        values.append(end)
    if after is not None:
        where.append("sk < ?" if backwards else "sk > ?")
        values.append(after)
    order = "DESC" if backwards else "ASC"
    statement = f"SELECT sk, plain, bytes FROM sessions WHERE {' AND '.join(where)} ORDER BY sk {order} LIMIT ?"
    return statement, [*values, limit]


def page_of_index(
    index: Index, value: str | int, up_to: int | None, after: Item | None, *, backwards: bool, limit: int
) -> tuple[str, list[Any]]:
    """The keys of a page of an index, behind the position `after`."""
    names = (index.sort, *index.table.value)
    where, values = [f"{index.partition} = ?", f"{index.sort} IS NOT NULL"], [value]
    if up_to is not None:
        where.append(f"{index.sort} <= ?")
        values.append(up_to)
    if after is not None:
        where.append(f"({', '.join(names)}) {'<' if backwards else '>'} ({', '.join('?' * len(names))})")
        values += [after[name] for name in names]
    order = ", ".join(f"{name} {'DESC' if backwards else 'ASC'}" for name in names)
    statement = (
        f"SELECT {index.partition}, {', '.join(names)} FROM {index.table.name.lower()} "
        f"WHERE {' AND '.join(where)} ORDER BY {order} LIMIT ?"
    )
    return statement, [*values, limit]


def _end_of_prefix(prefix: str) -> str | None:
    """The first text behind all that begin with a prefix; None if there is none."""
    while prefix:
        code = ord(prefix[-1]) + 1
        if _SURROGATES[0] <= code <= _SURROGATES[1]:
            code = _SURROGATES[1] + 1
        if code <= sys.maxunicode:
            return prefix[:-1] + chr(code)
        prefix = prefix[:-1]
    return None
