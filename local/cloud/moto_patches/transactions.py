"""Makes transactions and updates atomic, at a cost that depends on the items they touch.

moto deep-copies every table that a transaction names and replaces the tables by the copies on a failure, leaves an
update that fails half way half done, ignores ClientRequestToken, and accepts transactions of any size.
"""

import copy
import functools
import json
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from moto.core.exceptions import ServiceException
from moto.dynamodb import responses as moto_responses
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType, Item
from moto.dynamodb.models.table import Table
from moto.dynamodb.responses import DynamoHandler

TOKEN_SECONDS = 600  # how long a ClientRequestToken is valid
TRANSACTION_BYTES = 4 * 1024 * 1024

Touched = tuple[Table, DynamoType, DynamoType | None]


class IdempotentParameterMismatchException(ServiceException):  # type: ignore[misc] # moto has no types
    code = "IdempotentParameterMismatchException"
    message = "The client request token was used before with other parameters."


class ValidationException(ServiceException):  # type: ignore[misc] # moto has no types
    code = "ValidationException"


class _Copying:
    """Whether `deepcopy` copies tables. It does not inside transactions, where `all_or_nothing` restores items."""

    enabled = True


def _table_copy(self: Table, memo: dict[int, Any]) -> Table:
    if not _Copying.enabled:
        return self
    clone = object.__new__(type(self))
    memo[id(self)] = clone
    clone.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return clone


@contextmanager
def all_or_nothing(touched: list[Touched]) -> Iterator[None]:
    """Restore the touched items, and write no stream records, if the block raises."""
    before = [(place, copy.deepcopy(_current(place))) for place in touched]
    streams = {id(table): table.stream_shard for table, _, _ in touched if table.stream_shard is not None}
    try:
        with ExitStack() as held:
            for stream in streams.values():
                held.enter_context(stream.held())
            yield
    except BaseException:
        for place, item in before:
            _restore(place, item)
        raise


def _current(place: Touched) -> Item | None:
    table, hash_key, range_key = place
    found = table.items.get(hash_key)
    return found.get(range_key) if found is not None and table.has_range_key else found


def _restore(place: Touched, item: Item | None) -> None:
    table, hash_key, range_key = place
    holder, key = (table.items[hash_key], range_key) if table.has_range_key else (table.items, hash_key)
    if item is None:
        holder.pop(key, None)
    else:
        holder[key] = item


def _place(backend: DynamoDBBackend, table_name: str, attributes: dict[str, Any]) -> Touched | None:
    """Return where an operation writes; None for a table or key that moto will reject."""
    table = backend.tables.get(table_name)
    if table is None or any(name not in attributes for name in table.table_key_attrs):
        return None
    range_key = DynamoType(attributes[table.range_key_attr]) if table.has_range_key else None
    return table, DynamoType(attributes[table.hash_key_attr]), range_key


def _places(backend: DynamoDBBackend, operations: list[dict[str, Any]]) -> list[Touched]:
    found = (
        _place(backend, operation.get("TableName", ""), operation.get("Key") or operation.get("Item") or {})
        for entry in operations
        for operation in entry.values()
    )
    return [place for place in found if place is not None]


def apply() -> None:
    Table.__deepcopy__ = _table_copy
    moto_responses.TRANSACTION_MAX_ITEMS = 100  # moto has 25 for reads
    _patch_updates()
    _patch_transactions()
    _support_tokens()
    _limit_size()


def _patch_updates() -> None:
    original = DynamoDBBackend.update_item

    @functools.wraps(original)
    def update_item(self: DynamoDBBackend, table_name: str, key: dict[str, Any], *args: Any, **kwargs: Any) -> Item:
        place = _place(self, self.get_table(table_name).name, key)
        with all_or_nothing([place] if place else []):
            return original(self, table_name, key, *args, **kwargs)

    DynamoDBBackend.update_item = update_item


def _patch_transactions() -> None:
    original = DynamoDBBackend.transact_write_items

    @functools.wraps(original)
    def transact_write_items(self: DynamoDBBackend, transact_items: list[dict[str, Any]]) -> None:
        _Copying.enabled = False  # the lock of all DynamoDB actions is held
        try:
            with all_or_nothing(_places(self, transact_items)):
                original(self, transact_items)
        finally:
            _Copying.enabled = True

    DynamoDBBackend.transact_write_items = transact_write_items


def _support_tokens() -> None:
    original = DynamoHandler.transact_write_items
    answers: OrderedDict[tuple[str, str, str], tuple[float, str, Any]] = OrderedDict()

    @functools.wraps(original)
    def transact_write_items(self: DynamoHandler) -> Any:
        now = time.monotonic()
        while answers and next(iter(answers.values()))[0] < now - TOKEN_SECONDS:
            answers.popitem(last=False)
        token = self.body.get("ClientRequestToken")
        if token is None:
            return original(self)
        key = (self.current_account, self.region, token)
        asked = json.dumps(self.body["TransactItems"], sort_keys=True, default=repr)
        if key in answers:
            _, answered_for, answer = answers[key]
            if answered_for != asked:
                raise IdempotentParameterMismatchException
            return answer
        answer = original(self)
        answers[key] = (now, asked, answer)
        return answer

    DynamoHandler.transact_write_items = transact_write_items


def _limit_size() -> None:
    original = DynamoHandler.transact_write_items

    @functools.wraps(original)
    def transact_write_items(self: DynamoHandler) -> Any:
        size = sum(_size(operation) for entry in self.body["TransactItems"] for operation in entry.values())
        if size > TRANSACTION_BYTES:
            raise ValidationException("The aggregate size of the items in the transaction exceeds 4 MB.")
        return original(self)

    DynamoHandler.transact_write_items = transact_write_items


def _size(operation: dict[str, Any]) -> int:
    """Return the size of the values in a write. AWS counts the whole item of an update, so this is more lenient."""
    values = {**operation.get("Item", {}), **operation.get("ExpressionAttributeValues", {})}
    return sum(len(name) + DynamoType(value).size() for name, value in values.items())
