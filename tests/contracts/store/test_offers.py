"""Offers of turns: read in order, kept until they are settled, due for the sweep, nudged by one of several."""

from dataclasses import replace

import pytest

from shared.domain.offers import Offer
from shared.domain.sessions import Session
from shared.ports.tables import Put, Table
from tests.contracts.store.world import NOW, THREAD, Ending, Stage, World, sure
from tests.support.table_backends import Backend

FIRST_LOOK = 30_000
FAR = NOW + 10**9


def over(world: World, turn_id: str, at: int) -> Offer:
    """The offer of a turn that was committed."""
    world.now = at
    session = world.start_turn(world.current(), turn_id)
    world.store.turns.commit(world.turn_commit(session), now=at)
    return sure(world.store.turns.get("s-1", turn_id))


def unsettled(world: World, session_id: str = "s-1") -> list[str]:
    return [offer.id for offer in world.store.turns.unsettled(session_id)]


def due(world: World, now: int, limit: int = 20) -> list[str]:
    return [offer.id for offer in world.store.turns.due(now=now, limit=limit)]


def test_offers_come_in_the_order_in_which_they_were_made(world: World) -> None:
    world.session()
    over(world, "t-z", NOW + 1)
    over(world, "t-m", NOW + 2)
    over(world, "t-a", NOW + 3)
    world.offer(world.current(), "t-b")
    assert unsettled(world) == ["t-z", "t-m", "t-a", "t-b"]


def test_offers_of_another_session_are_not_among_them(world: World) -> None:
    world.offer(world.session("s-1"))
    world.offer(world.session("s-10"), "t-2")
    assert unsettled(world) == ["t-1"]
    assert unsettled(world, "s-10") == ["t-2"]
    assert unsettled(world, "s-404") == []


def test_an_unknown_offer_is_none(world: World) -> None:
    world.offer(world.session())
    assert world.store.turns.get("s-1", "t") is None
    assert world.store.turns.get("s-404", "t-1") is None


def test_a_kickoffs_offer_names_its_handoff_and_its_journal(world: World) -> None:
    bound = world.handoff(Stage.BOUND)
    (offer,) = world.store.turns.unsettled("s-1")
    assert (offer.handoff_id, offer.place, offer.epoch, offer.rows) == (bound.id, THREAD.place, 1, ())
    assert offer.journal == bound.kickoff_turn
    assert offer.id == sure(world.current().turn).id


def test_a_settled_offer_is_removed_and_the_others_stay(world: World) -> None:
    world.session()
    first, second = over(world, "t-1", NOW + 1), over(world, "t-2", NOW + 2)
    world.store.turns.settled(first)
    world.store.turns.settled(first)
    assert unsettled(world) == ["t-2"]
    assert due(world, FAR) == [second.id]


def test_a_deleted_session_leaves_no_offers(world: World, backend: Backend) -> None:
    world.session()
    over(world, "t-1", NOW)
    world.offer(world.current(), "t-2")
    world.store.sessions.delete(world.current())
    assert unsettled(world) == []
    assert due(world, FAR) == []
    assert backend.scan(Table.SESSIONS) == []


# --- due


@pytest.mark.parametrize("claimed", [False, True])
def test_an_offer_is_due_when_most_turns_are_settled(world: World, claimed: bool) -> None:
    session = world.offer(world.session())
    if claimed:
        world.claim_turn(session)
    assert due(world, NOW + FIRST_LOOK - 1) == []
    assert due(world, NOW + FIRST_LOOK) == ["t-1"]


def test_a_kickoffs_offer_is_due_like_any_other(world: World) -> None:
    bound = world.handoff(Stage.BOUND)
    assert due(world, NOW + FIRST_LOOK - 1) == []
    (offer,) = world.store.turns.due(now=NOW + FIRST_LOOK, limit=5)
    assert offer.handoff_id == bound.id


def test_a_turn_that_is_over_is_due_until_it_is_settled(world: World) -> None:
    world.session()
    offer = over(world, "t-1", NOW)
    assert due(world, NOW + FIRST_LOOK) == ["t-1"]
    world.store.turns.settled(offer)
    assert due(world, FAR) == []


def test_due_offers_come_in_order_from_all_shards(world: World) -> None:
    for number in range(9):
        world.now = NOW + number * 1000
        world.offer(world.session(f"s-{number}"), f"t-{9 - number}")
    everything = [f"t-{9 - number}" for number in range(9)]
    assert due(world, FAR) == everything
    assert due(world, FAR, limit=4) == everything[:4]
    assert due(world, NOW + FIRST_LOOK + 2000) == everything[:3]


def test_handoffs_are_not_due_as_offers(world: World) -> None:
    world.requested()
    assert due(world, FAR) == []
    assert [handoff.id for handoff in world.store.handoffs.due(now=FAR, limit=5)] == ["h-1"]


def test_an_incomplete_item_does_not_hide_the_others(world: World, backend: Backend) -> None:
    broken = {"pk": "SESSION#s-1", "sk": "RT#t-0", "due_shard": 1, "due_at": 1}
    other_kind = {"pk": "SESSION#s-1", "sk": "Q#t-0#1#1", "due_shard": 2, "due_at": 1, "route": THREAD.place.route}
    world.offer(world.session())
    for item in (broken, other_kind):
        backend.tables.put(Put(Table.SESSIONS, item))
    assert due(world, FAR) == ["t-1"]
    assert unsettled(world) == ["t-1"]


def test_an_offer_of_a_newer_version_is_left_to_that_version(world: World, backend: Backend) -> None:
    world.offer(world.session())
    (item,) = [item for item in backend.scan(Table.SESSIONS) if item["sk"] == "RT#t-1"]
    backend.tables.put(Put(Table.SESSIONS, {**item, "v": 99}))
    assert due(world, FAR) == []
    assert unsettled(world) == []
    assert world.store.turns.get("s-1", "t-1") is None


def test_an_offer_with_the_keys_only_is_read(world: World, backend: Backend) -> None:
    """An item of another release: what this one does not find in it has a default."""
    world.session()
    item = {
        "pk": "SESSION#s-1",
        "sk": "RT#t-1",
        "route": "telegram:1001",
        "due_shard": 0,
        "due_at": NOW,
        "new": {"x": 1},
    }
    backend.tables.put(Put(Table.SESSIONS, item))
    (offer,) = world.store.turns.due(now=NOW, limit=5)
    assert offer == Offer("t-1", "s-1", "", THREAD.place.home, 0, 0)


# --- postpone and nudge


def offered(world: World) -> tuple[Session, Offer]:
    session = world.offer(world.session())
    return session, sure(world.store.turns.get("s-1", "t-1"))


def test_a_postponed_offer_is_due_later_and_counts_no_nudge(world: World) -> None:
    _, offer = offered(world)
    assert world.store.turns.postpone(offer, until=NOW + 90_000)
    assert due(world, NOW + 89_999) == []
    assert due(world, NOW + 90_000) == ["t-1"]
    assert world.store.turns.get("s-1", "t-1") == offer


def test_an_offer_that_is_settled_is_not_postponed_into_existence(world: World, backend: Backend) -> None:
    _, offer = offered(world)
    world.store.turns.settled(offer)
    assert not world.store.turns.postpone(offer, until=FAR)
    assert not world.store.turns.postpone(offer, until=FAR, nudged_fence=0)
    assert world.store.turns.get("s-1", "t-1") is None
    assert [item["sk"] for item in backend.scan(Table.SESSIONS)] == ["META"]


def test_one_of_two_sweeps_nudges_an_offer(world: World) -> None:
    _, offer = offered(world)
    assert world.store.turns.postpone(offer, until=NOW + 60_000, nudged_fence=0)
    assert not world.store.turns.postpone(offer, until=FAR, nudged_fence=0)
    nudged = sure(world.store.turns.get("s-1", "t-1"))
    assert nudged == replace(offer, nudges=1, nudged_fence=0)
    assert due(world, NOW + 60_000) == ["t-1"]

    assert world.store.turns.postpone(nudged, until=NOW + 120_000, nudged_fence=0)
    assert not world.store.turns.postpone(nudged, until=FAR, nudged_fence=0)
    assert sure(world.store.turns.get("s-1", "t-1")).nudges == 2


@pytest.mark.parametrize("fence", [-1, 1])
def test_one_of_two_sweeps_nudges_at_a_new_fence(world: World, fence: int) -> None:
    """The count starts again with each claim, so the same number alone does not tell that another sweep was there."""
    _, offer = offered(world)
    assert world.store.turns.postpone(offer, until=NOW, nudged_fence=0)
    read = sure(world.store.turns.get("s-1", "t-1"))
    assert world.store.turns.postpone(read, until=NOW + 60_000, nudged_fence=fence)
    assert not world.store.turns.postpone(read, until=FAR, nudged_fence=fence)
    again = sure(world.store.turns.get("s-1", "t-1"))
    assert (again.nudges, again.nudged_fence, again.nudges_at(fence), again.nudges_at(0)) == (1, fence, 1, 0)
    assert due(world, NOW + 60_000) == ["t-1"]


def test_an_ended_handoff_leaves_the_offer_of_its_kickoff_to_be_settled(world: World) -> None:
    world.handoff(Stage.BOUND)
    world.store.moves.to_terminal(world.current(), now=NOW)
    (offer,) = world.store.turns.unsettled("s-1")
    assert due(world, NOW + FIRST_LOOK) == [offer.id]
    world.settle()
    assert due(world, FAR) == []


def test_a_settled_handoff_leaves_no_offer(world: World) -> None:
    world.ended(Ending.COMPLETED)
    assert unsettled(world) == []
    assert due(world, FAR) == []
