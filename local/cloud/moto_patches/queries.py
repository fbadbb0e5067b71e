"""A query looks at one partition.

moto sorts all items of a table for every query, whatever it asks for: 2,000 items cost 30 ms each time.
"""

import copy
import functools
from typing import Any

from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.table import Table


def apply() -> None:
    plain = Table.query

    @functools.wraps(plain)
    def query(self: Table, hash_key: DynamoType | None, *args: Any, **kwargs: Any) -> Any:
        index_name = kwargs.get("index_name", args[6] if len(args) > 6 else None)
        if index_name is None:
            found = {hash_key: self.items[hash_key]} if hash_key in self.items else {}
        else:
            found = _with_keys(self, kwargs.get("hash_key_conditions") or [])
        view = copy.copy(self)
        view.items = found
        return plain(view, hash_key, *args, **kwargs)

    Table.query = query


def _with_keys(table: Table, conditions: list[tuple[str, DynamoType]]) -> dict[Any, Any]:
    """The table without the items that are not in the partition of the index."""

    def is_in(item: Any) -> bool:
        return all(name in item.attrs and item.attrs[name] == value for name, value in conditions)

    if not table.has_range_key:
        return {key: item for key, item in table.items.items() if is_in(item)}
    parts = ((key, {k: item for k, item in part.items() if is_in(item)}) for key, part in table.items.items())
    return {key: part for key, part in parts if part}
