"""Messages packed into chunks: whole, in order, none too large."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.messages import MAX_MESSAGE_BYTES, Message
from shared.store.transcripts import MAX_CHUNK_BYTES, pack, unpack

MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant"]), "content": st.text()},
        optional={"extra": st.lists(st.integers() | st.floats(allow_nan=False) | st.none() | st.text(), max_size=3)},
    ),
    max_size=30,
)


def unpacked(chunks: list[tuple[int, bytes]]) -> list[Message]:
    return [message for _, data in chunks for message in unpack(data)]


@given(MESSAGES)
def test_what_was_packed_is_unpacked_in_order(messages: list[Message]) -> None:
    chunks = pack(messages)
    assert unpacked(chunks) == messages
    assert [count for count, _ in chunks] == [len(unpack(data)) for _, data in chunks]


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(1, MAX_MESSAGE_BYTES - 100), min_size=1, max_size=12), st.integers(0, 10))
def test_no_chunk_is_over_the_limit_even_of_noise(sizes: list[int], seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311  # the same on every run
    messages = [{"role": "user", "content": chance.randbytes(size // 2).hex()} for size in sizes]
    chunks = pack(messages)
    assert max(len(data) for _, data in chunks) <= MAX_CHUNK_BYTES
    assert unpacked(chunks) == messages


def test_no_messages_are_no_chunks() -> None:
    assert pack([]) == []


def test_text_is_stored_small() -> None:
    messages = [
        {"role": "user", "content": f"The {number}th time that I ask for the same thing."} for number in range(2000)
    ]
    ((count, data),) = pack(messages)
    assert count == 2000
    assert len(data) < 20_000
