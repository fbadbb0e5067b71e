"""Shared sessions: whose words a turn may answer, and that every move ends the sharing."""

from dataclasses import replace

import pytest

from shared.domain.routes import Place
from shared.domain.sessions import Session
from shared.errors import Conflict
from shared.store.inbox import InboxRow
from tests.contracts.store.world import BROKEN, NOW, THREAD, Ending, Stage, World, sure


def shared(world: World, session: Session, *, on: bool = True) -> Session:
    return world.store.sessions.replace(session, replace(session, shared=on))


def in_a_thread(world: World, **changes: bool) -> Session:
    session = world.store.moves.to_chat(world.session(), THREAD.place, THREAD.url, now=NOW)
    return shared(world, session, **changes)


def guests_row(world: World, event_id: str = "0001") -> InboxRow:
    return world.row(event_id, user_id="bob")


def test_it_is_read_back_and_ended(world: World) -> None:
    session = in_a_thread(world)
    assert world.current() == session
    assert session.shared

    assert not shared(world, session, on=False).shared
    assert not world.current().shared


def test_sharing_needs_the_session_as_it_was_read(world: World) -> None:
    session = in_a_thread(world, on=False)
    shared(world, session)
    with pytest.raises(Conflict):
        shared(world, session, on=False)
    assert world.current().shared


def test_a_turn_may_answer_guests_and_the_owner_together(world: World) -> None:
    session, rows = in_a_thread(world), [guests_row(world), world.row("0002")]
    assert world.offer(session, rows=rows).turn is not None
    assert world.offer_of().rows == ("0001", "0002")


def test_a_guest_is_not_heard_where_it_is_not_shared(world: World) -> None:
    session, row = in_a_thread(world, on=False), guests_row(world)
    with pytest.raises(Conflict):
        world.offer(session, rows=[world.row("0002"), row])
    assert world.current() == session
    assert world.store.turns.unsettled("s-1") == []


def test_a_guest_is_not_heard_once_it_is_not_shared_any_more(world: World) -> None:
    """Even by a writer that has the newest version and thinks that it is shared."""
    session, row = in_a_thread(world), guests_row(world)
    ended = shared(world, session, on=False)
    with pytest.raises(Conflict):
        world.offer(session, rows=[row])
    with pytest.raises(Conflict):
        world.offer(replace(ended, shared=True), rows=[row])
    assert world.current() == ended


def test_the_end_of_sharing_leaves_a_turn_at_work_alone(world: World) -> None:
    session, row = in_a_thread(world), guests_row(world)
    running = world.start_turn(session, rows=[row])
    shared(world, world.current(), on=False)

    world.store.turns.commit(world.turn_commit(running, rows=[row]), now=NOW)

    assert world.current().turn is None
    assert sure(world.store.inbox.get(row.place, row.event_id)).done_by == "s-1/t-1"


@pytest.mark.parametrize("on", [True, False])
def test_a_guest_steers_a_machines_turn_only_where_it_is_shared(world: World, *, on: bool) -> None:
    session = shared(world, world.on_machine())
    first = world.row("0001")
    running = world.machine_turn(session, rows=[first])
    shared(world, world.current(), on=on)

    assert world.store.machine_turns.steer(running, guests_row(world, "0002")) is on
    assert world.store.machine_turns.steer(running, world.row("0003"))
    assert world.offer_of().rows == (("0001", "0002", "0003") if on else ("0001", "0003"))


def test_a_handoff_that_shares_arrives_shared(world: World) -> None:
    handoff = world.handoff(Stage.BOUND, share=True)
    assert world.current().shared
    sure(world.store.handoffs.complete(world.confirm(handoff), now=NOW))
    assert world.current().shared


def test_a_handoff_that_does_not_share_ends_it(world: World) -> None:
    session = in_a_thread(world)
    elsewhere = replace(THREAD, place=Place("telegram", "7001", "99"))
    world.handoff(Stage.BOUND, session, thread=elsewhere)
    assert not world.current().shared


def test_a_pending_handoff_leaves_it_as_it_is(world: World) -> None:
    session = in_a_thread(world)
    handoff = world.requested(session)
    assert world.current().shared
    sure(world.store.handoffs.fail(world.claim(handoff), BROKEN, now=NOW))
    assert world.current().shared


def test_a_handoff_that_fails_after_the_move_comes_back_unshared(world: World) -> None:
    handoff = world.handoff(Stage.BOUND, share=True)
    sure(world.store.handoffs.fail(handoff, BROKEN, now=NOW))
    assert world.current().owner.is_cli
    assert not world.current().shared


def test_a_return_to_the_terminal_ends_it(world: World) -> None:
    session = in_a_thread(world)
    assert not world.store.moves.to_terminal(session, now=NOW).shared
    assert not world.current().shared


def test_a_move_to_another_chat_ends_it(world: World) -> None:
    session = in_a_thread(world)
    moved = world.store.moves.to_chat(session, Place("telegram", "7001", "99"), "https://t.me/2", now=NOW)
    assert not moved.shared
    assert world.current() == moved


def test_a_session_that_is_parked_is_not_shared(world: World) -> None:
    in_a_thread(world)
    other = world.session("s-2")
    world.store.moves.to_chat(other, THREAD.place, THREAD.url, now=NOW)
    assert world.current("s-1").owner.is_cli
    assert not world.current("s-1").shared


def test_a_completed_handoff_is_not_shared_by_itself(world: World) -> None:
    world.ended(Ending.COMPLETED)
    assert not world.current().shared
