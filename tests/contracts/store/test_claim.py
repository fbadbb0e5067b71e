"""Transitions `claim` and `step` of a handoff: one claimant, a fence and a lease."""

import pytest

from shared.domain.handoffs import Handoff, State, Step, Thread
from shared.domain.routes import Place
from tests.contracts.store.world import BROKEN, HOME, LEASE, NOW, THREAD, Ending, Stage, World, sure
from tests.support.table_backends import FAILED_ITEM, Backend


def claim(world: World, handoff: Handoff, claimant: str = "p-2", *, now: int = NOW) -> Handoff | None:
    return world.store.handoffs.claim(handoff.id, claimant=claimant, now=now, lease_until=now + LEASE)


def test_a_claim_makes_it_running_with_a_fence_and_a_lease(world: World) -> None:
    pending = world.requested()
    claimed = sure(claim(world, pending, now=NOW + 3))
    assert claimed == world.latest(pending)
    assert (claimed.state, claimed.fence, claimed.claimant) == (State.RUNNING, 1, "p-2")
    assert claimed.lease_until == NOW + 3 + LEASE
    assert claimed.steps[Step.CLAIMED] == NOW + 3


def test_a_second_claim_loses_and_changes_nothing(world: World) -> None:
    claimed = world.handoff(Stage.CLAIMED)
    assert claim(world, claimed) is None
    assert world.latest(claimed) == claimed


def test_a_second_claim_fails_even_after_the_lease(world: World) -> None:
    claimed = world.handoff(Stage.CLAIMED)
    assert claim(world, claimed, now=NOW + LEASE + 1) is None


def test_a_repeated_claim_keeps_its_fence(world: World, backend: Backend) -> None:
    backend.needs(FAILED_ITEM)
    claimed = world.handoff(Stage.CLAIMED)
    again = sure(claim(world, claimed, "p-1", now=NOW + 5))
    assert again == claimed


def test_an_earlier_claimant_does_not_win_by_its_name(world: World) -> None:
    claimed = world.handoff(Stage.CLAIMED)
    world.store.handoffs.back_to_pending(claimed, BROKEN, now=NOW, not_before=0, counts=True)
    sure(claim(world, claimed, "p-2"))
    assert claim(world, claimed, "p-1") is None


@pytest.mark.parametrize(("after", "wins"), [(-1, False), (0, True), (1, True)])
def test_nothing_is_claimed_before_its_time(world: World, after: int, wins: bool) -> None:
    handoff = world.requested(not_before=NOW + 1000)
    assert (claim(world, handoff, now=NOW + 1000 + after) is not None) is wins


@pytest.mark.parametrize(("after", "wins"), [(-1, True), (0, False), (1, False)])
def test_nothing_is_claimed_at_or_past_its_deadline(world: World, after: int, wins: bool) -> None:
    handoff = world.requested()
    assert (claim(world, handoff, now=handoff.deadline + after) is not None) is wins


@pytest.mark.parametrize("ending", Ending)
def test_what_has_ended_is_never_claimed(world: World, ending: Ending) -> None:
    ended = world.ended(ending)
    assert claim(world, ended) is None
    assert claim(world, ended, "p-1") is None
    assert world.latest(ended) == ended


def test_an_unknown_handoff_is_not_claimed(world: World) -> None:
    assert world.store.handoffs.claim("h-404", claimant="p", now=NOW, lease_until=NOW + 1) is None
    assert world.store.handoffs.get("h-404") is None


def test_each_claim_takes_a_higher_fence(world: World) -> None:
    first = world.handoff(Stage.CLAIMED)
    sure(world.store.handoffs.back_to_pending(first, BROKEN, now=NOW, not_before=0, counts=True))
    second = sure(claim(world, first, now=NOW + 9))
    assert second.fence == first.fence + 1
    assert second.steps[Step.CLAIMED] == NOW


def taken_over(world: World, stage: Stage) -> tuple[Handoff, Handoff]:
    """A handoff as a frozen claimant remembers it, and as its successor holds it."""
    old = world.handoff(stage)
    sure(world.store.handoffs.back_to_pending(old, BROKEN, now=NOW + LEASE, not_before=0, counts=True))
    return old, sure(claim(world, old, now=NOW + LEASE))


def test_a_step_is_journalled_once_with_its_first_time(world: World) -> None:
    claimed = world.handoff(Stage.CLAIMED)
    once = sure(world.store.handoffs.step(claimed, Step.OPENING_THREAD, now=NOW + 1))
    twice = sure(world.store.handoffs.step(once, Step.OPENING_THREAD, now=NOW + 2))
    assert once.steps[Step.OPENING_THREAD] == twice.steps[Step.OPENING_THREAD] == NOW + 1
    assert twice == world.latest(claimed)


def test_the_thread_and_the_notice_are_stored(world: World) -> None:
    claimed = world.handoff(Stage.CLAIMED)
    here = Thread(HOME, "https://t.me/c/1001")
    sure(world.store.handoffs.step(claimed, Step.THREAD_OPENED, now=NOW, thread=here, notice="No topics here."))
    sure(world.store.handoffs.back_to_pending(claimed, BROKEN, now=NOW, not_before=0, counts=True))

    successor = sure(claim(world, claimed))

    assert successor.thread == here
    assert successor.notice == "No topics here."
    assert successor.has_done(Step.THREAD_OPENED)


def test_a_step_with_an_old_fence_is_refused(world: World) -> None:
    old, current = taken_over(world, Stage.CLAIMED)
    orphan = Thread(Place("telegram", "1001", "99"), "https://t.me/c/1001/99")
    assert world.store.handoffs.step(old, Step.THREAD_OPENED, now=NOW, thread=orphan) is None
    assert world.latest(current) == current


def test_a_step_is_refused_while_the_handoff_is_back_to_pending(world: World) -> None:
    claimed = world.handoff(Stage.CLAIMED)
    pending = sure(world.store.handoffs.back_to_pending(claimed, BROKEN, now=NOW, not_before=0, counts=True))
    assert world.store.handoffs.step(claimed, Step.THREAD_OPENED, now=NOW, thread=THREAD) is None
    assert world.latest(claimed) == pending
