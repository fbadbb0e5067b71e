"""Transitions `resume` and `bring`: the person takes the session to where they are, whatever was under way."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from shared.domain.handoffs import Handoff, State, Thread
from shared.domain.routes import Place, cli_place
from shared.domain.sessions import Interruption, ResumePending
from shared.errors import Conflict, PlaceBusy
from shared.ports.tables import Delete, Table
from shared.store.keys import handoff_key
from tests.contracts.store.world import HOME, LEASE, NOW, THREAD, Ending, Stage, World, sure
from tests.support.table_backends import Backend

CHAT = Place("slack", "C7")
LINK = "https://slack/C7"


def test_a_resumed_session_is_back_in_its_terminal_with_a_grown_epoch(world: World) -> None:
    world.ended(Ending.COMPLETED)
    there = world.current()
    resumed = world.store.moves.to_terminal(there, now=NOW + 5)
    assert resumed == world.current()
    assert resumed == replace(
        there, owner=cli_place("s-1"), link=None, epoch=2, version=there.version + 1, updated_at=NOW + 5
    )


@pytest.mark.parametrize("stage", Stage, ids=lambda stage: stage.name.lower())
def test_a_resume_ends_the_handoff_in_flight_as_cancelled_resumed(world: World, stage: Stage) -> None:
    handoff = world.handoff(stage)
    epoch = world.current().epoch

    resumed = world.store.moves.to_terminal(world.current(), now=NOW + 5)

    ended = world.latest(handoff)
    assert (ended.state, sure(ended.error).code) == (State.CANCELLED, "resumed")
    assert (resumed.owner, resumed.epoch, resumed.active_handoff) == (cli_place("s-1"), epoch + 1, None)
    assert resumed == world.current()
    assert world.store.handoffs.due(now=NOW * 2, limit=5) == []


def _lose(backend: Backend, handoff: Handoff) -> None:
    backend.tables.delete(Delete(Table.HANDOFFS, handoff_key(handoff.id)))


@pytest.mark.parametrize("stage", [Stage.PENDING, Stage.BOUND], ids=lambda stage: stage.name.lower())
def test_a_handoff_that_is_gone_does_not_block_resume(world: World, backend: Backend, stage: Stage) -> None:
    _lose(backend, world.handoff(stage))
    epoch = world.current().epoch

    resumed = world.store.moves.to_terminal(world.current(), now=NOW + 5)

    assert (resumed.owner, resumed.epoch, resumed.active_handoff) == (cli_place("s-1"), epoch + 1, None)
    assert resumed == world.current()
    assert backend.scan(Table.HANDOFFS) == []


def test_a_handoff_that_is_gone_does_not_hold_a_chat(world: World, backend: Backend) -> None:
    _lose(backend, world.handoff(Stage.BOUND))
    other = world.session("s-2")

    moved = world.store.moves.to_chat(other, THREAD.place, THREAD.url, now=NOW + 5)

    assert moved.owner == THREAD.place
    assert (world.current().owner, world.current().active_handoff) == (cli_place("s-1"), None)


MOVES: dict[str, Callable[[World], object]] = {
    "resume": lambda w: w.store.moves.to_terminal(w.current(), now=NOW),
    "bring": lambda w: w.store.moves.to_chat(w.current(), CHAT, LINK, now=NOW),
    "park": lambda w: w.store.moves.to_chat(w.session("s-2"), THREAD.place, THREAD.url, now=NOW),
}


@pytest.mark.parametrize("move", MOVES)
def test_a_move_ends_an_offered_turn_so_that_no_executor_claims_it(world: World, move: str) -> None:
    world.ended(Ending.COMPLETED)
    offered = world.offer(world.current())

    sure(MOVES[move](world))

    moved = world.current()
    assert (moved.turn, moved.epoch) == (None, offered.epoch + 1)
    with pytest.raises(Conflict):
        world.claim_turn(offered)
    assert world.current() == moved
    assert [offer.id for offer in world.store.turns.unsettled("s-1")] == ["t-1"], "left to be settled"


@pytest.mark.parametrize("move", MOVES)
def test_a_move_ends_a_claimed_turn_so_that_its_executor_is_refused(world: World, move: str) -> None:
    world.ended(Ending.COMPLETED)
    running = world.start_turn(world.current())

    sure(MOVES[move](world))

    moved = world.current()
    assert moved.turn is None
    with pytest.raises(Conflict):
        world.store.turns.commit(world.turn_commit(running), now=NOW)
    assert not world.store.turns.renew(running, lease_until=NOW + 2 * LEASE)
    assert not world.store.turns.hand_back(running, now=NOW, until=NOW, interrupted=None)
    assert not world.store.turns.end(running, now=NOW)
    assert world.current() == moved


def test_a_resume_fails_if_the_session_changed(world: World) -> None:
    world.ended(Ending.COMPLETED)
    read = world.current()
    changed = world.store.sessions.replace(read, replace(read, title="new"))
    with pytest.raises(Conflict):
        world.store.moves.to_terminal(read, now=NOW)
    assert world.current() == changed


def test_a_resume_read_before_the_request_is_rejected(world: World) -> None:
    read = world.session()
    handoff = world.requested(read)
    with pytest.raises(Conflict):
        world.store.moves.to_terminal(read, now=NOW)
    assert world.latest(handoff) == handoff


def test_a_resume_read_before_the_completion_is_rejected(world: World) -> None:
    confirmed = world.handoff(Stage.CONFIRMED)
    read = world.current()
    done = sure(world.store.handoffs.complete(confirmed, now=NOW))
    with pytest.raises(Conflict):
        world.store.moves.to_terminal(read, now=NOW)
    assert world.latest(done) == done


def test_an_unknown_session_cannot_be_resumed_into_existence(world: World) -> None:
    with pytest.raises(Conflict):
        world.store.moves.to_terminal(replace(world.session(), id="s-404"), now=NOW)
    assert world.store.sessions.get("s-404") is None


def test_a_resume_keeps_what_happened_to_the_last_turn(world: World) -> None:
    pending = ResumePending(Interruption.OUT_OF_TIME, NOW - 5)
    session = world.session(resume_pending=pending)
    resumed = world.store.moves.to_terminal(session, now=NOW)
    assert resumed.resume_pending == pending
    assert world.current() == resumed


def test_a_session_is_brought_to_the_chat_that_asked_for_it(world: World) -> None:
    session = world.session(suspended=True, resume_pending=ResumePending(Interruption.KILLED, NOW - 5))
    here = world.store.moves.to_chat(session, CHAT, LINK, now=NOW + 1)
    assert here == world.current()
    assert (here.owner, here.link, here.epoch) == (CHAT, LINK, 1)
    assert (here.suspended, here.resume_pending) == (False, None)
    assert world.store.sessions.at(CHAT) == "s-1"


@pytest.mark.parametrize("stage", Stage, ids=lambda stage: stage.name.lower())
def test_bringing_a_session_ends_its_handoff_in_flight(world: World, stage: Stage) -> None:
    handoff = world.handoff(stage)
    epoch = world.current().epoch
    here = world.store.moves.to_chat(world.current(), CHAT, LINK, now=NOW)
    assert world.latest(handoff).state is State.CANCELLED
    assert (here.owner, here.epoch, here.active_handoff) == (CHAT, epoch + 1, None)
    assert world.rebind(replace(handoff, thread=THREAD), now=NOW) is None
    assert world.current() == here


def test_the_previous_session_returns_to_its_terminal(world: World) -> None:
    world.store.moves.to_chat(world.session("s-old"), CHAT, LINK, now=NOW)
    world.store.moves.to_chat(world.session("s-new"), CHAT, LINK, now=NOW)
    old = world.current("s-old")
    assert (old.owner, old.epoch, old.link) == (cli_place("s-old"), 2, None)
    assert world.current("s-new").owner == CHAT
    assert world.store.sessions.at(CHAT) == "s-new"


def test_a_chat_with_another_users_session_is_not_taken(world: World) -> None:
    theirs = world.store.moves.to_chat(world.session("s-eve", user_id="eve"), CHAT, LINK, now=NOW)
    mine = world.session()
    with pytest.raises(PlaceBusy):
        world.store.moves.to_chat(mine, CHAT, LINK, now=NOW)
    assert world.current("s-eve") == theirs
    assert world.current() == mine


def test_bringing_a_session_that_changed_since_it_was_read_is_refused(world: World) -> None:
    read = world.session()
    handoff = world.requested(read)
    with pytest.raises(Conflict):
        world.store.moves.to_chat(read, CHAT, LINK, now=NOW)
    assert world.latest(handoff) == handoff
    assert world.store.sessions.at(CHAT) is None


def test_parking_ends_the_handoff_of_a_session(world: World) -> None:
    first = world.handoff(Stage.BOUND, thread=Thread(HOME, "https://t.me/1001"))
    world.store.moves.to_chat(world.session("s-2"), HOME, "https://t.me/1001", now=NOW)
    parked = world.current("s-1")
    assert (parked.owner, parked.epoch, parked.active_handoff) == (cli_place("s-1"), 2, None)
    assert sure(world.store.handoffs.get(first.id)).state is State.CANCELLED
