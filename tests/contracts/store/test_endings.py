"""Transitions `complete`, `fail`, `expire` and `cancel`: each ends a handoff and frees its session, at once or not at all."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from shared.domain.handoffs import MAX_ATTEMPTS, Handoff, Reason, State, Step, Thread
from shared.domain.routes import Place, cli_place
from shared.errors import Conflict
from shared.ports.tables import Delete, Table
from shared.store.keys import meta_key
from tests.contracts.store.world import (
    BROKEN,
    DEADLINE,
    HOME,
    LEASE,
    NOW,
    RECEIPT,
    THREAD,
    Ending,
    Stage,
    World,
    sure,
)
from tests.support.table_backends import Backend

LATE = Reason("deadline", "It took too long.")
SAID_SO = Reason("cancelled", "You called it off.")
UNBOUND = [Stage.PENDING, Stage.CLAIMED, Stage.OPENED]

Attempt = Callable[[World, Handoff], object]
ATTEMPTS: Mapping[str, Attempt] = {
    "claim": lambda w, h: w.store.handoffs.claim(h.id, claimant="p-9", now=NOW, lease_until=NOW + 1),
    "step": lambda w, h: w.store.handoffs.step(h, Step.THREAD_OPENED, now=NOW, thread=THREAD),
    "rebind": lambda w, h: w.rebind(replace(h, thread=THREAD), now=NOW),
    "complete": lambda w, h: w.store.handoffs.complete(h, now=NOW),
    "fail": lambda w, h: w.store.handoffs.fail(h, BROKEN, now=NOW),
    "fail, delivery rejected": lambda w, h: w.store.handoffs.fail(h, BROKEN, now=NOW, rejected_delivery=True),
    "expire": lambda w, h: w.store.handoffs.expire(h, LATE, now=h.deadline + 1),
    "cancel": lambda w, h: w.store.handoffs.cancel(h, SAID_SO, now=NOW),
    "back_to_pending": lambda w, h: w.store.handoffs.back_to_pending(h, BROKEN, now=NOW, not_before=0, counts=True),
    "nudge": lambda w, h: w.store.handoffs.nudge(h, now=NOW) or None,
    "drive": lambda w, h: w.store.handoffs.drive(h, now=NOW) or None,
}


@pytest.mark.parametrize("ending", Ending, ids=lambda ending: ending.name.lower())
def test_terminal_is_final(world: World, ending: Ending) -> None:
    ended = world.ended(ending)
    session = world.current()
    for name, attempt in ATTEMPTS.items():
        assert attempt(world, ended) is None, name
        assert world.latest(ended) == ended, name
        assert world.current() == session, name


@pytest.mark.parametrize("ending", Ending, ids=lambda ending: ending.name.lower())
def test_a_kickoff_turn_of_an_ended_handoff_cannot_be_committed(world: World, ending: Ending) -> None:
    ended = world.ended(ending)
    session = world.start_turn(world.current())
    journal = world.store.outbox.journal("s-1", ended.kickoff_turn)
    with pytest.raises(Conflict):
        world.store.turns.commit(world.turn_commit(session, handoff=ended, receipt=RECEIPT), now=NOW)
    assert world.latest(ended) == ended
    assert world.current() == session
    assert world.store.outbox.journal("s-1", ended.kickoff_turn) == journal


# --- a kickoff that fails


def test_the_executor_of_a_kickoff_fails_its_handoff(world: World) -> None:
    bound = world.handoff(Stage.BOUND)
    session = world.claim_turn(world.current())

    failed = sure(world.store.handoffs.fail_kickoff(bound, BROKEN, session=session, now=NOW + 8))

    after = world.current()
    assert (failed.state, failed.error) == (State.FAILED, BROKEN)
    assert (after.owner, after.epoch, after.turn, after.active_handoff) == (after.cli, session.epoch + 1, None, None)


def test_an_executor_whose_kickoff_another_has_taken_fails_nothing(world: World) -> None:
    bound = world.handoff(Stage.BOUND)
    zombie = world.claim_turn(world.current())
    other = world.claim_turn(zombie, claim_id="c-2", now=NOW + LEASE)
    with pytest.raises(Conflict):
        world.store.handoffs.fail_kickoff(bound, BROKEN, session=zombie, now=NOW + LEASE)
    assert world.latest(bound) == bound
    assert world.current() == other


def test_an_executor_that_handed_its_kickoff_back_fails_nothing(world: World) -> None:
    bound = world.handoff(Stage.BOUND)
    claimed = world.claim_turn(world.current())
    assert world.store.turns.hand_back(claimed, now=NOW, until=NOW, interrupted=None)
    with pytest.raises(Conflict):
        world.store.handoffs.fail_kickoff(bound, BROKEN, session=claimed, now=NOW)
    with pytest.raises(Conflict):  # as it was read, it is offered and not claimed
        world.store.handoffs.fail_kickoff(bound, BROKEN, session=world.current(), now=NOW)
    assert world.latest(bound) == bound


@pytest.mark.parametrize("claimed", [False, True])
def test_an_abandoned_kickoff_fails_its_handoff(world: World, claimed: bool) -> None:
    bound = world.handoff(Stage.BOUND)
    read = world.claim_turn(world.current()) if claimed else world.current()

    failed = world.store.handoffs.fail_kickoff(bound, BROKEN, session=read, now=NOW + LEASE, abandoned=True)

    assert sure(failed).state is State.FAILED
    assert world.current().turn is None


@pytest.mark.parametrize("happened", ["claimed", "renewed", "handed back with a pause"])
def test_a_kickoff_that_is_at_work_again_is_not_given_up(world: World, happened: str) -> None:
    bound = world.handoff(Stage.BOUND)
    read, now = world.claim_turn(world.current()), NOW + LEASE
    if happened == "claimed":
        world.claim_turn(read, claim_id="c-2", now=now)
    elif happened == "renewed":
        assert world.store.turns.renew(read, lease_until=now + LEASE)
    else:
        assert world.store.turns.hand_back(read, now=now, until=now + LEASE, interrupted=None)
    before = world.current()
    with pytest.raises(Conflict):
        world.store.handoffs.fail_kickoff(bound, BROKEN, session=read, now=now, abandoned=True)
    assert world.latest(bound) == bound
    assert world.current() == before


def test_a_kickoff_that_was_confirmed_does_not_fail(world: World) -> None:
    bound = world.handoff(Stage.BOUND)
    claimed = world.claim_turn(world.current())
    confirmed = world.confirm_claimed(claimed, bound)

    assert world.store.handoffs.fail_kickoff(bound, BROKEN, session=claimed, now=NOW) is None

    assert world.latest(bound) == confirmed


# --- complete


def test_completion_clears_the_error_and_releases_the_session(world: World) -> None:
    claimed = world.handoff(Stage.OPENED)
    sure(world.store.handoffs.back_to_pending(claimed, BROKEN, now=NOW, not_before=0, counts=True))
    bound = sure(world.rebind(world.claim(claimed, "p-2"), now=NOW))
    assert bound.error == BROKEN
    confirmed = world.confirm(bound)

    done = sure(world.store.handoffs.complete(confirmed, now=NOW + 8))

    assert done == world.latest(done)
    assert (done.state, done.error, done.receipt) == (State.COMPLETED, None, RECEIPT)
    assert (done.steps[Step.DELIVERED], done.steps[Step.COMPLETED]) == (NOW + 8, NOW + 8)
    session = world.current()
    assert (session.active_handoff, session.owner, session.epoch) == (None, THREAD.place, 1)


@pytest.mark.parametrize("stage", [*UNBOUND, Stage.BOUND])
def test_what_is_not_confirmed_does_not_complete(world: World, stage: Stage) -> None:
    handoff = world.handoff(stage)
    assert world.store.handoffs.complete(handoff, now=NOW) is None
    assert world.latest(handoff) == handoff
    assert world.current().active_handoff == handoff.id


def test_a_confirmed_handoff_completes_with_an_old_fence(world: World) -> None:
    old = world.handoff(Stage.CONFIRMED)
    sure(world.store.handoffs.back_to_pending(old, BROKEN, now=NOW, not_before=0, counts=False))
    world.claim(old, "p-2")
    assert sure(world.store.handoffs.complete(old, now=NOW)).state is State.COMPLETED


# --- fail


@pytest.mark.parametrize("stage", UNBOUND)
def test_a_failure_before_the_move_leaves_the_session(world: World, stage: Stage) -> None:
    handoff = world.handoff(stage)
    before = world.current()
    failed = sure(world.store.handoffs.fail(handoff, BROKEN, now=NOW + 1))
    assert (failed.state, failed.error) == (State.FAILED, BROKEN)
    after = world.current()
    assert (after.owner, after.epoch, after.active_handoff) == (before.owner, before.epoch, None)
    assert after.version == before.version + 1


@pytest.mark.parametrize("claimed", [False, True])
def test_a_failure_after_the_move_returns_the_session_and_ends_its_turn(world: World, claimed: bool) -> None:
    handoff = world.handoff(Stage.BOUND)
    if claimed:
        world.claim_turn(world.current())
    failed = sure(world.store.handoffs.fail(handoff, BROKEN, now=NOW + 1))
    assert failed.state is State.FAILED
    back = world.current()
    assert (back.owner, back.epoch, back.active_handoff) == (cli_place("s-1"), 2, None)
    assert (back.link, back.turn) == (None, None)


def test_a_failed_chat_to_chat_handoff_returns_to_the_chat(world: World) -> None:
    world.ended(Ending.COMPLETED)
    there = Thread(Place("slack", "C1", "1.2"), "https://slack/1")
    second = world.handoff(Stage.BOUND, world.current(), thread=there)
    assert world.current().owner == there.place

    sure(world.store.handoffs.fail(second, BROKEN, now=NOW))

    back = world.current()
    assert (back.owner, back.link) == (THREAD.place, THREAD.url)
    assert world.store.sessions.at(THREAD.place) == "s-1"


def test_a_session_returns_to_its_chat_with_its_link(world: World) -> None:
    begun = world.store.moves.to_chat(world.session(), HOME, "https://t.me/1001", now=NOW)
    onwards = world.handoff(Stage.BOUND, begun)

    sure(world.store.handoffs.expire(onwards, LATE, now=onwards.deadline + 1))

    back = world.current()
    assert (back.owner, back.link) == (HOME, "https://t.me/1001")


def test_a_session_whose_place_was_taken_returns_to_its_terminal(world: World) -> None:
    first = world.handoff(Stage.CONFIRMED, thread=Thread(HOME, "https://t.me/1001"))
    sure(world.store.handoffs.complete(first, now=NOW))
    second = world.handoff(Stage.BOUND, world.current())
    other = world.handoff(Stage.BOUND, world.session("s-2"), thread=Thread(HOME, "https://t.me/1001"))
    assert other.is_bound

    sure(world.store.handoffs.fail(second, BROKEN, now=NOW))

    back = world.current("s-1")
    assert (back.owner, back.link) == (cli_place("s-1"), None)
    assert world.current("s-2").owner == HOME
    assert world.store.sessions.at(HOME) == "s-2"


def test_the_handoff_of_a_parked_session_ends_once(world: World) -> None:
    home = Thread(HOME, "https://t.me/1001")
    first = world.handoff(Stage.BOUND, thread=home)
    sure(world.rebind(world.handoff(Stage.OPENED, world.session("s-2"), thread=home, replace=True), now=NOW))
    parked = world.current("s-1")

    assert world.store.handoffs.fail(first, BROKEN, now=NOW) is None

    ended = sure(world.store.handoffs.get(first.id))
    assert (ended.state, sure(ended.error).code) == (State.CANCELLED, "resumed")
    assert (parked.owner, parked.epoch, parked.active_handoff) == (parked.cli, 2, None)
    assert world.current("s-1") == parked


def test_a_handoff_of_a_deleted_session_can_fail(world: World, backend: Backend) -> None:
    handoff = world.handoff(Stage.BOUND)
    backend.tables.delete(Delete(Table.SESSIONS, meta_key("s-1")))
    assert sure(world.store.handoffs.fail(handoff, BROKEN, now=NOW)).state is State.FAILED
    assert world.store.sessions.get("s-1") is None
    assert world.store.handoffs.due(now=NOW + 2 * DEADLINE, limit=5) == []


def test_a_confirmed_handoff_does_not_fail_for_an_ordinary_reason(world: World) -> None:
    confirmed = world.handoff(Stage.CONFIRMED)
    assert world.store.handoffs.fail(confirmed, BROKEN, now=NOW) is None
    assert world.latest(confirmed) == confirmed


def test_a_handoff_confirmed_since_it_was_read_does_not_fail(world: World) -> None:
    read = world.handoff(Stage.BOUND)
    confirmed = world.confirm(read)
    assert world.store.handoffs.fail(read, BROKEN, now=NOW) is None
    assert world.latest(read) == confirmed


def test_a_rejected_delivery_fails_and_returns_the_session(world: World) -> None:
    confirmed = world.handoff(Stage.CONFIRMED)
    failed = sure(world.store.handoffs.fail(confirmed, BROKEN, now=NOW, rejected_delivery=True))
    assert failed.state is State.FAILED
    session = world.current()
    assert (session.owner, session.epoch, session.message_count) == (cli_place("s-1"), 2, 2)


def test_a_failure_with_an_old_fence_is_refused(world: World) -> None:
    old = world.handoff(Stage.CLAIMED)
    sure(world.store.handoffs.back_to_pending(old, BROKEN, now=NOW, not_before=0, counts=True))
    current = world.claim(old, "p-2")
    assert world.store.handoffs.fail(old, BROKEN, now=NOW) is None
    assert world.latest(old) == current


def test_a_failure_read_before_the_rebind_is_rejected(world: World) -> None:
    opened = world.handoff(Stage.OPENED)
    bound = sure(world.rebind(opened, now=NOW))
    assert world.store.handoffs.fail(opened, BROKEN, now=NOW) is None
    assert world.latest(bound) == bound


def test_a_reason_is_stored_as_it_was_cut(world: World) -> None:
    failed = sure(world.store.handoffs.fail(world.requested(), Reason("broken", "x" * 2000), now=NOW))
    assert sure(world.latest(failed).error).message == "x" * 499 + "…"


# --- cancel


@pytest.mark.parametrize("stage", UNBOUND)
def test_a_cancelled_handoff_releases_the_session(world: World, stage: Stage) -> None:
    handoff = world.handoff(stage)
    cancelled = sure(world.store.handoffs.cancel(handoff, SAID_SO, now=NOW + 1))
    assert cancelled == world.latest(handoff)
    assert (cancelled.state, cancelled.error) == (State.CANCELLED, SAID_SO)
    session = world.current()
    assert (session.owner, session.epoch, session.active_handoff) == (cli_place("s-1"), 0, None)


@pytest.mark.parametrize("stage", [Stage.BOUND, Stage.CONFIRMED])
def test_a_handoff_whose_session_has_moved_is_not_cancelled(world: World, stage: Stage) -> None:
    handoff = world.handoff(stage)
    before = world.current()
    assert world.store.handoffs.cancel(handoff, SAID_SO, now=NOW) is None
    assert world.latest(handoff) == handoff
    assert world.current() == before


def test_a_bound_handoff_back_in_pending_is_not_cancelled(world: World) -> None:
    bound = world.handoff(Stage.BOUND)
    pending = sure(world.store.handoffs.back_to_pending(bound, BROKEN, now=NOW, not_before=0, counts=True))
    assert world.store.handoffs.cancel(pending, SAID_SO, now=NOW) is None


def test_a_cancel_read_before_the_rebind_is_refused(world: World) -> None:
    opened = world.handoff(Stage.OPENED)
    bound = sure(world.rebind(opened, now=NOW))
    assert world.store.handoffs.cancel(opened, SAID_SO, now=NOW) is None
    assert world.latest(bound) == bound


def test_a_cancel_needs_no_fence_for_it_is_the_persons_word(world: World) -> None:
    pending = world.requested()
    world.claim(pending)
    assert sure(world.store.handoffs.cancel(pending, SAID_SO, now=NOW)).state is State.CANCELLED


# --- expire


@pytest.mark.parametrize("stage", [*UNBOUND, Stage.BOUND])
def test_an_expired_handoff_returns_the_session(world: World, stage: Stage) -> None:
    handoff = world.handoff(stage)
    epoch = world.current().epoch
    expired = sure(world.store.handoffs.expire(handoff, LATE, now=handoff.deadline))
    assert (expired.state, expired.error) == (State.FAILED, LATE)
    session = world.current()
    assert session.active_handoff is None
    assert session.owner == cli_place("s-1")
    assert session.epoch == (epoch + 1 if handoff.is_bound else epoch)


def test_before_its_deadline_nothing_expires(world: World) -> None:
    for number, stage in enumerate([Stage.PENDING, Stage.OPENED, Stage.BOUND]):
        thread = Thread(Place("telegram", "1001", str(number)), "https://t.me")
        handoff = world.handoff(stage, world.session(f"s-{number}"), thread=thread)
        assert world.store.handoffs.expire(handoff, LATE, now=handoff.deadline - 1) is None
        assert world.latest(handoff) == handoff


def test_a_running_handoff_whose_lease_is_live_does_not_expire(world: World) -> None:
    handoff = world.requested(deadline=NOW + LEASE - 1)
    claimed = world.claim(handoff)
    assert world.store.handoffs.expire(claimed, LATE, now=NOW + LEASE - 1) is None
    assert world.store.handoffs.expire(claimed, LATE, now=NOW + LEASE) is not None


def test_a_handoff_claimed_since_the_read_does_not_expire(world: World) -> None:
    read = world.requested()
    claimed = world.claim(read)
    assert world.store.handoffs.expire(read, LATE, now=read.deadline + LEASE) is None
    assert world.latest(read) == claimed


def test_a_confirmed_handoff_never_expires(world: World) -> None:
    confirmed = world.handoff(Stage.CONFIRMED)
    assert world.store.handoffs.expire(confirmed, LATE, now=confirmed.deadline * 2) is None
    assert world.latest(confirmed) == confirmed


@pytest.mark.parametrize(("attempts", "expires"), [(MAX_ATTEMPTS - 2, False), (MAX_ATTEMPTS - 1, True)])
def test_out_of_attempts_a_handoff_expires_before_its_deadline(world: World, attempts: int, expires: bool) -> None:
    handoff = world.requested()
    for number in range(attempts):
        claimed = world.claim(handoff, f"p-{number}")
        handoff = sure(world.store.handoffs.back_to_pending(claimed, BROKEN, now=NOW, not_before=0, counts=True))
    assert handoff.attempt == attempts
    assert (world.store.handoffs.expire(handoff, LATE, now=NOW) is not None) is expires
