"""Orders that end with a handoff: one session stored, one handoff requested, in the handoff's own transaction."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest

from shared.domain.handoffs import Handoff, State
from shared.domain.lists import LISTED_FOR, Entry, EntryKind, Listed
from shared.domain.orders import BRING, LEASE, Native, Order, OrderState, Void
from shared.domain.routes import Place, cli_place
from shared.domain.runners import Runner
from shared.domain.sessions import Session, new_session
from shared.errors import Conflict, HandoffInFlight
from shared.store.bundle import Store
from shared.store.inbox import InboxRow
from shared.store.orders import taken
from tests.contracts.store.schedules import Actor
from tests.contracts.store.schedules import every_order as in_every_order
from tests.contracts.store.test_orders import answer, revoke, stored, take, void
from tests.contracts.store.world import HOME, NOW, RUNS_ON, World, sure
from tests.support.table_backends import Backend

ID = "brought"


def to_bring(row: InboxRow, **changes: Any) -> Order:
    plain = Order(f"o-{row.event_id}", "ada", RUNS_ON.runner, BRING, "n-1", row.place, row.event_id, NOW, once="l-1 1")
    return replace(plain, **changes)


def native(**changes: Any) -> Session:
    return replace(new_session(ID, "ada", now=NOW), **{"runs_on": RUNS_ON, **changes})


def request(store: Store, order: Order, handoff_id: str = "h-1", *, session_id: str = ID) -> Handoff:
    """Request the order's handoff."""
    session = sure(store.sessions.get(session_id))
    handoff = Handoff(
        id=handoff_id if session_id == ID else f"{handoff_id}-{session_id}",
        session_id=session.id,
        user_id="ada",
        platform="telegram",
        target=HOME,
        origin=session.owner,
        request_epoch=session.epoch,
        body_hash="b",
        state=State.PENDING,
        deadline=NOW + 900_000,
        created_at=NOW,
        updated_at=NOW,
        command=order.row,
        asked_at=order.place,
    )
    return store.handoffs.request(handoff, now=NOW, order=order)


@pytest.fixture
def row(world: World) -> InboxRow:
    world.on_machine()  # registers the runner
    return world.row()


@pytest.fixture
def order(world: World, row: InboxRow) -> Order:
    made = world.store.orders.create(to_bring(row), row, None)
    return take(world, made)


@pytest.fixture
def made(world: World, order: Order) -> Order:
    """The order has stored its session."""
    assert world.store.orders.make(order, native(), is_new=True)
    return stored(world, order)


# --- make


def test_a_taken_order_stores_one_session(world: World, order: Order) -> None:
    assert world.store.orders.make(order, native(), is_new=True)
    assert stored(world, order).made == ID
    assert world.store.sessions.get(ID) == native()
    assert not world.store.orders.make(order, native(), is_new=True)
    assert world.store.orders.make(order, native(), is_new=False)
    assert not world.store.orders.make(order, replace(native(), id="another"), is_new=True)
    assert world.store.sessions.get("another") is None


ENDS: dict[str, Callable[[World, Order], object]] = {
    "is answered": answer,
    "is void": lambda world, order: void(world, order, Void.UNFINISHED, now=NOW + 200_000),
    "is taken again": lambda world, order: take(world, order, "c-2", now=NOW + LEASE),
    "lost its runner": lambda world, _: revoke(world),
}


@pytest.mark.parametrize("end", ENDS)
def test_an_order_that_is_over_stores_and_requests_nothing(world: World, made: Order, end: str) -> None:
    ENDS[end](world, made)
    assert not world.store.orders.make(made, native(), is_new=False)
    with pytest.raises(Conflict):
        request(world.store, made)
    assert world.store.handoffs.get("h-1") is None
    assert sure(world.store.sessions.get(ID)).active_handoff is None


@pytest.mark.parametrize("end", [end for end in ENDS if end != "lost its runner"])
def test_an_order_that_is_over_adds_no_messages(world: World, made: Order, end: str) -> None:
    said = [{"role": "user", "content": "hello"}]
    before = sure(world.store.sessions.get(ID))
    grown = world.store.transcripts.append(before, said, now=NOW, checks=[taken(made)])
    ENDS[end](world, made)
    with pytest.raises(Conflict):
        world.store.transcripts.append(grown, said, now=NOW, checks=[taken(made)])
    assert list(world.store.transcripts.load(ID)) == said


@pytest.mark.parametrize(
    "other",
    [
        native(user_id="bob"),
        native(owner=HOME),
        native(runs_on=replace(RUNS_ON, runner="other")),
        native(runs_on=None),
    ],
    ids=["another user's", "in a chat", "of another machine", "of no machine"],
)
def test_another_session_is_not_taken(world: World, order: Order, other: Session) -> None:
    assert world.store.sessions.create(other)
    assert not world.store.orders.make(order, other, is_new=False)
    assert stored(world, order).made == ""


# --- request


def test_the_handoff_and_the_end_of_the_order_are_one_write(world: World, made: Order) -> None:
    request(world.store, made)
    done = stored(world, made)
    assert (done.state, done.handoff_id) == (OrderState.DONE, "h-1")
    handoff = sure(world.store.handoffs.get("h-1"))
    assert (handoff.command, handoff.asked_at, handoff.command_place) == (made.row, made.place, made.place)
    assert sure(world.store.sessions.get(ID)).active_handoff == "h-1"


def test_an_order_requests_one_handoff(world: World, made: Order) -> None:
    request(world.store, made)
    with pytest.raises((Conflict, HandoffInFlight)):
        request(world.store, made, "h-2")
    assert world.store.handoffs.get("h-2") is None
    assert not world.store.orders.join(made, "h-2")


def test_a_handoff_for_another_session_than_the_stored_one_is_refused(world: World, order: Order) -> None:
    assert world.store.sessions.create(native())
    with pytest.raises(Conflict):
        request(world.store, order)
    assert world.store.handoffs.get("h-1") is None


def test_a_command_that_was_closed_requests_nothing(world: World, made: Order, row: InboxRow) -> None:
    world.store.inbox.close([row], by="dead letter")
    with pytest.raises(Conflict):
        request(world.store, made)
    assert stored(world, made).state is OrderState.TAKEN


def test_a_second_order_for_the_same_joins_the_first_handoff(world: World, made: Order) -> None:
    row = world.row("e-2")
    second = take(world, world.store.orders.create(to_bring(row), row, None), "c-2")
    request(world.store, made)
    assert world.store.orders.join(second, "h-1")
    assert (stored(world, second).state, stored(world, second).handoff_id) == (OrderState.DONE, "h-1")


NUMBERS = itertools.count()


@dataclass(frozen=True)
class Case:
    """Two orders for one entry of a list, both taken, with the same session stored."""

    world: World
    session_id: str
    first: Order
    second: Order


def a_case(world: World) -> Case:
    number = next(NUMBERS)
    session = native(owner=cli_place(f"m-{number}"))
    session = replace(session, id=f"m-{number}")
    orders = []
    for name in ("a", "b"):
        row = world.row(f"{number:04}{name}", place=Place("telegram", "1001", f"moving-{number}"))
        order = take(world, world.store.orders.create(to_bring(row), row, None), f"c-{name}")
        assert world.store.orders.make(order, session, is_new=name == "a")
        orders.append(stored(world, order))
    return Case(world, session.id, *orders)


def requests(case: Case, order: Order, handoff_id: str) -> Actor:
    return lambda store: request(store, order, handoff_id, session_id=case.session_id)


def test_two_orders_or_processes_lead_to_one_handoff_in_every_order(
    world: World, backend: Backend, row: InboxRow
) -> None:
    assert row
    schedules = partial(in_every_order, backend.tables, lambda: a_case(world))
    for case, _, _ in schedules(lambda case: (requests(case, case.first, "x"), requests(case, case.second, "y"))):
        found = [one for one in ("x", "y") if world.store.handoffs.get(f"{one}-{case.session_id}")]
        ended = [one for one in (case.first, case.second) if stored(world, one).state is OrderState.DONE]
        assert len(found) == len(ended) == 1
        assert stored(world, ended[0]).handoff_id == f"{found[0]}-{case.session_id}"


def test_an_order_that_becomes_void_requests_nothing_or_all_in_every_order(
    world: World, backend: Backend, row: InboxRow
) -> None:
    assert row
    schedules = partial(in_every_order, backend.tables, lambda: a_case(world))

    def both(case: Case) -> tuple[Actor, Actor]:
        late = NOW + 200_000
        return requests(case, case.first, "x"), lambda store: store.orders.void(
            case.first, Void.UNFINISHED, [], now=late
        )

    for case, _, was_voided in schedules(both):
        is_requested = world.store.handoffs.get(f"x-{case.session_id}") is not None
        assert stored(world, case.first).state is (OrderState.DONE if is_requested else OrderState.VOID)
        assert was_voided is not is_requested


# --- answers with sessions, lists


def test_listed_sessions_are_kept_with_the_order(world: World, order: Order) -> None:
    listed = [
        Native("n-1", "A title", "shop", "codex", 60, None, ""),
        Native("n-2", "", "shop", "codex", 0, True, "s-1"),
    ]
    assert answer(world, order, listed=listed, said="only the newest 10", is_refused=True)
    done = stored(world, order)
    assert (list(done.listed), done.said, done.is_refused) == (listed, "only the newest 10", True)


def test_the_newest_list_of_a_place_wins(world: World) -> None:
    entries = (Entry(EntryKind.NATIVE, "n-1", "laptop", "codex", "A title", "now"), Entry(EntryKind.MODEL))
    first = Listed("l-1", "ada", HOME, NOW, entries)
    assert world.store.lists.put(first)
    assert world.store.lists.put(first)
    assert world.store.lists.at("ada", HOME) == first
    second = replace(first, id="l-2", created_at=NOW + 1, entries=entries[:1])
    assert world.store.lists.put(second)
    assert not world.store.lists.put(first)
    assert world.store.lists.at("ada", HOME) == second
    assert world.store.lists.at("bob", HOME) is None
    assert second.may_be_chosen(NOW + LISTED_FOR)
    assert not second.may_be_chosen(NOW + 1 + LISTED_FOR)


def test_a_runner_keeps_the_labels_of_its_projects(world: World) -> None:
    runner = Runner("laptop", "ada", "laptop", projects=("shop", "site"))
    assert world.store.runners.register(runner)
    assert sure(world.store.runners.get("ada", "laptop")).projects == ("shop", "site")
