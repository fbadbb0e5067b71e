"""Transitions `back_to_pending`, `nudge` and `drive`, and the due index that the sweep reads."""

import pytest

from shared.domain.handoffs import Handoff, Reason, State, Thread
from shared.domain.routes import Place
from shared.ports.tables import Put, Table
from tests.contracts.store.world import BROKEN, DEADLINE, LEASE, NOW, Ending, Stage, World, sure
from tests.support.table_backends import Backend

SLOW_DOWN = Reason("rate_limited", "Wait 30 s.")
FAR = NOW + 10 * DEADLINE


def due(world: World, now: int, limit: int = 10) -> list[str]:
    return [handoff.id for handoff in world.store.handoffs.due(now=now, limit=limit)]


def test_a_retryable_error_counts_an_attempt(world: World) -> None:
    claimed = world.handoff(Stage.CLAIMED)
    again = sure(world.store.handoffs.back_to_pending(claimed, BROKEN, now=NOW + 1, not_before=NOW + 5, counts=True))
    assert again == world.latest(claimed)
    assert (again.state, again.attempt, again.error) == (State.PENDING, 1, BROKEN)
    assert (again.not_before, again.claimant, again.fence) == (NOW + 5, None, claimed.fence)
    assert world.current().active_handoff == claimed.id


def test_a_rate_limit_counts_no_attempt(world: World) -> None:
    claimed = world.handoff(Stage.CLAIMED)
    again = sure(
        world.store.handoffs.back_to_pending(claimed, SLOW_DOWN, now=NOW, not_before=NOW + 30_000, counts=False)
    )
    assert (again.attempt, again.not_before) == (0, NOW + 30_000)


def test_a_lost_fence_does_not_lead_back_to_pending(world: World) -> None:
    old = world.handoff(Stage.CLAIMED)
    sure(world.store.handoffs.back_to_pending(old, BROKEN, now=NOW, not_before=0, counts=True))
    current = world.claim(old, "p-2")
    assert world.store.handoffs.back_to_pending(old, BROKEN, now=NOW, not_before=0, counts=True) is None
    assert world.latest(old) == current


def test_a_pending_handoff_is_not_led_back_again(world: World) -> None:
    claimed = world.handoff(Stage.CLAIMED)
    once = sure(world.store.handoffs.back_to_pending(claimed, BROKEN, now=NOW, not_before=0, counts=True))
    assert world.store.handoffs.back_to_pending(claimed, BROKEN, now=NOW, not_before=0, counts=True) is None
    assert world.latest(claimed) == once


def test_a_bound_handoff_stays_bound_on_its_way_back(world: World) -> None:
    bound = world.handoff(Stage.BOUND)
    again = sure(world.store.handoffs.back_to_pending(bound, BROKEN, now=NOW, not_before=0, counts=True))
    assert (again.bound_epoch, again.thread) == (bound.bound_epoch, bound.thread)
    assert world.current().owner == sure(bound.thread).place


def test_one_sweep_of_two_nudges_a_pending_handoff(world: World) -> None:
    pending = world.requested()
    assert world.store.handoffs.nudge(pending, now=NOW)
    assert not world.store.handoffs.nudge(pending, now=NOW)
    assert world.latest(pending).nudges == pending.nudges + 1
    assert world.store.handoffs.nudge(world.latest(pending), now=NOW)


@pytest.mark.parametrize("stage", [stage for stage in Stage if stage is not Stage.PENDING])
def test_a_running_handoff_is_not_nudged(world: World, stage: Stage) -> None:
    handoff = world.handoff(stage)
    assert not world.store.handoffs.nudge(handoff, now=NOW)
    assert world.latest(handoff) == handoff


def test_one_of_two_sweeps_drives_a_confirmed_handoff(world: World) -> None:
    handoff = world.handoff(Stage.CONFIRMED)
    assert world.store.handoffs.drive(handoff, now=NOW)
    assert not world.store.handoffs.drive(handoff, now=NOW)
    assert world.latest(handoff).state is State.RUNNING
    assert world.store.handoffs.drive(world.latest(handoff), now=NOW)


@pytest.mark.parametrize("stage", [stage for stage in Stage if stage < Stage.CONFIRMED])
def test_before_its_kickoff_is_committed_a_handoff_is_not_driven(world: World, stage: Stage) -> None:
    handoff = world.handoff(stage)
    assert not world.store.handoffs.drive(handoff, now=NOW)
    assert world.latest(handoff) == handoff


# --- the due index


def test_a_pending_handoff_is_due_when_it_has_waited_and_not_before(world: World) -> None:
    pending = world.requested()
    assert due(world, NOW) == []
    assert due(world, NOW + 30_000) == [pending.id]


def test_a_nudged_handoff_is_due_again_later(world: World) -> None:
    pending = world.requested()
    world.store.handoffs.nudge(pending, now=NOW + 30_000)
    assert due(world, NOW + 59_999) == []
    assert due(world, NOW + 60_000) == [pending.id]


def test_a_running_handoff_is_due_when_its_lease_is_over(world: World) -> None:
    claimed = world.handoff(Stage.OPENED)
    assert due(world, NOW + LEASE - 1) == []
    assert due(world, NOW + LEASE) == [claimed.id]


def test_a_rate_limited_handoff_is_due_when_it_may_continue(world: World) -> None:
    claimed = world.handoff(Stage.CLAIMED)
    sure(world.store.handoffs.back_to_pending(claimed, SLOW_DOWN, now=NOW, not_before=NOW + 200_000, counts=False))
    assert due(world, NOW + 199_999) == []
    assert due(world, NOW + 200_000) == [claimed.id]


def test_a_handoff_is_due_at_its_deadline_at_the_latest(world: World) -> None:
    claimed = world.handoff(Stage.CLAIMED)
    sure(world.store.handoffs.back_to_pending(claimed, SLOW_DOWN, now=NOW, not_before=FAR, counts=False))
    assert due(world, NOW + DEADLINE) == [claimed.id]


@pytest.mark.parametrize("stage", [Stage.BOUND, Stage.CONFIRMED])
def test_after_the_move_a_handoff_is_due_at_its_deadline(world: World, stage: Stage) -> None:
    """Until then the offer of its kickoff is due, before it and after it is committed."""
    handoff = world.handoff(stage)
    assert due(world, NOW + DEADLINE - 1) == []
    assert due(world, NOW + DEADLINE) == [handoff.id]
    assert [offer.handoff_id for offer in world.store.turns.due(now=NOW + DEADLINE - 1, limit=5)] == [handoff.id]


def test_a_driven_handoff_is_due_again_later(world: World) -> None:
    confirmed = world.handoff(Stage.CONFIRMED)
    world.store.handoffs.drive(confirmed, now=NOW + DEADLINE)
    assert due(world, NOW + DEADLINE + 899_999) == []
    assert due(world, NOW + DEADLINE + 900_000) == [confirmed.id]


@pytest.mark.parametrize("ending", Ending, ids=lambda ending: ending.name.lower())
def test_an_ended_handoff_is_never_due(world: World, ending: Ending) -> None:
    world.ended(ending)
    assert due(world, FAR) == []


@pytest.mark.parametrize("ending", Ending, ids=lambda ending: ending.name.lower())
def test_an_ended_handoff_leaves_the_index_and_expires(world: World, backend: Backend, ending: Ending) -> None:
    def item(handoff: Handoff) -> dict[str, object]:
        return sure(backend.tables.get(Table.HANDOFFS, {"handoff_id": handoff.id}))

    open_one = item(world.handoff(Stage.PENDING, world.session("s-2")))
    ended = item(world.ended(ending))

    assert {"due_shard", "due_at"} <= open_one.keys()
    assert "expires_at" not in open_one, "what is open must not go"
    assert not {"due_shard", "due_at"} & ended.keys()
    assert ended["expires_at"] == NOW // 1000 + 30 * 24 * 3600


def many(world: World, count: int) -> list[Handoff]:
    handoffs = []
    for number in range(count):
        thread = Thread(Place("telegram", "1001", str(number)), "https://t.me")
        world.now = NOW + number * 1000
        handoffs.append(world.handoff(Stage.PENDING, world.session(f"s-{number}"), thread=thread))
    world.now = NOW
    return handoffs


def test_due_handoffs_come_in_order_from_all_shards(world: World) -> None:
    handoffs = many(world, 9)
    everything = due(world, FAR)
    assert everything == [handoff.id for handoff in handoffs]
    assert due(world, FAR, limit=4) == everything[:4]
    assert due(world, NOW + 30_000 + 2_000) == everything[:3]


def test_an_incomplete_item_does_not_hide_the_others(world: World, backend: Backend) -> None:
    backend.tables.put(Put(Table.HANDOFFS, {"handoff_id": "h-broken", "due_shard": 1, "due_at": 1}))
    pending = world.requested()
    assert due(world, FAR) == [pending.id]


# --- reading


def test_handoffs_are_listed_newest_first_and_only_ones_own(world: World) -> None:
    mine = many(world, 4)
    world.handoff(Stage.PENDING, world.session("s-eve", user_id="eve"))
    listed = world.store.handoffs.list("ada", session_id=None, state=None, limit=10)
    assert [handoff.id for handoff in listed] == [handoff.id for handoff in reversed(mine)]
    assert world.store.handoffs.list("bob", session_id=None, state=None, limit=10) == []


def test_the_list_by_state_pending_excludes_running_and_terminal(world: World) -> None:
    pending, running, failed = many(world, 3)
    world.claim(running)
    world.store.handoffs.fail(failed, BROKEN, now=NOW)

    def listed(state: str) -> list[str]:
        found = world.store.handoffs.list("ada", session_id=None, state=state, limit=10)
        return [handoff.id for handoff in found]

    assert [listed(state) for state in State] == [[pending.id], [running.id], [], [failed.id], []]


def test_the_list_by_session_honours_the_limit(world: World) -> None:
    ended = [world.ended(Ending.CANCELLED, world.session())]
    for second in range(1, 4):
        world.now = NOW + second * 1000
        ended.append(world.ended(Ending.CANCELLED, world.current()))
    world.handoff(Stage.PENDING, world.session("s-2"))
    listed = world.store.handoffs.list("ada", session_id="s-1", state=None, limit=3)
    assert [handoff.id for handoff in listed] == [handoff.id for handoff in reversed(ended)][:3]


def test_an_unknown_handoff_is_none(world: World) -> None:
    assert world.store.handoffs.get("h-404") is None
