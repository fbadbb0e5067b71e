"""The usage of a user: what is counted, refused, given back and forgotten."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from shared.domain.handoffs import Reason
from shared.domain.limits import Limits
from shared.errors import Conflict, StorageFull, TooManyNotices, TooManyOpenHandoffs, TooManyTurns
from shared.store.bundle import store_on
from shared.store.usage import HOUR, NOTICE_EVERY, WRITTEN_WITHIN
from tests.contracts.store.world import NOW, World
from tests.support.table_backends import Backend

LIMITS = Limits(open_handoffs=2, turns_per_hour=4, stored_bytes=1000)
START = NOW - NOW % HOUR


@pytest.fixture
def world(backend: Backend) -> World:
    return World(store_on(backend.tables, LIMITS))


def _take(world: World, handoff_id: str, now: int = START) -> bool:
    return world.store.usage.take_handoff("ada", handoff_id, now=now)


def test_handoffs_are_refused_beyond_the_limit(world: World) -> None:
    assert _take(world, "h-1")
    assert _take(world, "h-2")
    with pytest.raises(TooManyOpenHandoffs) as refused:
        _take(world, "h-3")
    assert refused.value.retry_after > 0
    assert refused.value.extra == {"limit": 2}
    assert world.store.usage.take_handoff("bob", "h-4", now=START)


def test_a_repeated_handoff_counts_once(world: World) -> None:
    assert _take(world, "h-1")
    assert not _take(world, "h-1")
    assert _take(world, "h-2")


def test_an_ended_handoff_makes_room(world: World) -> None:
    world.now = START
    first = world.requested(world.session("s-1"))
    second = world.requested(world.session("s-2"))
    _take(world, first.id)
    _take(world, second.id)
    world.store.handoffs.cancel(first, Reason("cancelled", "x"), now=START)
    assert _take(world, "h-3")
    with pytest.raises(TooManyOpenHandoffs):
        _take(world, "h-4")


def test_a_handoff_that_was_never_written_makes_room_later(world: World) -> None:
    _take(world, "lost")
    _take(world, "h-2")
    with pytest.raises(TooManyOpenHandoffs):
        _take(world, "h-3", START + WRITTEN_WITHIN - 1)
    assert _take(world, "h-3", START + WRITTEN_WITHIN)


def test_a_handoff_given_back_makes_room(world: World) -> None:
    _take(world, "h-1")
    _take(world, "h-2")
    world.store.usage.give_back_handoff("ada", "h-2")
    world.store.usage.give_back_handoff("ada", "h-2")  # harmless
    assert _take(world, "h-3")
    with pytest.raises(TooManyOpenHandoffs):
        _take(world, "h-4")


def test_concurrent_handoffs_never_pass_the_limit_together(world: World) -> None:
    _take(world, "h-0")
    world.store.usage.give_back_handoff("ada", "h-0")

    def take(number: int) -> bool:
        for _ in range(20):
            try:
                return _take(world, f"c-{number}")
            except TooManyOpenHandoffs:
                return False
            except Conflict:
                continue
        raise AssertionError("in conflict for too long")

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(take, range(16))) == LIMITS.open_handoffs


def test_turns_are_refused_until_the_hour_is_over(world: World) -> None:
    usage = world.store.usage
    for number in range(4):
        usage.take_turn("ada", f"t-{number}", now=START)
    with pytest.raises(TooManyTurns) as refused:
        usage.take_turn("ada", "t-4", now=START + HOUR - 60_000)
    assert refused.value.retry_after == 60
    usage.take_turn("ada", "t-4", now=START + HOUR)


def test_a_retried_turn_counts_once(world: World) -> None:
    for _ in range(10):
        world.store.usage.take_turn("ada", "t-1", now=START)
    for number in range(3):
        world.store.usage.take_turn("ada", f"more-{number}", now=START)
    with pytest.raises(TooManyTurns):
        world.store.usage.take_turn("ada", "t-9", now=START)


def test_the_turn_of_a_handoff_counts_too(world: World) -> None:
    for number in range(3):
        world.store.usage.take_turn("ada", f"t-{number}", now=START)
    assert _take(world, "h-1")
    with pytest.raises(TooManyTurns):
        _take(world, "h-2")


def test_a_clock_that_is_behind_resets_no_count(world: World) -> None:
    for number in range(4):
        world.store.usage.take_turn("ada", f"t-{number}", now=START)
    with pytest.raises(TooManyTurns):
        world.store.usage.take_turn("ada", "t-9", now=START - 1)


def test_one_notice_a_minute_and_a_retry_counts_once(world: World) -> None:
    usage = world.store.usage
    usage.take_notice("ada", "n-1", now=START)
    usage.take_notice("ada", "n-1", now=START + 1)
    with pytest.raises(TooManyNotices) as refused:
        usage.take_notice("ada", "n-2", now=START + NOTICE_EVERY - 1000)
    assert refused.value.retry_after == 1
    usage.take_notice("bob", "n-3", now=START)
    usage.take_notice("ada", "n-2", now=START + NOTICE_EVERY)
    assert _take(world, "h-1")  # the same item, first written by a notice


def test_concurrent_notices_never_pass_the_limit_together(world: World) -> None:
    def take(number: int) -> bool:
        try:
            world.store.usage.take_notice("ada", f"n-{number}", now=START)
        except TooManyNotices:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(take, range(16))) == 1


def test_uploads_are_refused_beyond_the_limit(world: World) -> None:
    usage = world.store.usage
    usage.take_bytes("ada", 600)
    with pytest.raises(StorageFull):
        usage.take_bytes("ada", 401)
    usage.take_bytes("ada", 400)
    usage.give_back_bytes("ada", 600)
    usage.take_bytes("ada", 600)
    with pytest.raises(StorageFull):
        usage.take_bytes("bob", 1001)


def test_an_upload_is_noted_on_its_session(world: World) -> None:
    session = world.session()
    said = [{"role": "user", "content": "hi"}]
    grown = world.store.transcripts.append(session, said, now=NOW, uploaded=33)
    assert grown.uploaded_bytes == 33
    assert world.current() == grown


def test_without_limits_nothing_is_written(backend: Backend) -> None:
    store = store_on(backend.tables)
    store.usage.take_handoff("ada", "h-1", now=NOW)
    store.usage.take_turn("ada", "t-1", now=NOW)
    store.usage.take_bytes("ada", 10**12)
    store.usage.give_back_bytes("ada", 10**12)
    assert list(backend.tables.query("USER#ada", low="USAGE")) == []
