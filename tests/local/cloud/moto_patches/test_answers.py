"""Values come back as they went in."""

from typing import Any

KEY = {"pk": {"S": "x"}}
EVERY_KIND = {
    **KEY,
    "text": {"S": "grüße"},
    "empty": {"S": ""},
    "number": {"N": "12.5"},
    "bytes": {"B": b"\x00\xff"},
    "yes": {"BOOL": True},
    "nothing": {"NULL": True},
    "texts": {"SS": ["a", "b"]},
    "numbers": {"NS": ["1", "2"]},
    "many_bytes": {"BS": [b"\x01", b"\x02"]},
    "list": {"L": [{"S": "a"}, {"B": b"\x03"}, {"L": []}, {"M": {"deep": {"N": "1"}}}]},
    "map": {"M": {"a": {"S": "b"}, "b": {"B": b"\x04"}, "none": {"M": {}}}},
}


def test_values_of_every_kind_come_back_as_they_went_in(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item=EVERY_KIND)
    found = dynamodb.get_item(TableName=table, Key=KEY)["Item"]
    for name in ("texts", "numbers", "many_bytes"):
        [(kind, members)] = found[name].items()
        found[name] = {kind: sorted(members)}
    assert found == EVERY_KIND
