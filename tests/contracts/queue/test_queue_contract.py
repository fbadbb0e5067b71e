"""What the Turns queue and its dead letters promise, on SQS, SQLite and the fake."""

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import EndpointConnectionError

from shared.aws.queue import SqsVisibility
from shared.domain.routes import Place
from shared.ports.queue import InboxEvent, Kickoff, TurnMessage
from tests.contracts.queue.harness import FakeHarness, QueueHarness, Received, SqliteHarness, SqsHarness, sqs_harness
from tests.support.table_backends import new_database

if TYPE_CHECKING:
    from local.cloud.engine import Engine

HERE = Place("telegram", "-1001", "17")
THERE = Place("slack", "C:1", "1.2")


@pytest.fixture(params=["sqs", "sqlite", "fake"])
def at(request: pytest.FixtureRequest) -> Iterator[QueueHarness]:
    if request.param == "fake":
        yield FakeHarness()
    elif request.param == "sqlite":
        with new_database() as database:
            yield SqliteHarness(database)
    else:
        with sqs_harness(request.getfixturevalue("engine")) as harness:
            yield harness


def send(at: QueueHarness, *messages: TurnMessage, line: str | None = None) -> None:
    for message in messages:
        at.queue.send(message, dedupe=str(message), line=line)


def receive_all(at: QueueHarness) -> list[Received]:
    """Receive until no line has a visible message."""
    return list(iter(at.receive, None))


def messages(received: list[Received]) -> list[TurnMessage]:
    return [one.message for one in received]


def test_an_empty_queue_gives_nothing(at: QueueHarness) -> None:
    assert at.receive() is None


def test_the_same_dedupe_id_is_queued_once(at: QueueHarness) -> None:
    for event in ("1", "2", "3"):
        at.queue.send(InboxEvent(HERE, event), dedupe="the same")

    (received,) = receive_all(at)
    at.delete(received)

    assert received.message == InboxEvent(HERE, "1")
    assert at.receive() is None


def test_a_dedupe_id_counts_within_its_line_only(at: QueueHarness) -> None:
    at.queue.send(InboxEvent(HERE, "1"), dedupe="the same")
    at.queue.send(InboxEvent(HERE, "2"), dedupe="the same", line="another")

    assert set(messages(receive_all(at))) == {InboxEvent(HERE, "1"), InboxEvent(HERE, "2")}


def test_a_line_gives_one_message_at_a_time_in_order(at: QueueHarness) -> None:
    sent = [InboxEvent(HERE, str(number)) for number in range(3)]
    send(at, *sent)

    read = []
    while received := at.receive():
        assert at.receive() is None, "the next one waits until this one is deleted"
        read.append(received.message)
        at.delete(received)

    assert read == sent


def test_each_place_is_its_own_line(at: QueueHarness) -> None:
    places = (HERE, THERE, HERE.home)
    send(at, *(InboxEvent(place, event) for place, event in itertools.product(places, "12")))

    assert set(messages(receive_all(at))) == {InboxEvent(place, "1") for place in places}


def test_another_line_does_not_wait(at: QueueHarness) -> None:
    send(at, InboxEvent(HERE, "1"))
    send(at, Kickoff(HERE, "h-1"), line="again h-1")

    assert set(messages(receive_all(at))) == {InboxEvent(HERE, "1"), Kickoff(HERE, "h-1")}


def test_a_released_message_comes_back_before_the_next(at: QueueHarness) -> None:
    send(at, InboxEvent(HERE, "1"), InboxEvent(HERE, "2"))
    (held,) = receive_all(at)

    held.visibility.set(60)
    assert at.receive() is None
    held.visibility.set(0)

    assert messages(receive_all(at)) == [InboxEvent(HERE, "1")]


def test_setting_the_visibility_of_a_deleted_message_is_safe(at: QueueHarness) -> None:
    send(at, InboxEvent(HERE, "1"))
    (held,) = receive_all(at)
    at.delete(held)

    held.visibility.set(0)

    assert at.receive() is None


def test_dead_letters_are_received_until_deleted(at: QueueHarness) -> None:
    buried: list[TurnMessage] = [Kickoff(HERE, "h-1"), InboxEvent(THERE, "1")]
    for message in buried:
        at.bury(message)

    letters = sorted(at.dead.receive(limit=10), key=lambda letter: buried.index(letter.message))
    assert [letter.message for letter in letters] == buried
    assert list(at.dead.receive(limit=10)) == [], "hidden while they are handled"

    at.dead.delete(letters[0])
    at.expire_dead(letters[1:])

    assert [letter.message for letter in at.dead.receive(limit=10)] == buried[1:]


def test_dead_letters_are_received_in_batches(at: QueueHarness) -> None:
    for number in range(5):
        at.bury(InboxEvent(Place("chat", str(number)), "1"))

    assert 1 <= len(at.dead.receive(limit=2)) <= 2


def unreadable_dead_letters_do_not_hide_the_others(at: SqsHarness | SqliteHarness) -> None:
    for number in range(25):
        at.bury_text("not a message", line=str(number))
    at.bury(Kickoff(HERE, "h-1"))

    assert [letter.message for letter in at.dead.receive(limit=10)] == [Kickoff(HERE, "h-1")]
    assert list(at.dead.receive(limit=10)) == []


def test_unreadable_dead_letters_on_sqs_do_not_hide_the_others(engine: "Engine") -> None:
    with sqs_harness(engine) as at:
        unreadable_dead_letters_do_not_hide_the_others(at)


def test_unreadable_dead_letters_on_sqlite_do_not_hide_the_others() -> None:
    with new_database() as database:
        unreadable_dead_letters_do_not_hide_the_others(SqliteHarness(database))


def test_a_lost_connection_leaves_the_visibility_as_it_was() -> None:
    class Unreachable:
        def change_message_visibility(self, **_: object) -> None:
            raise EndpointConnectionError(endpoint_url="https://sqs.test")

    SqsVisibility(Unreachable(), "url", "receipt").set(1)
