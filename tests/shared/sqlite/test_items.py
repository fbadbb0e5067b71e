"""Items as text and bytes."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shared.sqlite.tables import decode, encode

SCALARS = st.none() | st.booleans() | st.integers() | st.text(st.characters()) | st.binary(max_size=20)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=10
)


@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_every_item_is_read_back_as_it_was(item: dict[str, Any]) -> None:
    assert decode(*encode(item)) == item


def test_half_of_a_surrogate_pair_is_kept() -> None:
    item = {"text": "a\ud83d", "map": {"\ud83d": b"\n"}}
    text, data = encode(item)
    text.encode()  # SQLite stores UTF-8
    assert decode(text, data) == item


def test_bytes_are_stored_as_they_are() -> None:
    text, data = encode({"data": bytes(1000), "count": 3})
    assert (text, data) == ('{"data":null,"count":3}', b'[["data",1000]]\n' + bytes(1000))


def test_text_is_not_escaped() -> None:
    assert encode({"text": "Zoë 🚀"}) == ('{"text":"Zoë 🚀"}', None)
