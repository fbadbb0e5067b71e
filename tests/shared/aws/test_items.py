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
def test_what_is_none_is_not_stored_and_the_rest_comes_back(values: dict[str, Any]) -> None:
    assert from_item(to_item(values)) == {name: value for name, value in values.items() if value is not None}


def test_true_is_a_truth_and_no_number() -> None:
    assert encode(True) == {"BOOL": True}
    assert encode(1) == {"N": "1"}


def test_a_set_of_strings_comes_back_as_one() -> None:
    assert decode(encode({"b", "a"})) == frozenset({"a", "b"})


@pytest.mark.parametrize("value", [1.5, object(), {1: 2}.keys()])
def test_what_cannot_be_stored_is_refused_rather_than_bent(value: Any) -> None:
    with pytest.raises(TypeError, match="cannot store"):
        encode(value)


def test_what_we_never_wrote_is_refused_on_reading() -> None:
    with pytest.raises(TypeError, match="cannot read"):
        decode({"NS": ["1"]})
