"""Writes and conditions as DynamoDB requests."""

import pytest

from shared.aws.expressions import request_of, transaction_entry
from shared.ports.conditions import (
    absent,
    at_least,
    at_most,
    both,
    differs,
    either,
    equals,
    more_than,
    one_of,
    present,
)
from shared.ports.tables import Check, Delete, Put, Table, Update

KEY = {"handoff_id": "1"}


def test_an_update_names_each_attribute_once() -> None:
    update = Update(
        Table.HANDOFFS,
        KEY,
        when=[equals("state", "pending"), at_most("not_before", 5), either(absent("turn"), at_most("until", 5))],
        set={"state": "running", "steps.claimed": 7, "error": None},
        first={"steps.first": 7},
        add={"fence": 1},
    )
    assert request_of(update, "t") == {
        "TableName": "t",
        "Key": {"handoff_id": {"S": "1"}},
        "UpdateExpression": "SET #n0 = :v0, #n1.#n2 = :v1, #n1.#n3 = if_not_exists(#n1.#n3, :v2) REMOVE #n4 ADD #n5 :v3",
        "ConditionExpression": "#n0 = :v4 AND #n6 <= :v5 AND (attribute_not_exists(#n7) OR #n8 <= :v6)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        "ExpressionAttributeNames": {
            "#n0": "state",
            "#n1": "steps",
            "#n2": "claimed",
            "#n3": "first",
            "#n4": "error",
            "#n5": "fence",
            "#n6": "not_before",
            "#n7": "turn",
            "#n8": "until",
        },
        "ExpressionAttributeValues": {
            ":v0": {"S": "running"},
            ":v1": {"N": "7"},
            ":v2": {"N": "7"},
            ":v3": {"N": "1"},
            ":v4": {"S": "pending"},
            ":v5": {"N": "5"},
            ":v6": {"N": "5"},
        },
    }


def test_a_put_without_conditions_has_no_expression() -> None:
    put = Put(Table.HANDOFFS, {**KEY, "gone": None})
    assert request_of(put, "t") == {"TableName": "t", "Item": {"handoff_id": {"S": "1"}}}


def test_a_check_and_a_delete_carry_their_conditions() -> None:
    for write in (Check, Delete):
        conditions = [differs("a", 1), more_than("b", 2), present("c"), one_of("d", ["x", "y"]), at_least("e", 3)]
        request = request_of(write(Table.HANDOFFS, KEY, conditions), "t")
        assert request["ConditionExpression"] == (
            "#n0 <> :v0 AND #n1 > :v1 AND attribute_exists(#n2) AND #n3 IN (:v2, :v3) AND #n4 >= :v4"
        )
        assert request["ExpressionAttributeValues"][":v3"] == {"S": "y"}


def test_nested_conditions_keep_their_parentheses() -> None:
    overdue = both(equals("state", "sending"), at_most("until", 9))
    request = request_of(Check(Table.HANDOFFS, KEY, [either(equals("state", "waiting"), overdue)]), "t")
    assert request["ConditionExpression"] == "(#n0 = :v0 OR (#n0 = :v1 AND #n1 <= :v2))"
    assert [request["ExpressionAttributeValues"][f":v{n}"] for n in range(3)] == [
        {"S": "waiting"},
        {"S": "sending"},
        {"N": "9"},
    ]


@pytest.mark.parametrize(
    ("write", "action"),
    [
        (Put(Table.HANDOFFS, KEY), "Put"),
        (Update(Table.HANDOFFS, KEY, [], set={"a": 1}), "Update"),
        (Delete(Table.HANDOFFS, KEY), "Delete"),
        (Check(Table.HANDOFFS, KEY, [present("a")]), "ConditionCheck"),
    ],
)
def test_each_write_is_an_action_of_a_transaction(write: Put | Update | Delete | Check, action: str) -> None:
    assert transaction_entry(write, "t") == {action: request_of(write, "t")}
