"""Conditions and writes as the requests that they become."""

from shared.aws.writes import (
    Check,
    Condition,
    Delete,
    Put,
    Update,
    absent,
    at_most,
    differs,
    either,
    equals,
    more_than,
    one_of,
    present,
)


def test_an_update_names_each_attribute_once_and_each_value_apart() -> None:
    request = Update(
        "t",
        {"k": "1"},
        when=[equals("state", "pending"), at_most("not_before", 5), either(absent("turn"), at_most("until", 5))],
        set={"state": "running", "steps.claimed": 7, "error": None},
        first={"steps.first": 7},
        add={"fence": 1},
    ).request()
    assert request == {
        "TableName": "t",
        "Key": {"k": {"S": "1"}},
        "UpdateExpression": "SET #n0 = :v0, #n1.#n2 = :v1, #n1.#n3 = if_not_exists(#n1.#n3, :v2) REMOVE #n4 ADD #n5 :v3",
        "ConditionExpression": ("#n0 = :v4 AND #n6 <= :v5 AND (attribute_not_exists(#n7) OR #n8 <= :v6)"),
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
    assert Put("t", {"k": "1", "gone": None}).request() == {"TableName": "t", "Item": {"k": {"S": "1"}}}


def test_a_check_and_a_delete_carry_their_conditions() -> None:
    for write in (Check, Delete):
        request = write(
            "t", {"k": "1"}, [differs("a", 1), more_than("b", 2), present("c"), one_of("d", ["x", "y"])]
        ).request()
        assert (
            request["ConditionExpression"] == "#n0 <> :v0 AND #n1 > :v1 AND attribute_exists(#n2) AND #n3 IN (:v2, :v3)"
        )
        assert request["ExpressionAttributeValues"][":v3"] == {"S": "y"}


def test_the_pieces_of_a_condition_are_filled_in_their_order() -> None:
    between = Condition("({} = [] AND {} <= [])", ("state", "until"), ("sending", 9))
    request = Check("t", {"k": "1"}, [either(equals("state", "waiting"), between)]).request()
    assert request["ConditionExpression"] == "(#n0 = :v0 OR (#n0 = :v1 AND #n1 <= :v2))"
    assert [request["ExpressionAttributeValues"][f":v{n}"] for n in range(3)] == [
        {"S": "waiting"},
        {"S": "sending"},
        {"N": "9"},
    ]
