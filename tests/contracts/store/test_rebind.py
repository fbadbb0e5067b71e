"""Transition `rebind`: route, owner, epoch and step in one transaction; who lives there already, and who may not come."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from shared.domain.handoffs import Step, Thread
from shared.domain.routes import Place, cli_place
from shared.domain.sessions import Session, Turn
from shared.errors import Conflict, Moved, PlaceBusy, UnknownSession
from shared.ports.tables import Delete, Table
from shared.store.keys import meta_key
from tests.contracts.store.interleaving import right_after
from tests.contracts.store.world import BROKEN, DEADLINE, HOME, LEASE, NOW, THREAD, Ending, Stage, World, sure
from tests.support.table_backends import Backend

AT_HOME = Thread(HOME, "https://t.me/c/1001")


def tenant(world: World) -> Session:
    """A session that was handed to the home chat itself and lives there."""
    done = world.handoff(Stage.CONFIRMED, world.session("s-tenant"), thread=AT_HOME)
    sure(world.store.handoffs.complete(done, now=NOW))
    return world.current("s-tenant")


def test_a_rebind_moves_the_session_and_its_epoch_grows(world: World) -> None:
    opened = world.handoff(Stage.OPENED)
    before = world.current()

    bound = sure(world.rebind(opened, now=NOW + 2))

    assert bound == world.latest(opened)
    assert bound.bound_epoch == 1
    assert bound.steps[Step.MOVED] == bound.steps[Step.KICKOFF_SENT] == NOW + 2
    (kickoff,) = world.store.turns.unsettled("s-1")
    assert world.current() == replace(
        before,
        owner=THREAD.place,
        link=THREAD.url,
        epoch=1,
        version=before.version + 1,
        updated_at=NOW + 2,
        turn=Turn(kickoff.id),
    )
    assert world.store.sessions.at(THREAD.place) == "s-1"


def test_a_rebind_offers_the_kickoff_in_the_thread(world: World) -> None:
    opened = world.handoff(Stage.OPENED)
    kickoff = world.kickoff(opened)
    sure(world.store.moves.rebind(opened, kickoff, now=NOW))
    assert world.store.turns.get("s-1", kickoff.id) == kickoff
    claimed = world.claim_turn(world.current())
    assert (sure(claimed.turn).id, sure(claimed.turn).fence) == (kickoff.id, 1)


def test_after_a_rebind_the_lease_lasts_to_the_deadline(world: World) -> None:
    """The kickoff turn carries the work: no attempt may take the handoff over while it waits for an executor."""
    bound = world.handoff(Stage.BOUND)
    assert bound.lease_until == bound.deadline == NOW + DEADLINE
    assert world.store.handoffs.due(now=NOW + DEADLINE - 1, limit=5) == []
    assert world.store.handoffs.expire(bound, BROKEN, now=NOW + DEADLINE - 1) is None
    assert (
        world.store.handoffs.back_to_pending(
            bound, BROKEN, now=NOW + DEADLINE - 1, not_before=0, counts=True, abandoned=True
        )
        is None
    )


def test_a_second_rebind_neither_moves_nor_offers_again(world: World) -> None:
    opened = world.handoff(Stage.OPENED)
    bound = sure(world.rebind(opened, now=NOW))
    moved = world.current()
    assert world.rebind(opened, now=NOW) is None
    assert world.current() == moved
    assert world.latest(opened) == bound
    assert [offer.id for offer in world.store.turns.unsettled("s-1")] == [sure(moved.turn).id]


@pytest.mark.parametrize("claimed", [False, True])
def test_a_rebind_ends_the_turn_that_the_session_had_in_its_old_place(world: World, claimed: bool) -> None:
    world.ended(Ending.COMPLETED)
    there = Thread(Place("slack", "C1", "1.2"), "https://slack/1")
    onwards = world.handoff(Stage.OPENED, world.current(), thread=there)
    row = world.row()
    words = world.offer(world.current(), rows=[row])
    if claimed:
        words = world.claim_turn(words, [row])

    sure(world.rebind(onwards, now=NOW))

    moved = world.current()
    assert sure(moved.turn).id != "t-1"
    with pytest.raises(Conflict):
        world.claim_turn(words, [row], claim_id="c-2", now=NOW + LEASE)
    with pytest.raises(Conflict):
        world.store.turns.commit(world.turn_commit(words, rows=[row]), now=NOW)
    assert world.current() == moved
    assert world.store.inbox.new(THREAD.place, limit=5) == [row], "told where the session went"


def test_a_rebind_does_not_use_the_id_of_an_earlier_turn(world: World) -> None:
    world.start_turn(world.session(), "t-1")
    assert world.store.turns.end(world.current(), now=NOW)
    opened = world.handoff(Stage.OPENED, world.current())
    before = world.current()
    with pytest.raises(Conflict):
        world.store.moves.rebind(opened, replace(world.kickoff(opened), id="t-1"), now=NOW)
    assert (world.current(), world.latest(opened)) == (before, opened)


def test_a_rebind_without_a_thread_is_a_value_error(world: World) -> None:
    with pytest.raises(ValueError, match="no thread"):
        world.rebind(world.handoff(Stage.CLAIMED), now=NOW)


def test_a_session_moves_only_into_the_recorded_thread(world: World) -> None:
    opened = world.handoff(Stage.OPENED)
    stray = Thread(Place("telegram", "1001", "99"), "https://t.me/c/1001/99")
    assert world.rebind(replace(opened, thread=stray), now=NOW) is None
    assert world.current().owner.is_cli


def test_a_rebind_with_an_old_fence_is_refused_and_moves_nothing(world: World) -> None:
    old = world.handoff(Stage.OPENED)
    sure(world.store.handoffs.back_to_pending(old, BROKEN, now=NOW + LEASE, not_before=0, counts=True))
    current = world.claim(old, "p-2")
    before = world.current()

    assert world.rebind(old, now=NOW) is None

    assert world.current() == before
    assert world.latest(old) == current
    assert world.store.sessions.at(THREAD.place) is None
    assert world.store.turns.unsettled("s-1") == []


def test_a_session_with_a_newer_epoch_is_not_moved(world: World) -> None:
    opened = world.handoff(Stage.OPENED)
    session = world.current()
    elsewhere = Place("slack", "C1", "1.2")
    world.store.sessions.replace(session, replace(session, epoch=1, owner=elsewhere, link="https://slack/1"))
    before = world.current()

    with pytest.raises(Moved) as refusal:
        world.rebind(opened, now=NOW)

    assert refusal.value.extra == {"owner": elsewhere.route, "epoch": 1, "link": "https://slack/1"}
    assert world.current() == before
    assert not world.latest(opened).is_bound
    assert world.store.sessions.at(THREAD.place) is None
    assert world.store.turns.unsettled("s-1") == []


def test_a_session_with_another_handoff_is_not_moved(world: World) -> None:
    opened = world.handoff(Stage.OPENED)
    session = world.current()
    world.store.sessions.replace(session, replace(session, active_handoff="h-other"))
    with pytest.raises(Moved):
        world.rebind(opened, now=NOW)
    assert world.current().owner.is_cli


@pytest.mark.parametrize("ending", [Ending.CANCELLED, Ending.RESUMED, Ending.FAILED])
def test_an_ended_handoff_moves_nothing(world: World, ending: Ending) -> None:
    opened = world.handoff(Stage.OPENED)
    endings: dict[Ending, Callable[[], object]] = {
        Ending.CANCELLED: lambda: world.store.handoffs.cancel(opened, BROKEN, now=NOW),
        Ending.RESUMED: lambda: world.store.moves.to_terminal(world.current(), now=NOW),
        Ending.FAILED: lambda: world.store.handoffs.fail(opened, BROKEN, now=NOW),
    }
    sure(endings[ending]())
    before = world.current()
    assert world.rebind(opened, now=NOW) is None
    assert world.current() == before
    assert before.owner.is_cli


def test_a_deleted_session_is_not_resumed(world: World) -> None:
    opened = world.handoff(Stage.OPENED)
    world.store.sessions.delete(world.current())
    outcome: object = None
    try:
        outcome = world.rebind(opened, now=NOW)
    except UnknownSession as refusal:
        outcome = refusal
    assert outcome is None or isinstance(outcome, UnknownSession)
    assert world.store.sessions.get("s-1") is None


def test_a_place_where_another_session_lives_is_busy(world: World) -> None:
    lives_there = tenant(world)
    opened = world.handoff(Stage.OPENED, thread=AT_HOME)

    with pytest.raises(PlaceBusy, match="telegram:1001"):
        world.rebind(opened, now=NOW)

    assert world.current("s-tenant") == lives_there
    assert world.current("s-1").owner.is_cli
    assert world.store.sessions.at(HOME) == "s-tenant"


def test_replace_parks_the_other_session(world: World) -> None:
    lives_there = tenant(world)
    world.start_turn(lives_there)
    opened = world.handoff(Stage.OPENED, thread=AT_HOME, replace=True)

    sure(world.rebind(opened, now=NOW))

    parked = world.current("s-tenant")
    assert parked.owner == cli_place("s-tenant")
    assert parked.epoch == lives_there.epoch + 1
    assert parked.version > lives_there.version
    assert parked.link is None
    assert parked.turn is None
    assert world.current("s-1").owner == HOME
    assert world.store.sessions.at(HOME) == "s-1"


def test_another_users_session_is_never_parked(world: World) -> None:
    theirs = world.store.moves.to_chat(world.session("s-eve", user_id="eve"), HOME, AT_HOME.url, now=NOW)
    opened = world.handoff(Stage.OPENED, thread=AT_HOME, replace=True)
    with pytest.raises(PlaceBusy):
        world.rebind(opened, now=NOW)
    assert world.current("s-eve") == theirs
    assert world.current("s-1").owner.is_cli
    assert world.store.sessions.at(HOME) == "s-eve"


def test_a_session_that_has_moved_away_does_not_block_its_old_place(world: World) -> None:
    lived_there = tenant(world)
    resumed = world.store.moves.to_terminal(lived_there, now=NOW)
    opened = world.handoff(Stage.OPENED, thread=AT_HOME)

    sure(world.rebind(opened, now=NOW))

    assert world.current("s-tenant") == resumed
    assert world.store.sessions.at(HOME) == "s-1"


def test_a_route_to_a_deleted_session_does_not_block_the_place(world: World, backend: Backend) -> None:
    gone = tenant(world)
    backend.tables.delete(Delete(Table.SESSIONS, meta_key(gone.id)))
    assert world.store.sessions.at(HOME) == gone.id
    opened = world.handoff(Stage.OPENED, thread=AT_HOME)
    sure(world.rebind(opened, now=NOW))
    assert world.store.sessions.at(HOME) == "s-1"


def test_a_session_may_return_to_its_own_route(world: World) -> None:
    world.store.moves.to_terminal(tenant(world), now=NOW)
    again = world.handoff(Stage.OPENED, world.current("s-tenant"), thread=AT_HOME)
    sure(world.rebind(again, now=NOW))
    assert world.current("s-tenant").owner == HOME
    assert world.current("s-tenant").epoch == again.request_epoch + 1


def test_of_two_sessions_that_come_to_one_place_one_lives_there(world: World) -> None:
    opened = [world.handoff(Stage.OPENED, world.session(f"s-{n}"), thread=AT_HOME) for n in (1, 2)]
    sure(world.rebind(opened[0], now=NOW))
    with pytest.raises((PlaceBusy, Conflict)):
        world.rebind(opened[1], now=NOW)
    assert [world.current(f"s-{n}").owner for n in (1, 2)] == [HOME, cli_place("s-2")]


def test_a_rebind_never_returns_a_successors_fence(world: World, backend: Backend) -> None:
    """With a successor's fence, a claimant that lost its lease could write again."""
    opened = world.handoff(Stage.OPENED)

    def takes_over() -> None:
        bound = world.latest(opened)
        sure(world.store.handoffs.back_to_pending(bound, BROKEN, now=NOW + LEASE, not_before=0, counts=True))
        world.claim(opened, "p-2")

    with right_after(backend.tables, takes_over) as seen:
        mine = sure(world.rebind(opened, now=NOW))

    assert seen
    assert mine.fence == opened.fence
    assert world.latest(opened).fence == opened.fence + 1
    assert world.store.handoffs.step(mine, Step.KICKOFF_SENT, now=NOW) is None
