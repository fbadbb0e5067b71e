"""The reader's side of a queue on SQLite: receipts, counts, dead letters, time, and who is woken when."""

import pytest

from shared.domain.routes import Place, cli_place
from shared.ports.queue import InboxEvent
from shared.ports.queue_text import message_of
from shared.sqlite.database import Database
from shared.sqlite.queues import Received, SqliteQueue, SqliteTurnQueue
from tests.support.fake_queue import ManualClock

FIVE_MINUTES = 300_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def queue(database: Database, clock: ManualClock) -> SqliteQueue:
    return SqliteQueue(database, clock, "turns", visibility=60, max_receives=3)


def bodies(received: list[Received]) -> list[str]:
    return [one.body for one in received]


def receive_one(queue: SqliteQueue) -> Received:
    (received,) = queue.receive()
    return received


def test_the_dedupe_id_is_forgotten_after_five_minutes(queue: SqliteQueue, clock: ManualClock) -> None:
    for after in (0, FIVE_MINUTES - 1, 1):
        clock.time += after
        queue.expire()
        queue.put("a", line="l", dedupe="same")
    assert bodies(queue.receive(limit=10)) == ["a"]
    with queue.database.reading() as connection:
        assert connection.execute("SELECT count(*) FROM messages").fetchone() == (2,)


def test_a_hidden_message_returns_after_its_time_out(queue: SqliteQueue, clock: ManualClock) -> None:
    queue.put("a", line="l")
    queue.put("b", line="l")
    assert receive_one(queue).receives == 1
    clock.time += 59_999
    assert queue.receive() == []
    clock.time += 1
    assert receive_one(queue) == Received("a", "1-2", 2)


def test_an_old_receipt_is_worth_nothing(queue: SqliteQueue) -> None:
    queue.put("a", line="l")
    old = receive_one(queue)
    queue.set_visibility(old.receipt, 0)
    held = receive_one(queue)

    queue.done(old.receipt)
    queue.set_visibility(old.receipt, 0)

    assert queue.receive() == [], "neither deleted nor shown by the worker that lost it"
    queue.set_visibility(held.receipt, 0)
    assert receive_one(queue).receives == 3


def test_a_message_received_too_often_is_dead_and_frees_its_line(queue: SqliteQueue) -> None:
    queue.put("a", line="l")
    queue.put("b", line="l")
    for _ in range(3):
        last = receive_one(queue)
        queue.set_visibility(last.receipt, 0)

    assert bodies(queue.receive(limit=10)) == ["b"]

    letter = receive_one(queue.dead_letters)
    assert letter.body == "a"
    queue.done(letter.receipt)
    queue.done(last.receipt)
    queue.dead_letters.set_visibility(letter.receipt, 0)
    assert bodies(queue.dead_letters.receive()) == ["a"], "only its own queue deletes it"


def test_dead_letters_are_kept_for_two_weeks(queue: SqliteQueue, clock: ManualClock) -> None:
    queue.put("alive")
    queue.dead_letters.put("dead")
    clock.time += 14 * 86_400_000 - 1
    queue.expire()
    assert bodies(queue.dead_letters.receive()) == ["dead"]
    clock.time += 1
    queue.expire()
    assert queue.dead_letters.next_at() is None
    assert bodies(queue.receive()) == ["alive"]


def test_queues_of_one_family_share_their_dead_letters(
    queue: SqliteQueue, database: Database, clock: ManualClock
) -> None:
    lane = SqliteQueue(database, clock, "turns-slack", visibility=60, max_receives=1, family="turns")
    lane.put("a", line="l")
    lane.set_visibility(receive_one(lane).receipt, 0)

    assert lane.receive() == []
    assert bodies(queue.dead_letters.receive()) == ["a"]


def test_a_message_goes_to_the_queue_of_its_platform(
    queue: SqliteQueue, database: Database, clock: ManualClock
) -> None:
    slack = SqliteQueue(database, clock, "turns-slack", visibility=60, family="turns")
    port = SqliteTurnQueue(queue, {"slack": slack})
    for place in (Place("slack", "c"), Place("telegram", "1"), cli_place("s")):
        port.send(InboxEvent(place, "e"), dedupe="d")

    assert [message_of(body).place.platform for body in bodies(slack.receive(limit=9))] == ["slack"]
    assert [message_of(body).place.platform for body in bodies(queue.receive(limit=9))] == ["telegram", "cli"]


def test_queues_in_one_file_are_apart(queue: SqliteQueue, database: Database, clock: ManualClock) -> None:
    other = SqliteQueue(database, clock, "other", visibility=60)
    queue.put("a", line="l", dedupe="d")
    other.put("b", line="l", dedupe="d")
    received = receive_one(queue)
    other.done(received.receipt)
    assert bodies(other.receive()) == ["b"]
    assert queue.release_all() == 1


def test_lines_are_served_in_the_order_of_their_waiting(queue: SqliteQueue, clock: ManualClock) -> None:
    for body, line in (("a1", "a"), ("a2", "a"), ("b1", "b"), ("c1", None)):
        queue.put(body, line=line)
        clock.time += 1
    assert bodies(queue.receive(limit=2)) == ["a1", "b1"]
    queue.done("1-1")
    assert bodies(queue.receive(limit=9)) == ["c1", "a2"]


def test_the_next_time_is_that_of_the_first_of_a_line(queue: SqliteQueue, clock: ManualClock) -> None:
    assert queue.next_at() is None
    queue.put_unordered("later", [0.25])
    assert queue.next_at() == clock.now() + 250
    queue.put("a", line="l")
    assert queue.next_at() == clock.now()
    received = receive_one(queue)
    queue.put("b", line="l")
    assert queue.next_at() == clock.now() + 250
    queue.set_visibility(received.receipt, 0.1)
    assert queue.next_at() == clock.now() + 100


def test_what_a_dead_process_held_is_ready_and_a_delay_stays(queue: SqliteQueue, clock: ManualClock) -> None:
    queue.put("held", line="l")
    queue.put("behind", line="l")
    queue.put_unordered("delayed", [30])
    queue.receive(limit=10)
    assert queue.release_all() == 1
    assert receive_one(queue) == Received("held", "1-2", 2)
    clock.time += 30_000
    assert bodies(queue.receive(limit=9)) == ["delayed"]


def test_workers_are_woken_after_the_commit_and_outside_the_lock(database: Database, clock: ManualClock) -> None:
    seen: list[list[str]] = []
    woken = SqliteQueue(
        database, clock, "turns", visibility=60, changed=lambda: seen.append(bodies(woken.receive(limit=9)))
    )
    woken.put("a", line="l", dedupe="1")
    woken.put("a", line="l", dedupe="1")
    woken.put("b", line="l", dedupe="2")
    woken.done("1-1")
    woken.done("1-1")
    woken.set_visibility("2-1", 0)
    assert seen == [["a"], [], ["b"], ["b"]], "not for a message that is not queued, nor for one that is gone"


def test_a_long_line_costs_a_receive_no_more(queue: SqliteQueue) -> None:
    """Only the first of a line is in the index that a receive reads."""
    for number in range(50):
        queue.put(str(number), line="l")
    with queue.database.reading() as connection:
        assert connection.execute("SELECT count(*) FROM messages WHERE ready_at IS NOT NULL").fetchone() == (1,)
        find = "SELECT id FROM messages WHERE queue = 'turns' AND ready_at <= 5 ORDER BY ready_at LIMIT 1"
        ((_, _, _, plan),) = connection.execute(f"EXPLAIN QUERY PLAN {find}").fetchall()
    assert "messages_ready (queue=? AND ready_at<?)" in plan
