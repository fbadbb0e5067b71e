"""Limits the size of a transaction to 4 MB in all, as AWS does; moto accepts any size."""

import functools
from typing import Any

from moto.core.exceptions import ServiceException
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.responses import DynamoHandler

TRANSACTION_BYTES = 4 * 1024 * 1024


class ValidationException(ServiceException):  # type: ignore[misc] # moto has no types
    code = "ValidationException"


def apply() -> None:
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
