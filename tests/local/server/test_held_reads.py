"""Reads that wait for a write: woken by it, by nothing else, and by the end of the service."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from local.server.held_reads import HeldReads, subject_of
from shared.ports.changes import Changes, NoChanges, Read, Subject, of_runner
from shared.ports.tables import Table
from shared.store.keys import runner_key

T = TypeVar("T")
ONE, OTHER = Subject("runner", "one"), Subject("runner", "other")
LONG = 20.0


class Number:
    """A value that writes change; `reads` counts how often it was read."""

    def __init__(self) -> None:
        self.value = 0
        self.reads = 0

    def read(self) -> int:
        self.reads += 1
        return self.value


def positive(value: int) -> bool:
    return value > 0


def in_a_thread(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def run(body: Callable[[], Awaitable[T]]) -> T:
    async def limited() -> T:
        async with asyncio.timeout(LONG):
            return await body()

    return asyncio.run(limited())


async def begun(number: Number, reads: int = 1) -> None:
    while number.reads < reads:  # noqa: ASYNC110  # the loop must run, and nothing tells when it has
        await asyncio.sleep(0)


def test_a_write_in_another_thread_wakes_the_reader() -> None:
    held, number = HeldReads(), Number()

    async def body() -> Read[int]:
        reading = asyncio.ensure_future(held.hold([ONE], LONG, number.read, positive))
        await begun(number)
        number.value = 7
        in_a_thread(lambda: held.changed(ONE))
        return await reading

    assert run(body) == Read(7, was_held=True)
    assert (number.reads, held.count) == (2, 0)


def test_a_reader_of_several_subjects_is_woken_by_each() -> None:
    held, number = HeldReads(), Number()

    async def body() -> Read[int]:
        reading = asyncio.ensure_future(held.hold([ONE, OTHER], LONG, number.read, positive))
        await begun(number)
        held.changed(ONE)
        await begun(number, 2)
        number.value = 3
        held.changed(OTHER)
        return await reading

    assert run(body) == Read(3, was_held=True)
    assert (number.reads, held.count) == (3, 0)


def test_a_write_before_the_request_is_answered_at_once() -> None:
    held, number = HeldReads(), Number()
    number.value = 7

    assert run(lambda: held.hold([ONE], LONG, number.read, positive)) == Read(7, was_held=True)
    assert number.reads == 1


def test_only_a_write_makes_it_read_again() -> None:
    held, number = HeldReads(), Number()

    assert run(lambda: held.hold([ONE], 0.05, number.read, positive)) == Read(0, was_held=True)
    assert number.reads == 1


def test_a_write_that_is_no_news_leaves_the_reader_waiting() -> None:
    held, number = HeldReads(), Number()

    async def body() -> Read[int]:
        reading = asyncio.ensure_future(held.hold([ONE], LONG, number.read, positive))
        await begun(number)
        held.changed(ONE)
        await begun(number, 2)
        assert not reading.done()
        number.value = 1
        held.changed(ONE)
        return await reading

    assert run(body).value == 1


def test_another_subject_wakes_nothing() -> None:
    held, number = HeldReads(), Number()

    async def body() -> Read[int]:
        reading = asyncio.ensure_future(held.hold([ONE], 0.05, number.read, positive))
        await begun(number)
        held.changed(OTHER)
        return await reading

    run(body)
    assert number.reads == 1


def test_a_reader_that_is_cancelled_leaves_nothing() -> None:
    held, number = HeldReads(), Number()

    async def body() -> int:
        reading = asyncio.ensure_future(held.hold([ONE], LONG, number.read, positive))
        await begun(number)
        waiting = held.count
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        return waiting

    assert (run(body), held.count) == (1, 0)


def test_an_error_of_the_read_reaches_the_caller() -> None:
    held = HeldReads()

    def fail() -> int:
        raise LookupError

    with pytest.raises(LookupError):
        run(lambda: held.hold([ONE], LONG, fail, positive))
    assert held.count == 0


def test_closing_answers_all_readers_and_holds_no_more() -> None:
    held, number = HeldReads(), Number()

    async def body() -> list[Read[int]]:
        readings = [asyncio.ensure_future(held.hold([ONE], LONG, number.read, positive)) for _ in range(3)]
        await begun(number, 3)
        in_a_thread(held.close)
        return [*await asyncio.gather(*readings), await held.hold([ONE], LONG, number.read, positive)]

    assert run(body) == [Read(0, was_held=False)] * 4


def test_more_readers_than_allowed_are_answered_at_once() -> None:
    held, number = HeldReads(most=1), Number()

    async def body() -> Read[int]:
        first = asyncio.ensure_future(held.hold([ONE], LONG, number.read, positive))
        await begun(number)
        second = await held.hold([OTHER], LONG, number.read, positive)
        held.close()
        await first
        return second

    assert run(body) == Read(0, was_held=False)


@pytest.mark.parametrize(("changes", "seconds"), [(NoChanges(), LONG), (HeldReads(), 0.0)], ids=["never", "no time"])
def test_without_holding_it_reads_once(changes: Changes, seconds: float) -> None:
    number = Number()

    assert run(lambda: changes.hold([ONE], seconds, number.read, positive)) == Read(0, was_held=False)
    assert number.reads == 1


def test_a_change_of_a_runner_wakes_its_poll() -> None:
    """So that a revoked one ends what it keeps open at once."""
    assert subject_of(Table.SESSIONS, runner_key("ada", "laptop")) == of_runner("ada", "laptop")
