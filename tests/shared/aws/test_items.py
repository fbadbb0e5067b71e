"""Plain values to attribute values and back."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.aws.items import decode, encode, from_item, to_item

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**37), 10**37) | TEXT | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=10,
)


@given(VALUES)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    assert decode(encode(value)) == value


@given(st.dictionaries(TEXT, VALUES, max_size=6))
def test_none_is_not_stored_and_the_rest_comes_back(values: dict[str, Any]) -> None:
    assert from_item(to_item(values)) == {name: value for name, value in values.items() if value is not None}


def test_a_boolean_is_not_a_number() -> None:
    assert encode(True) == {"BOOL": True}
    assert encode(1) == {"N": "1"}


@pytest.mark.parametrize("value", [1.5, object(), {1: 2}.keys(), {"a"}])
def test_a_value_that_cannot_be_stored_is_a_type_error(value: Any) -> None:
    with pytest.raises(TypeError, match="cannot store"):
        encode(value)


def test_an_unknown_attribute_type_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="cannot read"):
        decode({"XS": ["1"]})


def test_values_that_only_a_newer_version_writes_are_read() -> None:
    item = {"n": {"N": "1.5"}, "ss": {"SS": ["a"]}, "ns": {"NS": ["1", "2.5"]}, "bs": {"BS": [b"x"]}}
    assert from_item(item) == {"n": 1.5, "ss": ["a"], "ns": [1, 2.5], "bs": [b"x"]}
