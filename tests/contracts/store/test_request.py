"""Transition `request`: a new pending handoff and a marked session in one transaction, or nothing."""

from dataclasses import replace

import pytest

from shared.domain.handoffs import State, Step
from shared.domain.sessions import TurnLease
from shared.errors import HandoffInFlight, IdempotencyKeyReused, Moved, RequestRefused, SessionBusy, UnknownSession
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


@pytest.mark.parametrize("stage", [Stage.BOUND, Stage.SENT, Stage.CONFIRMED])
def test_a_second_handoff_is_rejected_after_the_move_too(world: World, stage: Stage) -> None:
    world.handoff(stage)
    with pytest.raises(HandoffInFlight):
        world.store.handoffs.request(world.new_handoff(world.current()), now=NOW)


def test_a_session_whose_turn_is_accepted_queued_or_running_is_busy(world: World) -> None:
    session = world.start_turn(world.session(), lease=1)
    asked = world.new_handoff(session)
    with pytest.raises(SessionBusy, match="s-1"):
        world.store.handoffs.request(asked, now=NOW)
    assert world.current() == session
    assert world.store.handoffs.get(asked.id) is None


def test_an_expired_turn_does_not_block_a_request(world: World) -> None:
    session = world.session(turn=TurnLease("t-gone", NOW))
    assert world.requested(session).state is State.PENDING


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
