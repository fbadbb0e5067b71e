"""A turn's lease and its commit: all that one turn writes, at once or not at all."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from shared.domain.handoffs import Step
from shared.domain.routes import Place
from shared.domain.sessions import FailedTries, Interruption, ResumePending, Session, TurnLease
from shared.errors import Conflict
from shared.ports.outbox import OutPart
from shared.ports.platforms import Part
from tests.contracts.store.world import LEASE, NOW, RECEIPT, REPLY, THREAD, USER, Ending, Stage, World, sure
from tests.support.table_backends import LARGE_TRANSACTIONS, Backend


def untouched(world: World, session: Session, turn_id: str = "t-1") -> None:
    """Nothing of a refused commit is there."""
    assert world.current() == session
    assert world.store.outbox.journal(session.id, turn_id) == []
    assert len(list(world.store.transcripts.load(session.id))) == session.message_count


def test_a_commit_adds_the_messages_and_the_journal_and_ends_the_turn(world: World) -> None:
    session = world.start_turn(world.session(messages=[USER]))
    commit = world.turn_commit(session, parts=2)

    committed = world.store.turns.commit(commit, now=NOW + 7)

    assert committed == world.current()
    assert committed == replace(session, turn=None, message_count=3, version=session.version + 1, updated_at=NOW + 7)
    assert list(world.store.transcripts.load("s-1")) == [USER, USER, REPLY]
    assert world.store.outbox.journal("s-1", "t-1") == list(commit.parts)


def test_a_committed_turn_clears_strikes_and_the_interruption(world: World) -> None:
    marked = world.session(
        strikes=2,
        resume_pending=ResumePending(Interruption.KILLED, NOW),
        turn=TurnLease("t-1", NOW + LEASE),
        title="kept",
        source="cli",
        cwd="/src",
        model="m",
    )
    committed = world.store.turns.commit(world.turn_commit(marked), now=NOW)
    assert (committed.strikes, committed.resume_pending, committed.turn) == (0, None, None)
    assert (committed.title, committed.source, committed.cwd, committed.model) == ("kept", "cli", "/src", "m")
    assert world.current() == committed


def test_a_commit_marks_its_rows_as_done_by_this_turn_of_this_session(world: World) -> None:
    session = world.start_turn(world.session())
    rows = [world.row("0001"), world.row("0002")]
    later = world.row("0003")

    world.store.turns.commit(world.turn_commit(session, rows=rows), now=NOW)

    assert [world.store.inbox.get(row.place, row.event_id) for row in rows] == [
        replace(row, done_by="s-1/t-1", text="") for row in rows
    ]
    assert world.store.inbox.new(THREAD.place, limit=5) == [later]


def test_a_commit_fails_if_its_rows_were_answered(world: World) -> None:
    session = world.start_turn(world.session())
    rows = [world.row("0001"), world.row("0002")]
    world.store.inbox.close(rows[1:], by="told")
    with pytest.raises(Conflict):
        world.store.turns.commit(world.turn_commit(session, rows=rows), now=NOW)
    untouched(world, session)
    assert world.store.inbox.new(THREAD.place, limit=5) == rows[:1]


def test_a_kickoff_commit_confirms_its_handoff_with_the_receipt(world: World) -> None:
    sent = world.handoff(Stage.SENT)
    session = world.start_turn(world.current(), sent.kickoff_turn)
    world.store.turns.commit(world.turn_commit(session, handoff=sent, receipt=RECEIPT), now=NOW + 3)
    confirmed = world.latest(sent)
    assert (confirmed.confirmed, confirmed.receipt) == (True, RECEIPT)
    assert confirmed.steps[Step.CONFIRMED] == NOW + 3
    assert confirmed.state is sent.state


def test_a_handoff_is_confirmed_once(world: World) -> None:
    confirmed = world.handoff(Stage.CONFIRMED)
    session = world.start_turn(world.current(), "t-again")
    with pytest.raises(Conflict):
        world.store.turns.commit(world.turn_commit(session, handoff=confirmed, receipt=RECEIPT), now=NOW + 9)
    untouched(world, session, "t-again")
    assert world.latest(confirmed) == confirmed


def moved(session: Session) -> Session:
    return replace(session, epoch=session.epoch + 1, owner=Place("slack", "C1"))


CHANGES: dict[str, Callable[[Session], Session]] = {
    "another epoch": lambda session: replace(session, epoch=session.epoch + 1),
    "another owner": lambda session: replace(session, owner=Place("slack", "C1")),
    "more messages": lambda session: replace(session, message_count=session.message_count + 1),
    "another turn": lambda session: replace(session, turn=TurnLease("t-2", NOW + LEASE)),
    "no turn": lambda session: replace(session, turn=None),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_commit_fails_if_the_session_changed(world: World, change: str) -> None:
    session = world.start_turn(world.session())
    changed = world.store.sessions.replace(session, CHANGES[change](session))
    row = world.row()
    with pytest.raises(Conflict):
        world.store.turns.commit(world.turn_commit(session, rows=[row]), now=NOW)
    assert world.current() == changed
    assert world.store.outbox.journal("s-1", "t-1") == []
    assert list(world.store.transcripts.load("s-1")) == []
    assert world.store.inbox.new(THREAD.place, limit=5) == [row]


def test_a_new_title_does_not_make_a_commit_fail(world: World) -> None:
    session = world.start_turn(world.session())
    world.store.sessions.replace(session, replace(session, title="named while it ran"))
    world.store.turns.commit(world.turn_commit(session), now=NOW)
    assert (world.current().title, world.current().message_count) == ("named while it ran", 2)


def test_the_same_turn_is_committed_once(world: World) -> None:
    session = world.start_turn(world.session())
    commit = world.turn_commit(session)
    committed = world.store.turns.commit(commit, now=NOW)
    with pytest.raises(Conflict):
        world.store.turns.commit(commit, now=NOW)
    assert world.current() == committed
    assert len(world.store.outbox.journal("s-1", "t-1")) == 1


def test_a_commit_without_a_lease_is_a_value_error(world: World) -> None:
    session = world.session()
    commit = replace(world.turn_commit(world.start_turn(session)), session=session)
    with pytest.raises(ValueError, match="lease"):
        world.store.turns.commit(commit, now=NOW)


def test_a_commit_to_a_deleted_session_does_not_bring_it_back(world: World) -> None:
    session = world.start_turn(world.session())
    world.store.sessions.delete(session)
    with pytest.raises(Conflict):
        world.store.turns.commit(world.turn_commit(session), now=NOW)
    assert world.store.sessions.get("s-1") is None
    assert list(world.store.transcripts.load("s-1")) == []


def test_a_turn_answers_twenty_five_rows_in_thirty_parts_at_once(world: World, backend: Backend) -> None:
    backend.needs(LARGE_TRANSACTIONS)
    session = world.start_turn(world.session())
    rows = [world.row(f"{number:04}") for number in range(25)]
    world.store.turns.commit(world.turn_commit(session, parts=30, rows=rows), now=NOW)
    assert world.store.inbox.new(THREAD.place, limit=50) == []
    assert [part.number for part in world.store.outbox.journal("s-1", "t-1")] == list(range(30))


# --- the lease


def test_a_turn_keeps_its_own_lease(world: World) -> None:
    session = world.start_turn(world.session())
    assert world.store.turns.extend(session, until=NOW + 2 * LEASE)
    assert world.current().turn == TurnLease("t-1", NOW + 2 * LEASE)
    assert world.current().version == session.version + 1


def test_a_turn_that_was_taken_over_keeps_nothing(world: World) -> None:
    session = world.start_turn(world.session())
    current = world.start_turn(session, "t-2")
    assert not world.store.turns.extend(session, until=NOW + 2 * LEASE)
    assert world.current() == current


@pytest.mark.parametrize("gone", ["ended", "never", "deleted"])
def test_a_turn_that_is_over_keeps_nothing(world: World, gone: str) -> None:
    session = world.start_turn(world.session())
    if gone == "ended":
        world.store.turns.commit(world.turn_commit(session), now=NOW)
    elif gone == "deleted":
        world.store.sessions.delete(session)
    else:
        session = replace(session, turn=None)
    before = world.store.sessions.get("s-1")
    assert not world.store.turns.extend(session, until=NOW + 2 * LEASE)
    assert world.store.sessions.get("s-1") == before


def test_a_turn_whose_lease_was_extended_still_commits(world: World) -> None:
    session = world.start_turn(world.session())
    world.store.turns.extend(session, until=NOW + 2 * LEASE)
    world.store.turns.commit(world.turn_commit(session), now=NOW)
    assert world.current().turn is None


# --- the journal


def part(turn_id: str, number: int = 0, **changes: Any) -> OutPart:
    return replace(
        OutPart("s-1", turn_id, number, THREAD.place, Part("words", {"entities": [{"offset": 0}]})), **changes
    )


def test_parts_are_read_back_in_order_with_all_that_they_hold(world: World) -> None:
    world.session()
    parts = [
        part("t-1", number, part=Part(f"🚀 {number}", {"n": number, "deep": {"x": [None, 1, "y"]}}))
        for number in range(12)
    ]
    world.store.outbox.post(parts, now=NOW)
    assert world.store.outbox.journal("s-1", "t-1") == parts


def test_posting_again_keeps_the_parts(world: World) -> None:
    world.store.outbox.post([part("n-1")], now=NOW)
    sending = world.store.outbox.sending(part("n-1"), now=NOW, until=NOW + 9)
    world.store.outbox.post([part("n-1"), part("n-1", 1)], now=NOW)
    assert world.store.outbox.journal("s-1", "n-1") == [sending, part("n-1", 1)]


@pytest.mark.parametrize("other", ["t-10", "t-1#0001", "t-1#x", "t"])
def test_a_journal_has_no_parts_of_a_similar_turn_id(world: World, other: str) -> None:
    world.store.outbox.post([part("t-1"), part(other)], now=NOW)
    assert world.store.outbox.journal("s-1", "t-1") == [part("t-1")]
    assert world.store.outbox.journal("s-1", other) == [part(other)]


def test_a_part_has_one_sender_at_a_time(world: World) -> None:
    (waiting,) = world.committed()
    mine = world.store.outbox.sending(waiting, now=NOW, until=NOW + 100)
    assert mine is not None
    assert (mine.state, mine.sending_until) == ("sending", NOW + 100)
    assert world.store.outbox.sending(waiting, now=NOW + 99, until=NOW + 200) is None
    assert world.store.outbox.sending(mine, now=NOW + 99, until=NOW + 200) is None


def test_a_sender_that_went_away_without_a_word_is_succeeded(world: World) -> None:
    (waiting,) = world.committed()
    world.store.outbox.sending(waiting, now=NOW, until=NOW + 100)
    successor = world.store.outbox.sending(waiting, now=NOW + 100, until=NOW + 200)
    assert successor is not None
    assert successor.sending_until == NOW + 200


def test_a_part_that_was_sent_is_never_sent_again(world: World) -> None:
    (waiting,) = world.committed()
    mine = world.store.outbox.sending(waiting, now=NOW, until=NOW + 100)
    assert mine is not None
    world.store.outbox.sent(mine, "m-1")
    assert world.store.outbox.sending(waiting, now=NOW + 999, until=NOW + 9999) is None
    (sent,) = world.store.outbox.journal("s-1", "t-1")
    assert (sent.state, sent.message_id, sent.sending_until) == ("sent", "m-1", 0)


def test_an_intent_that_was_taken_back_lets_the_next_one_send_at_once(world: World) -> None:
    (waiting,) = world.committed()
    mine = world.store.outbox.sending(waiting, now=NOW, until=NOW + 100)
    assert mine is not None
    world.store.outbox.unsent(mine)
    assert world.store.outbox.journal("s-1", "t-1") == [replace(waiting, tries=1)]
    assert world.store.outbox.sending(waiting, now=NOW, until=NOW + 100) is not None


def test_a_slow_sender_cannot_take_back_the_intent_of_its_successor(world: World) -> None:
    (waiting,) = world.committed()
    slow = world.store.outbox.sending(waiting, now=NOW, until=NOW + 100)
    successor = world.store.outbox.sending(waiting, now=NOW + 100, until=NOW + 200)
    assert slow is not None
    world.store.outbox.unsent(slow)
    assert world.store.outbox.journal("s-1", "t-1") == [successor]


def test_a_late_report_of_a_sent_part_is_accepted(world: World) -> None:
    (waiting,) = world.committed()
    slow = world.store.outbox.sending(waiting, now=NOW, until=NOW + 100)
    world.store.outbox.sending(waiting, now=NOW + 100, until=NOW + 200)
    assert slow is not None
    world.store.outbox.sent(slow, "m-1")
    (sent,) = world.store.outbox.journal("s-1", "t-1")
    assert (sent.state, sent.message_id) == ("sent", "m-1")


def test_the_first_word_on_a_part_is_the_last(world: World) -> None:
    first, second = world.committed(parts=2)
    world.store.outbox.sent(first, "m-1")
    world.store.outbox.rejected(first)
    world.store.outbox.sent(first, "m-2")
    world.store.outbox.unsent(first)
    world.store.outbox.rejected(second)
    world.store.outbox.sent(second, "m-3")
    states = [(part.state, part.message_id) for part in world.store.outbox.journal("s-1", "t-1")]
    assert states == [("sent", "m-1"), ("rejected", None)]
    assert world.store.outbox.sending(second, now=NOW + 999, until=NOW + 9999) is None


def test_a_word_on_a_part_that_is_gone_does_not_bring_it_back(world: World) -> None:
    (waiting,) = world.committed()
    world.store.sessions.delete(world.current())
    world.store.outbox.sent(waiting, "m-1")
    assert world.store.outbox.sending(waiting, now=NOW, until=NOW + 1) is None
    assert world.store.outbox.journal("s-1", "t-1") == []


def test_a_turn_that_was_never_committed_has_no_journal(world: World) -> None:
    world.ended(Ending.COMPLETED)
    assert world.store.outbox.journal("s-1", "t-404") == []


def test_each_part_has_a_key_of_its_own(world: World) -> None:
    assert len({part.key for part in world.committed(parts=8)}) == 8


def test_a_part_counts_its_senders(world: World) -> None:
    (part,) = world.committed()
    for tries in (1, 2, 3):
        claimed = sure(world.store.outbox.sending(part, now=NOW, until=NOW + 1))
        assert claimed.tries == tries
        world.store.outbox.unsent(claimed)


def test_the_next_sender_finds_the_placeholder(world: World) -> None:
    (part,) = world.committed()
    claimed = sure(world.store.outbox.sending(part, now=NOW, until=NOW + 1))

    placed = world.store.outbox.placed(claimed, "m-7")

    assert placed.placeholder == "m-7"
    assert sure(world.store.outbox.sending(part, now=NOW + 1, until=NOW + 2)).placeholder == "m-7"


def test_a_turn_that_gives_its_session_up_suspends_it(world: World) -> None:
    session = world.start_turn(world.session(strikes=3, resume_pending=ResumePending(Interruption.KILLED, NOW)))

    given_up = world.store.turns.commit(world.turn_commit(session, suspends=True), now=NOW)

    assert (given_up.suspended, given_up.strikes, given_up.resume_pending, given_up.turn) == (True, 0, None, None)
    assert world.current() == given_up


def test_a_commit_clears_the_tries_of_an_agent(world: World) -> None:
    session = world.start_turn(world.session(failed_tries=FailedTries("t-1", 2)))
    assert world.current().tries_of("t-1") == 2

    world.store.turns.commit(world.turn_commit(session), now=NOW)

    assert world.current().failed_tries is None
