"""The commit of a turn: all that it writes, at once or not at all, by the executor that holds it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from shared.domain.handoffs import Step
from shared.domain.routes import Place
from shared.domain.sessions import Interruption, ResumePending, Session, Turn
from shared.errors import Conflict
from tests.contracts.store.world import BROKEN, LEASE, NOW, RECEIPT, REPLY, THREAD, USER, Ending, Stage, World, sure
from tests.support.table_backends import LARGE_TRANSACTIONS, Backend


def refused(world: World, session: Session, **commit: Any) -> None:
    """The commit writes nothing: not the messages, not the journal, not its rows."""
    before = world.store.sessions.get(session.id), list(world.store.transcripts.load(session.id))
    waiting = world.store.inbox.new(THREAD.place, limit=50)
    tried = world.turn_commit(session, **commit)
    journal = world.store.outbox.journal(session.id, tried.journal)
    with pytest.raises(Conflict):
        world.store.turns.commit(tried, now=NOW)
    assert (world.store.sessions.get(session.id), list(world.store.transcripts.load(session.id))) == before
    assert world.store.outbox.journal(session.id, tried.journal) == journal
    assert world.store.inbox.new(THREAD.place, limit=50) == waiting


def test_a_commit_adds_the_messages_and_the_journal_and_ends_the_turn(world: World) -> None:
    session = world.start_turn(world.session(messages=[USER]))
    commit = world.turn_commit(session, parts=2)

    committed = world.store.turns.commit(commit, now=NOW + 7)

    assert committed == world.current()
    assert committed == replace(session, turn=None, message_count=3, version=session.version + 1, updated_at=NOW + 7)
    assert list(world.store.transcripts.load("s-1")) == [USER, USER, REPLY]
    assert world.store.outbox.journal("s-1", "t-1") == list(commit.parts)
    assert [offer.id for offer in world.store.turns.unsettled("s-1")] == ["t-1"], "until its reply is delivered"


def test_a_committed_turn_clears_the_interruption_and_keeps_the_rest(world: World) -> None:
    marked = world.session(
        resume_pending=ResumePending(Interruption.KILLED, NOW), title="kept", source="cli", cwd="/src", model="m"
    )
    committed = world.store.turns.commit(world.turn_commit(world.start_turn(marked)), now=NOW)
    assert (committed.resume_pending, committed.turn, committed.suspended) == (None, None, False)
    assert (committed.title, committed.source, committed.cwd, committed.model) == ("kept", "cli", "/src", "m")
    assert world.current() == committed


def test_a_turn_that_gives_its_session_up_suspends_it(world: World) -> None:
    session = world.start_turn(world.session(resume_pending=ResumePending(Interruption.KILLED, NOW)))
    given_up = world.store.turns.commit(world.turn_commit(session, suspends=True), now=NOW)
    assert (given_up.suspended, given_up.resume_pending, given_up.turn) == (True, None, None)
    assert world.current() == given_up


def test_a_commit_marks_its_rows_as_done_by_this_turn_of_this_session(world: World) -> None:
    rows = [world.row("0001"), world.row("0002")]
    session = world.start_turn(world.session(), rows=rows)
    later = world.row("0003")

    world.store.turns.commit(world.turn_commit(session, rows=rows), now=NOW)

    assert [world.store.inbox.get(row.place, row.event_id) for row in rows] == [
        replace(row, done_by="s-1/t-1", text="") for row in rows
    ]
    assert world.store.inbox.new(THREAD.place, limit=5) == [later]


def test_a_commit_fails_if_a_row_was_closed_while_the_agent_worked(world: World) -> None:
    rows = [world.row("0001"), world.row("0002")]
    session = world.start_turn(world.session(), rows=rows)
    world.store.inbox.close(rows[1:], by="stopped")
    refused(world, session, rows=rows)
    assert world.store.inbox.new(THREAD.place, limit=5) == rows[:1]


def test_a_commit_fails_if_a_row_is_gone(world: World) -> None:
    session = world.start_turn(world.session())
    ghost = replace(world.row("0001"), event_id="0404")
    refused(world, session, rows=[ghost])
    assert world.store.inbox.get(ghost.place, "0404") is None


# --- the kickoff


def test_a_kickoff_commit_confirms_its_handoff_with_the_receipt(world: World) -> None:
    bound = world.handoff(Stage.BOUND)
    session = world.claim_turn(world.current())
    world.store.turns.commit(world.turn_commit(session, handoff=bound, receipt=RECEIPT), now=NOW + 3)
    confirmed = world.latest(bound)
    assert (confirmed.confirmed, confirmed.receipt) == (True, RECEIPT)
    assert confirmed.steps[Step.CONFIRMED] == NOW + 3
    assert confirmed.state is bound.state
    assert len(world.store.outbox.journal("s-1", bound.kickoff_turn)) == 1
    assert world.current().turn is None


@pytest.mark.parametrize("parts", [0, 1])
def test_a_handoff_is_confirmed_once(world: World, parts: int) -> None:
    confirmed = world.handoff(Stage.CONFIRMED)
    session = world.start_turn(world.current(), "t-again")
    refused(world, session, handoff=confirmed, receipt=RECEIPT, parts=parts)
    assert world.latest(confirmed) == confirmed


@pytest.mark.parametrize("ending", [Ending.FAILED, Ending.RESUMED])
def test_the_kickoff_of_a_handoff_that_ended_after_the_claim_is_refused(world: World, ending: Ending) -> None:
    bound = world.handoff(Stage.BOUND)
    session = world.claim_turn(world.current())
    if ending is Ending.FAILED:
        sure(world.store.handoffs.fail(bound, BROKEN, now=NOW))
    else:
        world.store.moves.to_terminal(world.current(), now=NOW)
    ended = world.latest(bound)
    refused(world, session, handoff=bound, receipt=RECEIPT)
    assert world.latest(bound) == ended


# --- only the executor that holds the turn


def moved_on(world: World, session: Session) -> None:
    world.claim_turn(world.current(), claim_id="c-2", now=NOW + LEASE)


def handed_back(world: World, session: Session) -> None:
    assert world.store.turns.hand_back(session, now=NOW, until=NOW, interrupted=None)


def followed(world: World, session: Session) -> None:
    assert world.store.turns.end(session, now=NOW)
    world.start_turn(world.current(), "t-2")


LOSSES: dict[str, Callable[[World, Session], object]] = {
    "claimed by another executor": moved_on,
    "handed back": handed_back,
    "ended": lambda world, session: world.store.turns.end(session, now=NOW),
    "followed by another turn": followed,
    "committed": lambda world, session: world.store.turns.commit(world.turn_commit(session), now=NOW),
    "moved away": lambda world, _: world.store.moves.to_terminal(world.current(), now=NOW),
    "deleted": lambda world, _: world.store.sessions.delete(world.current()),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_an_executor_that_lost_the_turn_commits_nothing(world: World, loss: str) -> None:
    row = world.row()
    session = world.start_turn(world.session(), rows=[row])
    LOSSES[loss](world, session)
    refused(world, session, rows=[row])


def test_a_turn_that_no_executor_has_claimed_is_not_committed(world: World) -> None:
    refused(world, world.offer(world.session()))


CHANGES: dict[str, Callable[[Session], Session]] = {
    "another epoch": lambda session: replace(session, epoch=session.epoch + 1),
    "another owner": lambda session: replace(session, owner=Place("slack", "C1")),
    "more messages": lambda session: replace(session, message_count=session.message_count + 1),
    "another turn": lambda session: replace(session, turn=replace(sure(session.turn), id="t-2")),
    "another fence": lambda session: replace(session, turn=replace(sure(session.turn), fence=2)),
    "an offered turn": lambda session: replace(session, turn=Turn("t-1", fence=1)),
    "no turn": lambda session: replace(session, turn=None),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_commit_fails_if_the_session_changed(world: World, change: str) -> None:
    session = world.start_turn(world.session())
    world.store.sessions.replace(session, CHANGES[change](session))
    refused(world, session)


def test_a_commit_succeeds_after_its_lease_while_no_other_has_claimed(world: World) -> None:
    session = world.start_turn(world.session())
    assert world.store.turns.commit(world.turn_commit(session), now=NOW + 10 * LEASE) == world.current()


def test_a_new_title_does_not_make_a_commit_fail(world: World) -> None:
    session = world.start_turn(world.session())
    world.store.sessions.replace(session, replace(session, title="named while it ran"))
    world.store.turns.commit(world.turn_commit(session), now=NOW)
    assert (world.current().title, world.current().message_count) == ("named while it ran", 2)


def test_a_commit_of_no_turn_is_a_value_error(world: World) -> None:
    session = world.session()
    commit = replace(world.turn_commit(world.start_turn(session)), session=session)
    with pytest.raises(ValueError, match="no turn"):
        world.store.turns.commit(commit, now=NOW)


def test_a_turn_answers_twenty_five_rows_in_sixty_one_parts_at_once(world: World, backend: Backend) -> None:
    backend.needs(LARGE_TRANSACTIONS)
    rows = [world.row(f"{number:04}") for number in range(25)]
    session = world.start_turn(world.session(), rows=rows)
    world.store.turns.commit(world.turn_commit(session, parts=61, rows=rows), now=NOW)
    assert world.store.inbox.new(THREAD.place, limit=50) == []
    assert [part.number for part in world.store.outbox.journal("s-1", "t-1")] == list(range(61))


# --- a commit by another than the executor: it gives the turn up


def test_an_offered_turn_is_given_up(world: World) -> None:
    row = world.row()
    offered = world.offer(world.session(), rows=[row])
    given_up = world.store.turns.commit(world.turn_commit(offered, rows=[row], abandoned=True), now=NOW)
    assert given_up == world.current()
    assert (given_up.turn, given_up.message_count) == (None, 2)
    assert sure(world.store.inbox.get(row.place, row.event_id)).done_by == "s-1/t-1"


@pytest.mark.parametrize(("lease", "given_up"), [(0, True), (1, False)])
def test_a_claimed_turn_is_given_up_only_after_its_lease(world: World, lease: int, given_up: bool) -> None:
    session = world.start_turn(world.session(), lease=lease)
    if not given_up:
        refused(world, session, abandoned=True)
        return
    world.store.turns.commit(world.turn_commit(session, abandoned=True, suspends=True), now=NOW)
    assert (world.current().turn, world.current().suspended) == (None, True)


def test_a_turn_in_a_pause_is_not_given_up(world: World) -> None:
    session = world.start_turn(world.session())
    assert world.store.turns.hand_back(session, now=NOW, until=NOW + 1, interrupted=None)
    refused(world, world.current(), abandoned=True)


def test_a_turn_that_was_claimed_since_it_was_read_is_not_given_up(world: World) -> None:
    offered = world.offer(world.session())
    world.claim_turn(offered, lease=0)
    refused(world, offered, abandoned=True)
