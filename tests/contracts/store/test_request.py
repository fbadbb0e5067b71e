"""Transition `request`: a new pending handoff and a marked session in one transaction, or nothing."""

from dataclasses import replace

import pytest

from shared.domain.handoffs import State, Step
from shared.domain.sessions import Session
from shared.errors import (
    Conflict,
    HandoffInFlight,
    IdempotencyKeyReused,
    Moved,
    RequestRefused,
    SessionBusy,
    UnknownSession,
)
from shared.store.inbox import InboxRow
from tests.contracts.store.world import HOME, NOW, THREAD, Ending, Stage, World


def test_a_fresh_request_is_pending_and_marks_its_session(world: World) -> None:
    session = world.session(title="Trip")
    asked = world.new_handoff(session, message="Go on there.", require_thread=True, replace=True)

    given = world.store.handoffs.request(asked, now=NOW + 5)

    assert given == asked == world.latest(asked)
    assert given.state is State.PENDING
    assert given.error is None
    marked = replace(session, active_handoff=asked.id, version=session.version + 1, updated_at=NOW + 5)
    assert world.current() == marked


def test_the_same_request_again_answers_with_the_handoff_as_it_is_now(world: World) -> None:
    first = world.handoff(Stage.BOUND)
    replayed = replace(first, state=State.PENDING, fence=0, steps={}, thread=None, bound_epoch=None)

    assert world.store.handoffs.request(replayed, now=NOW + 9) == first
    assert world.latest(first) == first


def test_the_same_key_with_another_body_is_refused(world: World) -> None:
    first = world.requested()
    with pytest.raises(IdempotencyKeyReused):
        world.store.handoffs.request(replace(first, body_hash="another"), now=NOW)
    assert world.latest(first) == first


def test_the_key_is_checked_before_the_session(world: World) -> None:
    first = world.ended(Ending.COMPLETED)
    assert world.store.handoffs.request(replace(first, state=State.PENDING), now=NOW) == first
    with pytest.raises(IdempotencyKeyReused):
        world.store.handoffs.request(replace(first, body_hash="another"), now=NOW)


def test_an_unknown_session_is_refused_and_no_handoff_written(world: World) -> None:
    asked = world.new_handoff(replace(world.session(), id="s-404"))
    with pytest.raises(UnknownSession, match="s-404"):
        world.store.handoffs.request(asked, now=NOW)
    assert world.store.handoffs.get(asked.id) is None


def test_another_users_session_is_unknown(world: World) -> None:
    session = world.session()
    asked = world.new_handoff(session, user_id="eve")
    with pytest.raises(UnknownSession):
        world.store.handoffs.request(asked, now=NOW)
    assert world.store.handoffs.get(asked.id) is None
    assert world.current() == session


@pytest.mark.parametrize("seen", [0, 2])
def test_a_request_with_an_old_epoch_raises_moved(world: World, seen: int) -> None:
    world.ended(Ending.COMPLETED)
    before = world.current()
    assert before.epoch == 1
    asked = world.new_handoff(before, request_epoch=seen)

    with pytest.raises(Moved) as refusal:
        world.store.handoffs.request(asked, now=NOW)

    assert refusal.value.extra == {"owner": THREAD.place.route, "epoch": 1, "link": THREAD.url}
    assert world.store.handoffs.get(asked.id) is None
    assert world.current() == before


def test_a_moved_error_names_the_terminal(world: World) -> None:
    world.ended(Ending.RESUMED)
    with pytest.raises(Moved) as refusal:
        world.store.handoffs.request(world.new_handoff(world.current(), request_epoch=0), now=NOW)
    assert refusal.value.extra == {"owner": "cli", "epoch": 1, "link": None}


@pytest.mark.parametrize("stage", [Stage.PENDING, Stage.CLAIMED, Stage.OPENED])
def test_a_second_handoff_is_rejected_with_the_first_ones_id(world: World, stage: Stage) -> None:
    first = world.handoff(stage)
    before = world.current()
    second = world.new_handoff(before)

    with pytest.raises(HandoffInFlight) as refusal:
        world.store.handoffs.request(second, now=NOW)

    assert refusal.value.extra == {"handoff_id": first.id}
    assert world.store.handoffs.get(second.id) is None
    assert world.current() == before


@pytest.mark.parametrize("stage", [Stage.BOUND, Stage.CONFIRMED])
def test_a_second_handoff_is_rejected_after_the_move_too(world: World, stage: Stage) -> None:
    world.handoff(stage)
    with pytest.raises(HandoffInFlight):
        world.store.handoffs.request(world.new_handoff(world.current()), now=NOW)


def in_a_chat(world: World) -> Session:
    """A session that was handed to a thread and lives there."""
    world.ended(Ending.COMPLETED)
    return world.current()


def refused_as_busy(world: World, session: Session) -> None:
    asked = world.new_handoff(session)
    with pytest.raises(SessionBusy, match="s-1"):
        world.store.handoffs.request(asked, now=NOW)
    assert world.current() == session
    assert world.store.handoffs.get(asked.id) is None


def withdrawn_by_a_request(world: World, session: Session) -> None:
    """The request is accepted, and the turn that the session had can neither be claimed nor committed any more."""
    handoff = world.requested(session)
    asked = world.current()
    assert (asked.active_handoff, asked.turn, asked.version) == (handoff.id, None, session.version + 1)
    with pytest.raises(Conflict):
        world.claim_turn(session)
    with pytest.raises(Conflict):
        world.store.turns.commit(world.turn_commit(session), now=NOW)
    assert world.current() == asked


def test_a_terminals_session_with_an_offered_turn_is_busy(world: World) -> None:
    refused_as_busy(world, world.offer(world.session()))


def test_a_terminals_session_is_busy_while_an_executor_works(world: World) -> None:
    refused_as_busy(world, world.start_turn(world.session(), lease=1))


def test_a_chats_session_is_busy_while_an_executor_works(world: World) -> None:
    refused_as_busy(world, world.start_turn(in_a_chat(world), lease=1))


def test_a_terminals_turn_whose_lease_is_over_is_withdrawn(world: World) -> None:
    withdrawn_by_a_request(world, world.start_turn(world.session(), lease=0))


def test_a_chats_turn_whose_lease_is_over_is_withdrawn(world: World) -> None:
    withdrawn_by_a_request(world, world.start_turn(in_a_chat(world), lease=0))


def test_a_chats_offered_turn_is_withdrawn_and_its_words_stay_new(world: World) -> None:
    session = in_a_chat(world)
    row = world.row()
    withdrawn_by_a_request(world, world.offer(session, rows=[row]))
    assert world.store.inbox.new(THREAD.place, limit=5) == [row]
    assert [offer.rows for offer in world.store.turns.unsettled("s-1")] == [("0001",)]


def test_a_turn_in_a_pause_is_busy_in_a_terminal(world: World) -> None:
    running = world.start_turn(world.session())
    assert world.store.turns.hand_back(running, now=NOW, until=NOW + 1, interrupted=None)
    refused_as_busy(world, world.current())


@pytest.mark.parametrize("pause", [0, 1])
def test_a_turn_handed_back_in_a_chat_is_withdrawn(world: World, pause: int) -> None:
    running = world.start_turn(in_a_chat(world))
    assert world.store.turns.hand_back(running, now=NOW, until=NOW + pause, interrupted=None)
    withdrawn_by_a_request(world, world.current())


@pytest.mark.parametrize("ending", Ending)
def test_a_new_handoff_starts_without_an_old_error(world: World, ending: Ending) -> None:
    first = world.ended(ending)
    session = world.current()
    assert session.active_handoff is None

    second = world.requested(session)

    assert second.id != first.id
    assert second.error is None
    assert second.state is State.PENDING
    assert world.current().active_handoff == second.id
    assert world.latest(first) == first


def test_a_refused_request_leaves_nothing_to_be_swept(world: World) -> None:
    session = world.session()
    for changes in ({"user_id": "eve"}, {"request_epoch": 7}, {"session_id": "s-404"}):
        with pytest.raises(RequestRefused):
            world.store.handoffs.request(world.new_handoff(session, **changes), now=NOW)
    assert world.store.handoffs.due(now=NOW * 2, limit=10) == []


def test_all_that_was_asked_for_is_read_back(world: World) -> None:
    asked = world.new_handoff(
        world.session(), message="Zoë 🚀", require_thread=True, replace=True, steps={Step.REQUESTED.value: NOW - 1}
    )
    world.store.handoffs.request(asked, now=NOW)
    read = world.latest(asked)
    assert (read.message, read.require_thread, read.replace) == ("Zoë 🚀", True, True)
    assert (read.target, read.platform, read.deadline) == (HOME, "telegram", asked.deadline)
    assert read.steps == {"requested": NOW - 1}


def in_a_chat_with_a_command(world: World) -> tuple[Session, InboxRow]:
    return in_a_chat(world), world.row("0007", text="/handoff slack")


def test_a_command_that_is_new_may_ask(world: World) -> None:
    session, row = in_a_chat_with_a_command(world)
    asked = world.requested(session, command=row.event_id, share=True)

    assert (world.latest(asked).command, world.latest(asked).share) == ("0007", True)
    assert world.store.inbox.new(row.place, limit=5) == [row], "it is closed by the one who tells the outcome"


def test_a_command_that_was_closed_asks_for_nothing(world: World) -> None:
    session, row = in_a_chat_with_a_command(world)
    world.store.inbox.close([row], by="stopped")
    asked = world.new_handoff(session, command=row.event_id)

    with pytest.raises(Conflict):
        world.store.handoffs.request(asked, now=NOW)

    assert world.store.handoffs.get(asked.id) is None
    assert world.current() == session


def test_a_command_asks_once_even_after_it_was_closed(world: World) -> None:
    session, row = in_a_chat_with_a_command(world)
    asked = world.requested(session, command=row.event_id)
    world.store.inbox.close([row], by="command")

    assert world.store.handoffs.request(asked, now=NOW + 1) == asked


def test_why_the_session_cannot_go_comes_before_the_closed_command(world: World) -> None:
    session, row = in_a_chat_with_a_command(world)
    busy = world.start_turn(session)
    world.store.inbox.close([row], by="stopped")

    with pytest.raises(SessionBusy):
        world.store.handoffs.request(world.new_handoff(busy, command=row.event_id), now=NOW)
