"""Time to live, on demand: moto stores the setting and never deletes anything.

DynamoDB deletes in its own time, up to days late, so reads have to cope with expired items anyway: locally
nothing expires until somebody says what time it is.
"""

from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.dynamo_type import Item
from moto.dynamodb.models.table import Table

from local.cloud.moto_patches.atomicity import LOCK

FIVE_YEARS = 5 * 365 * 86_400  # older than that DynamoDB takes for a mistake, and keeps


def expire(account_id: str, region: str, now: float) -> int:
    """Delete the items whose time is over, leaving REMOVE records in the stream; return how many."""
    with LOCK:
        tables = dynamodb_backends[account_id][region].tables.values()
        return sum(_expire(table, now) for table in tables)


def _expire(table: Table, now: float) -> int:
    if table.ttl["TimeToLiveStatus"] != "ENABLED":
        return 0
    due = [item for item in table.all_items() if _is_due(item, table.ttl["AttributeName"], now)]
    for item in due:
        table.delete_item(item.hash_key, item.range_key)
    return len(due)


def _is_due(item: Item, attribute: str, now: float) -> bool:
    value = item.attrs.get(attribute)
    if value is None or value.type != "N":
        return False
    return bool(now - FIVE_YEARS < float(value.value) < now)
