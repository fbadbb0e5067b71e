"""Only what the account holds is kept in memory."""

import subprocess
import sys

from local.paths import ROOT

SCRIPT = """
import gc
from moto.dynamodb.models.dynamo_type import Item
from moto.dynamodb.models.table import Table
from local.cloud.engine import Engine
from tests.support.waiting import eventually

def kept():
    "How many copies of tables, and how many versions of items, are in memory."
    gc.collect()
    found = [type(thing) for thing in gc.get_objects() if isinstance(thing, Table | Item)]
    return found.count(Table), found.count(Item)

engine = Engine.start()
try:
    client = engine.client("dynamodb")
    client.create_table(
        TableName="table",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
    )
    for number in range(20):
        client.put_item(TableName="table", Item={"pk": {"S": "key"}, "n": {"N": str(number)}})
    eventually(lambda: kept() == (1, 1), show=kept)
finally:
    engine.stop()
eventually(lambda: kept() == (0, 0), show=kept)  # a thread may just end its last request
"""


def test_replaced_items_and_stopped_accounts_are_forgotten() -> None:
    """In another process: to look at all objects of one with many services stops these for seconds."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
