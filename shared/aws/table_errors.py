"""Errors of DynamoDB writes as those of the `Tables` port."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import ClientError

from shared.aws.items import from_item
from shared.errors import Conflict
from shared.ports.tables import ConditionFailed, InvalidOperation

_FAILED = "ConditionalCheckFailed"
_TRANSIENT = {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}


@contextmanager
def translated() -> Iterator[None]:
    """Raise the port's errors instead of botocore's. Others (throttling, access, network) pass through."""
    try:
        yield
    except ClientError as error:
        translation = _translation(error.response)
        if translation is None:
            raise
        raise translation from None


def _translation(response: Mapping[str, Any]) -> Exception | None:
    match response["Error"]["Code"]:
        case "ConditionalCheckFailedException":
            return ConditionFailed([from_item(response.get("Item", {}))])
        case "TransactionConflictException":
            return Conflict("a transaction is writing the same item")
        case "TransactionCanceledException":
            return _cancellation(response["CancellationReasons"])
        case "ValidationException":
            return InvalidOperation(response["Error"]["Message"])
    return None


def _cancellation(reasons: Sequence[Mapping[str, Any]]) -> Exception | None:
    """A failed condition is reported even if another write of the same transaction met a conflict."""
    codes = [reason["Code"] for reason in reasons]
    if _FAILED in codes:
        items = [from_item(reason.get("Item", {})) if reason["Code"] == _FAILED else None for reason in reasons]
        return ConditionFailed(items)
    if _TRANSIENT.intersection(codes):
        return Conflict("another transaction is writing the same item")
    if "ValidationError" in codes:
        return InvalidOperation("; ".join(reason["Message"] for reason in reasons if "Message" in reason))
    return None
