"""Filter patterns decide as Lambda's do."""

from typing import Any

import pytest

from local.cloud.sources.pattern import UnknownPatternError, check, matches


def leaf(*rules: Any) -> dict[str, Any]:
    return {"dynamodb": {"NewImage": {"state": {"S": list(rules)}}}}


def record(**value: Any) -> dict[str, Any]:
    return {"eventName": "INSERT", "dynamodb": {"NewImage": {"state": value}}}


@pytest.mark.parametrize(
    ("rules", "value", "fits"),
    [
        (["pending"], "pending", True),
        (["pending"], "Pending", False),
        (["pending", "running"], "running", True),
        ([""], "", True),
        ([None], None, True),
        ([None], "", False),
        ([1], 1, True),
        ([1], True, False),
        ([True], True, True),
        ([{"exists": True}], None, True),
        ([{"exists": False}], "x", False),
        ([{"prefix": "pen"}], "pending", True),
        ([{"prefix": "pen"}], "open", False),
        ([{"prefix": {"equals-ignore-case": "PEN"}}], "pending", True),
        ([{"suffix": "ing"}], "pending", True),
        ([{"suffix": {"equals-ignore-case": "ING"}}], "pending", True),
        ([{"suffix": "ing"}], 7, False),
        ([{"equals-ignore-case": "PENDING"}], "pending", True),
        ([{"numeric": [">", 1, "<=", 5]}], 5, True),
        ([{"numeric": [">", 1, "<=", 5]}], 1, False),
        ([{"numeric": ["=", 5]}], 5.0, True),
        ([{"numeric": ["=", 5]}], "5", False),
        ([{"anything-but": "pending"}], "running", True),
        ([{"anything-but": ["pending", "running"]}], "running", False),
        ([{"anything-but": [5]}], 6, True),
        ([{"anything-but": {"prefix": "pen"}}], "pending", False),
        (["b"], ["a", "b"], True),
        (["c"], ["a", "b"], False),
    ],
)
def test_rules_fit_a_value(rules: list[Any], value: Any, fits: bool) -> None:
    pattern = leaf(*rules)
    check(pattern)
    assert matches(pattern, record(S=value)) is fits


@pytest.mark.parametrize(
    ("rules", "fits"), [(["x"], False), ([None], False), ([{"exists": False}], True), ([{"anything-but": "x"}], False)]
)
def test_field_that_is_not_there(rules: list[Any], fits: bool) -> None:
    assert matches(leaf(*rules), record(N="1")) is fits
    assert matches(leaf(*rules), {"eventName": "REMOVE", "dynamodb": {}}) is fits


def test_every_field_must_fit_and_any_alternative_of_or_will_do() -> None:
    both = {"eventName": ["INSERT"], **leaf("pending")}
    assert matches(both, record(S="pending"))
    assert not matches(both, {**record(S="pending"), "eventName": "MODIFY"})
    either = {"$or": [{"eventName": ["REMOVE"]}, leaf("pending")]}
    check(either)
    assert matches(either, record(S="pending"))
    assert matches(either, {"eventName": "REMOVE"})
    assert not matches(either, record(S="running"))


def test_rule_about_a_whole_object_looks_at_leaves_only() -> None:
    assert not matches({"dynamodb": [{"exists": True}]}, record(S="x"))


@pytest.mark.parametrize(
    "pattern",
    [
        {"a": "pending"},
        {"a": []},
        {"a": [{"wildcard": "x*"}]},
        {"a": [{"prefix": "a", "suffix": "b"}]},
        {"a": [{"numeric": ["~", 1]}]},
        {"a": [{"numeric": [">"]}]},
        {"a": [["nested"]]},
        {"$or": [{"a": [{"cidr": "10.0.0.0/8"}]}]},
        {"a": {"b": [{"anything-but": {"wildcard": "x"}}]}},
    ],
)
def test_pattern_that_nobody_can_decide_is_refused(pattern: dict[str, Any]) -> None:
    with pytest.raises(UnknownPatternError, match="Nothing was started"):
        check(pattern)
