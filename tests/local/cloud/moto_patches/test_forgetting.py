"""Only what the account holds is kept in memory."""

import gc

from moto.dynamodb.models.dynamo_type import Item
from moto.dynamodb.models.table import Table

from local.cloud.engine import Engine
from tests.support.waiting import eventually


def _kept(name: str) -> tuple[int, int]:
    """How many copies of the table, and how many versions of items with its name as their key, are in memory."""
    gc.collect()
    found = [thing for thing in gc.get_objects() if isinstance(thing, Table | Item)]
    tables = [thing for thing in found if isinstance(thing, Table) and thing.name == name]
    return len(tables), sum(isinstance(thing, Item) and thing.hash_key.value == name for thing in found)


def test_replaced_items_and_stopped_accounts_are_forgotten() -> None:
    engine, name = Engine.start(), "forgotten"
    try:
        client = engine.client("dynamodb")
        client.create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        )
        for number in range(20):
            client.put_item(TableName=name, Item={"pk": {"S": name}, "n": {"N": str(number)}})
        eventually(lambda: _kept(name) == (1, 1), show=lambda: _kept(name))
    finally:
        engine.stop()

    eventually(lambda: _kept(name) == (0, 0), show=lambda: _kept(name))  # a thread may just end its last request
