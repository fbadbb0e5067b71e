"""Transcripts: appended once, loaded in order from anywhere, whole at any size and with any character."""

import base64
import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from shared.domain.messages import MAX_MESSAGE_BYTES, Message, digest
from shared.domain.sessions import Session
from shared.errors import Conflict
from shared.ports.tables import Table
from tests.contracts.store.world import NOW, REPLY, USER, World
from tests.support.table_backends import LARGE_TRANSACTIONS, Backend

CHUNK_LIMIT = 350 * 1024


def numbered(count: int, first: int = 0) -> list[Message]:
    return [{"role": ("user", "assistant")[n % 2], "content": f"message {n}"} for n in range(first, first + count)]


def noise(seed: int, size: int) -> str:
    """Text that hardly compresses."""
    return base64.b64encode(random.Random(seed).randbytes(size * 3 // 4)).decode()  # noqa: S311  # no secret, the same on every run


def load(world: World, **part: Any) -> list[Message]:
    return list(world.store.transcripts.load("s-1", **part))


def chunks(backend: Backend) -> Iterator[int]:
    """The sizes of all stored chunks."""
    for item in backend.scan(Table.SESSIONS):
        if item["sk"].startswith("CHUNK#"):
            yield len(item["data"])


def test_messages_are_loaded_in_the_order_in_which_they_were_appended(world: World) -> None:
    session = world.session(messages=numbered(3))
    grown = world.store.transcripts.append(session, numbered(2, first=3), now=NOW + 4)
    assert load(world) == numbered(5)
    assert grown == world.current()
    assert grown == replace(session, message_count=5, version=session.version + 1, updated_at=NOW + 4)


def test_a_session_without_messages_loads_none(world: World) -> None:
    world.session()
    assert load(world) == load(world, after=3) == load(world, limit=3) == []


def test_an_append_to_a_changed_session_adds_nothing(world: World) -> None:
    read = world.session(messages=numbered(2))
    world.store.transcripts.append(read, numbered(1, first=2), now=NOW)
    with pytest.raises(Conflict):
        world.store.transcripts.append(read, numbered(1, first=2), now=NOW)
    assert load(world) == numbered(3)


def test_an_append_to_a_session_that_has_moved_adds_nothing(world: World) -> None:
    read = world.session(messages=numbered(2))
    world.store.moves.to_terminal(read, now=NOW)
    with pytest.raises(Conflict):
        world.store.transcripts.append(read, numbered(1, first=2), now=NOW)
    assert load(world) == numbered(2)


def test_an_append_during_a_turn_adds_nothing(world: World) -> None:
    read = world.session(messages=numbered(2))
    running = world.start_turn(read)
    with pytest.raises(Conflict):
        world.store.transcripts.append(read, numbered(1, first=2), now=NOW)
    assert world.current() == running
    assert load(world) == numbered(2)


def test_an_append_to_no_session_leaves_no_messages_behind(world: World) -> None:
    with pytest.raises(Conflict):
        world.store.transcripts.append(replace(world.session(), id="s-404"), [USER], now=NOW)
    assert list(world.store.transcripts.load("s-404")) == []


def test_appending_nothing_adds_nothing(world: World) -> None:
    session = world.session(messages=[USER])
    assert world.store.transcripts.append(session, [], now=NOW).message_count == 1
    assert load(world) == [USER]


def test_loading_honours_after_and_limit(world: World) -> None:
    session = world.session(messages=numbered(2))
    session = world.store.transcripts.append(session, numbered(1, first=2), now=NOW)
    world.store.transcripts.append(session, numbered(2, first=3), now=NOW)
    for after, limit in itertools.product([0, 1, 2, 3, 4, 5, 9], [None, 0, 1, 2, 5, 9]):
        expected = numbered(5)[after:] if limit is None else numbered(5)[after : after + limit]
        assert load(world, after=after, limit=limit) == expected, (after, limit)


def test_sessions_whose_ids_begin_alike_keep_their_messages_apart(world: World) -> None:
    world.session("s-1", messages=[USER])
    world.session("s-10", messages=[REPLY])
    assert list(world.store.transcripts.load("s-1")) == [USER]
    assert list(world.store.transcripts.load("s-10")) == [REPLY]


ODD: Sequence[Message] = [
    {"role": "user", "content": "half an emoji: \ud83d, the other half: \ude80, both: 🚀, apart: \ud83d\ude80"},
    {"role": "user", "content": 'line\nfeeds\r\n, nulls \x00, quotes ", \\ and \u2028 separators'},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": ""}], "ratio": 0.1, "big": 2**70},
    {"role": "user", "content": "", "internal": True, "nested": {"deep": [None, False, {"": []}]}},
]


def test_any_character_and_any_key_comes_back_as_it_was(world: World) -> None:
    world.session(messages=ODD)
    assert load(world) == list(ODD)
    assert digest(load(world)) == digest(ODD)


def test_the_largest_message_fits_without_compression(world: World, backend: Backend) -> None:
    large = [{"role": "user", "content": noise(seed, MAX_MESSAGE_BYTES - 100)} for seed in range(3)]
    world.session(messages=large)
    assert load(world) == large
    assert max(chunks(backend)) <= CHUNK_LIMIT


def test_an_append_larger_than_a_transaction_is_stored_whole(world: World, backend: Backend) -> None:
    backend.needs(LARGE_TRANSACTIONS)
    messages = [{"role": "user", "content": noise(seed, 250_000)} for seed in range(24)]
    session = world.store.transcripts.append(world.session(), messages, now=NOW)
    assert session == world.current()
    assert session.message_count == 24
    assert digest(load(world)) == digest(messages)
    assert max(chunks(backend)) <= CHUNK_LIMIT


def test_small_messages_are_packed_together(world: World, backend: Backend) -> None:
    world.session(messages=numbered(2000))
    assert len(list(chunks(backend))) == 1
    assert load(world, after=1999) == numbered(1, first=1999)


def upload(world: World, messages: Sequence[Message], pieces: int) -> Session:
    """As the terminal does it: piece by piece, each after the one before."""
    session = world.session()
    size = -(-len(messages) // pieces)
    for start in range(0, len(messages), size):
        session = world.store.transcripts.append(session, messages[start : start + size], now=NOW)
    return session


def test_ten_thousand_messages_are_stored_completely(world: World, backend: Backend) -> None:
    words = [noise(seed, 1000) + " and the same again and again" * 36 for seed in range(10)]
    messages: list[Message] = [
        {"role": ("user", "assistant")[number % 2], "content": f"{number} {words[number % 10]}"}
        for number in range(10_000)
    ]
    assert sum(len(str(message["content"])) for message in messages) > 20_000_000

    session = upload(world, messages, pieces=20)

    assert session.message_count == 10_000
    assert digest(world.store.transcripts.load("s-1")) == digest(messages)
    assert load(world, after=9_990) == messages[9_990:]
    assert load(world, after=5_000, limit=3) == messages[5_000:5_003]
    assert load(world, limit=2) == messages[:2]
    assert max(chunks(backend)) <= CHUNK_LIMIT
