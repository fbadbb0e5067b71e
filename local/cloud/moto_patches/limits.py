"""Limits of DynamoDB that moto does not know.

It takes transactions of any size; AWS refuses what has more than 4 MB in all, which a long transcript reaches.
"""

import functools
from typing import Any

from moto.core.exceptions import ServiceException
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.responses import DynamoHandler

TRANSACTION_BYTES = 4 * 1024 * 1024


class ValidationException(ServiceException):  # type: ignore[misc] # moto has no types
    code = "ValidationException"


def apply() -> None:
    plain = DynamoHandler.transact_write_items

    @functools.wraps(plain)
    def transact_write_items(self: DynamoHandler) -> Any:
        size = sum(_size(operation) for entry in self.body["TransactItems"] for operation in entry.values())
        if size > TRANSACTION_BYTES:
            raise ValidationException("The aggregate size of the items in the transaction exceeds 4 MB.")
        return plain(self)

    DynamoHandler.transact_write_items = transact_write_items


def _size(operation: dict[str, Any]) -> int:
    """Of what a write brings along; what an update leaves in place is not counted, so this is lenient."""
    brought = {**operation.get("Item", {}), **operation.get("ExpressionAttributeValues", {})}
    return sum(len(name) + DynamoType(value).size() for name, value in brought.items())
