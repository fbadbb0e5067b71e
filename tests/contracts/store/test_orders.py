"""Orders: made once by their command, taken by one process at a time, and done or void, once."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest

from shared.domain.orders import LEASE, LONGEST, OPEN_FOR, TAKES, Choice, Order, OrderState, Void
from shared.domain.routes import Place, notices_at
from shared.domain.runners import Runner
from shared.domain.sessions import Session
from shared.errors import Conflict
from shared.ports.platforms import Part
from shared.ports.tables import Put, Table, Update
from shared.store.bundle import Store
from shared.store.inbox import InboxRow
from shared.store.outbox import OutPart
from shared.use_cases.retry import on_conflict
from tests.contracts.store.schedules import Actor
from tests.contracts.store.schedules import every_order as in_every_order
from tests.contracts.store.world import NOW, RUNS_ON, THREAD, World, sure
from tests.support.table_backends import Backend

LATER = NOW + LEASE


def made(session: Session, row: InboxRow, **changes: Any) -> Order:
    """An order that is not stored yet."""
    plain = Order(
        f"o-{row.event_id}",
        "ada",
        RUNS_ON.runner,
        "model",
        "opus",
        row.place,
        row.event_id,
        NOW,
        session_id=session.id,
        epoch=session.epoch,
        agent=RUNS_ON.agent,
        native_id=RUNS_ON.native_id,
    )
    return replace(plain, **changes)


def said(order: Order, text: str = "Model: opus") -> list[OutPart]:
    return [OutPart(notices_at(order.place), order.journal, 0, order.place, Part(text))]


def told(world: World, order: Order) -> list[str]:
    """What the person is told of the order."""
    return [part.part.text for part in world.store.outbox.journal(notices_at(order.place), order.journal)]


def answer(world: World, order: Order, digest: str = "d-1", **more: Any) -> bool:
    return world.store.orders.answer(order, digest, said(order), now=NOW, **more)


def void(world: World, order: Order, why: Void, *, now: int = NOW) -> bool:
    return world.store.orders.void(order, why, said(order, why.value), now=now)


def take(world: World, order: Order, claim_id: str = "c-1", *, now: int = NOW) -> Order:
    return world.store.orders.take(order, claim_id=claim_id, now=now)


def stored(world: World, order: Order) -> Order:
    return sure(world.store.orders.get(order.user_id, order.runner_id, order.id))


@pytest.fixture
def session(world: World) -> Session:
    return world.on_machine()


@pytest.fixture
def row(world: World) -> InboxRow:
    return world.row()


@pytest.fixture
def order(world: World, session: Session, row: InboxRow) -> Order:
    return world.store.orders.create(made(session, row), row, session)


@pytest.fixture
def taken(world: World, order: Order) -> Order:
    return take(world, order)


LEAVES: dict[str, Callable[[World], object]] = {
    "moves to the terminal": lambda world: world.store.moves.to_terminal(world.current(), now=NOW),
    "moves away and comes back": lambda world: world.store.moves.to_chat(
        world.store.moves.to_terminal(world.current(), now=NOW), THREAD.place, "https://t.me/1", now=NOW
    ),
    "is deleted": lambda world: world.store.sessions.delete(world.current()),
    "runs on another machine": lambda world: world.store.sessions.replace(
        world.current(), replace(world.current(), runs_on=replace(RUNS_ON, runner="other"))
    ),
}


def revoke(world: World) -> None:
    assert world.store.runners.revoke(Runner(RUNS_ON.runner, "ada", ""))


# --- create


def test_an_order_is_made_once(world: World, session: Session, row: InboxRow, order: Order) -> None:
    assert stored(world, order) == order == made(session, row)
    assert list(world.store.orders.of("ada", RUNS_ON.runner)) == [order]
    again = world.store.orders.create(made(session, row, argument="haiku", created_at=NOW + 5), row, session)
    assert again == order
    assert take(world, order) == world.store.orders.create(made(session, row), row, session)


def test_a_command_that_was_closed_makes_no_order(world: World, session: Session, row: InboxRow) -> None:
    world.store.inbox.close([row], by="stopped")
    with pytest.raises(Conflict):
        world.store.orders.create(made(session, row), row, session)
    assert world.store.orders.of("ada", RUNS_ON.runner) == []


def test_a_revoked_or_unknown_runner_gets_no_order(world: World, session: Session, row: InboxRow) -> None:
    with pytest.raises(Conflict):
        world.store.orders.create(made(session, row, runner_id="unknown"), row, session)
    revoke(world)
    with pytest.raises(Conflict):
        world.store.orders.create(made(session, row), row, session)
    assert world.store.orders.of("ada", RUNS_ON.runner) == []


@pytest.mark.parametrize("leave", [name for name in LEAVES if name != "is deleted"])
def test_a_session_that_has_left_gets_no_order(world: World, session: Session, row: InboxRow, leave: str) -> None:
    LEAVES[leave](world)
    with pytest.raises(Conflict):
        world.store.orders.create(made(session, row), row, session)


def test_a_session_of_another_user_gets_no_order(world: World, row: InboxRow) -> None:
    session = world.on_machine()
    assert world.store.runners.register(Runner(RUNS_ON.runner, "eve", "eve's"))
    with pytest.raises(Conflict):
        world.store.orders.create(made(session, row, user_id="eve"), row, session)


# --- poll


def test_orders_are_found_in_the_order_in_which_they_were_made(world: World, session: Session) -> None:
    """The newest choice of a person must be the last that the machine sets."""
    names = ("9", "1", "5")
    for age, name in enumerate(names):
        row = world.row(f"e-{age}")
        world.store.orders.create(made(session, row, id=name, created_at=NOW + age), row, session)
    assert [order.id for order in world.store.orders.of("ada", RUNS_ON.runner)] == list(names)
    assert [order.id for order in world.store.runners.waiting("ada", RUNS_ON.runner)[1]] == list(names)


def test_one_query_finds_turns_and_orders(world: World, order: Order) -> None:
    world.machine_offer(world.current())
    pointers, orders = world.store.runners.waiting("ada", RUNS_ON.runner)
    assert [pointer.turn_id for pointer in pointers] == ["t-1"]
    assert list(orders) == [order]
    assert [pointer.turn_id for pointer in world.store.runners.waiting("ada", RUNS_ON.runner)[0]] == ["t-1"]
    assert world.store.runners.waiting("ada", "lap") == world.store.runners.waiting("eve", RUNS_ON.runner) == ([], [])


# --- take


def test_an_order_is_taken_by_one_process(world: World, order: Order) -> None:
    mine = take(world, order)
    assert mine == stored(world, order)
    assert (mine.state, mine.fence, mine.claim_id) == (OrderState.TAKEN, 1, "c-1")
    assert (mine.taken_at, mine.lease_until) == (NOW, NOW + LEASE)
    for known in (order, mine):
        with pytest.raises(Conflict):
            take(world, known, "c-2")
    assert stored(world, order) == mine


def test_a_repeated_take_gets_the_same_answer(world: World, order: Order) -> None:
    mine = take(world, order)
    assert take(world, order, now=NOW + 5) == mine


@pytest.mark.parametrize(("after", "is_taken"), [(OPEN_FOR - 1, True), (OPEN_FOR, False)])
def test_an_order_is_taken_or_expires(world: World, order: Order, after: int, is_taken: bool) -> None:
    now = NOW + after
    if is_taken:
        assert take(world, order, now=now).state is OrderState.TAKEN
    else:
        with pytest.raises(Conflict):
            take(world, order, now=now)
    assert void(world, order, Void.UNTAKEN, now=now) is not is_taken
    assert order.may_be_taken(now) is is_taken
    assert (order.overdue(now) is None) is is_taken


def test_an_order_whose_process_died_is_taken_again_a_few_times(world: World, order: Order) -> None:
    current, now = order, NOW
    for fence in range(1, TAKES + 1):
        current = take(world, current, f"c-{fence}", now=now)
        assert (current.fence, current.taken_at) == (fence, NOW)
        assert not void(world, current, Void.UNFINISHED, now=now + LEASE - 1)
        now += LEASE
    assert not current.may_be_taken(now)
    with pytest.raises(Conflict):
        take(world, current, "c-9", now=now)
    assert current.overdue(now) is Void.UNFINISHED
    assert void(world, current, Void.UNFINISHED, now=now)


def test_an_order_is_not_taken_again_while_it_is_renewed(world: World, taken: Order) -> None:
    assert world.store.orders.renew(taken, fence=1, now=NOW + LEASE - 1)
    with pytest.raises(Conflict):
        take(world, taken, "c-2", now=LATER)
    second = take(world, stored(world, taken), "c-2", now=LATER + LEASE)
    assert not world.store.orders.renew(taken, fence=1, now=LATER + LEASE)
    assert stored(world, taken) == second


@pytest.mark.parametrize("leave", LEAVES)
def test_an_order_is_not_taken_after_its_session_has_left(world: World, order: Order, leave: str) -> None:
    LEAVES[leave](world)
    with pytest.raises(Conflict):
        take(world, order)


def test_a_revoked_runner_takes_and_answers_nothing(world: World, order: Order) -> None:
    mine = take(world, order)
    revoke(world)
    assert not answer(world, mine)
    with pytest.raises(Conflict):
        take(world, mine, "c-2", now=LATER)
    assert void(world, mine, Void.REVOKED)
    assert told(world, order) == ["revoked"]


# --- answer


def test_an_answer_ends_the_order_with_what_the_person_is_told(world: World, taken: Order) -> None:
    choices = [Choice("opus", "Opus", "the large one"), Choice("haiku", "Haiku")]
    before = world.current()
    assert answer(world, taken, choices=choices, keeps="opus", session=before)
    done = stored(world, taken)
    assert (done.state, done.digest, list(done.choices)) == (OrderState.DONE, "d-1", choices)
    assert told(world, taken) == ["Model: opus"]
    after = world.current()
    assert (after.dials, after.version) == ({"model": "opus"}, before.version + 1)
    assert after.chosen == {"model": taken.moment}


def test_an_order_is_answered_once(world: World, taken: Order) -> None:
    assert answer(world, taken)
    assert not answer(world, taken, "d-2")
    assert not answer(world, taken)
    assert not void(world, taken, Void.UNFINISHED, now=NOW + LONGEST)
    assert (stored(world, taken).digest, told(world, taken)) == ("d-1", ["Model: opus"])


def test_an_order_is_answered_after_its_lease_unless_it_was_taken_again(world: World, taken: Order) -> None:
    second = take(world, taken, "c-2", now=LATER)
    assert not answer(world, taken)
    assert told(world, taken) == []
    assert answer(world, second)


def test_an_order_that_was_never_taken_is_not_answered(world: World, order: Order) -> None:
    assert not answer(world, order)
    assert told(world, order) == []


@pytest.mark.parametrize("leave", LEAVES)
def test_a_session_that_has_left_keeps_nothing(world: World, session: Session, taken: Order, leave: str) -> None:
    LEAVES[leave](world)
    found = world.store.sessions.get("s-1")
    assert not answer(world, taken, keeps="opus", session=found or session)
    found = world.store.sessions.get("s-1")
    assert found is None or found.dials == {}
    assert told(world, taken) == []
    if found is not None:
        assert void(world, taken, Void.MOVED)


# --- void


@pytest.mark.parametrize("why", Void)
def test_an_order_that_may_be_done_is_not_void(world: World, order: Order, why: Void) -> None:
    for each in (order, take(world, order)):
        assert not void(world, each, why)
    assert told(world, order) == []


def test_an_order_that_takes_too_long_is_void_though_it_is_renewed(world: World, taken: Order) -> None:
    assert world.store.orders.renew(taken, fence=1, now=NOW + LONGEST - 1)
    assert not void(world, taken, Void.UNFINISHED, now=NOW + LONGEST - 1)
    assert void(world, taken, Void.UNFINISHED, now=NOW + LONGEST)
    assert stored(world, taken).state is OrderState.VOID
    assert not answer(world, taken)
    assert not world.store.orders.renew(taken, fence=1, now=NOW + LONGEST)
    assert told(world, taken) == ["unfinished"]


@pytest.mark.parametrize("is_taken", [False, True])
def test_an_order_is_void_once(world: World, order: Order, is_taken: bool) -> None:
    current = take(world, order) if is_taken else order
    LEAVES["moves to the terminal"](world)
    assert [void(world, current, Void.MOVED) for _ in range(2)] == [True, False]
    revoke(world)
    assert not void(world, current, Void.REVOKED)
    with pytest.raises(Conflict):
        take(world, stored(world, order), "c-2", now=LATER)
    assert told(world, order) == ["moved"]


# --- what is left


def test_an_order_is_gone_with_its_session_and_after_a_day(world: World, taken: Order, backend: Backend) -> None:
    (item,) = [item for item in backend.scan(Table.SESSIONS) if item["sk"].startswith("ORDER#")]
    assert item["expires_at"] == NOW // 1000 + 24 * 3600
    world.store.sessions.delete(world.current())
    assert [item["sk"] for item in backend.scan(Table.SESSIONS)] == ["RUNNER#laptop"]
    assert taken


def test_an_order_is_gone_with_its_user(world: World, backend: Backend) -> None:
    world.runner()
    row = world.row()
    alone = replace(made(world.session(), row), session_id="", epoch=0)
    world.store.orders.create(alone, row, None)
    world.store.accounts.forget("ada")
    left = {item["pk"].partition("#")[0] for item in backend.scan(Table.SESSIONS)}
    assert left == {"SESSION", "INBOX"}, "these go before"


def test_other_sessions_orders_stay(world: World, order: Order) -> None:
    world.store.sessions.delete(world.session("s-2"))
    assert stored(world, order) == order


@pytest.mark.parametrize(
    "change", [{"state": "new"}, {"v": 99}, {"taken_at": "soon"}, {"lease_until": None}, {"fence": "x"}, {"choices": 1}]
)
def test_an_order_of_another_version_hides_no_others(
    world: World, session: Session, order: Order, backend: Backend, change: dict[str, Any]
) -> None:
    second = world.row("0002")
    other = world.store.orders.create(made(session, second), second, session)
    key = {"pk": f"RUNNER#ada/{RUNS_ON.runner}", "sk": f"ORDER#{order.id}"}
    backend.tables.update(Update(Table.SESSIONS, key, [], set=change))
    assert other in world.store.orders.of("ada", RUNS_ON.runner)
    read = stored(world, order)
    assert (read.state is OrderState.UNKNOWN) == ("state" in change or "v" in change)
    if read.state is OrderState.UNKNOWN:
        assert not read.is_open
        assert not void(world, read, Void.UNTAKEN, now=NOW + OPEN_FOR)


def test_an_order_that_names_no_place_is_passed_over(world: World, backend: Backend) -> None:
    backend.tables.put(Put(Table.SESSIONS, {"pk": "RUNNER#ada/laptop", "sk": "ORDER#o-1"}))
    assert world.store.orders.of("ada", "laptop") == []
    assert world.store.orders.get("ada", "laptop", "o-1") is None


# --- two processes at one order, interleaved at every call

NUMBERS = itertools.count()


@dataclass
class Case:
    """An order that was made, of a session of its own."""

    world: World
    session: Session
    order: Order

    @property
    def told(self) -> list[str]:
        return told(self.world, self.order)

    @property
    def current(self) -> Order:
        return stored(self.world, self.order)


EveryOrder = Callable[[Callable[[Case], tuple[Actor, Actor]]], Iterator[tuple[Case, Any, Any]]]


@pytest.fixture
def every_order(world: World, backend: Backend) -> EveryOrder:
    def case() -> Case:
        number = next(NUMBERS)
        place = Place("telegram", "1001", f"order-{number}")
        session, row = world.on_machine(f"m-{number}", place), world.row(f"{number:04}", place=place)
        return Case(world, session, world.store.orders.create(made(session, row), row, session))

    return partial(in_every_order, backend.tables, case)


def read_order(store: Store, case: Case) -> Order:
    return sure(store.orders.get("ada", RUNS_ON.runner, case.order.id))


def worker(case: Case, claim_id: str, *, now: int = NOW) -> Actor:
    """Takes the order and answers it."""

    def act(store: Store) -> bool:
        mine = store.orders.take(read_order(store, case), claim_id=claim_id, now=now)
        session = store.sessions.get(case.session.id)
        return store.orders.answer(mine, claim_id, said(mine), now=now, keeps=claim_id, session=session)

    return act


def voider(case: Case, why: Void, now: int) -> Actor:
    def act(store: Store) -> bool:
        order = read_order(store, case)
        return order.is_open and store.orders.void(order, why, said(order, why.value), now=now)

    return act


def mover(case: Case) -> Actor:
    def move(store: Store) -> Session:
        return store.moves.to_terminal(sure(store.sessions.get(case.session.id)), now=NOW)

    return lambda store: on_conflict(lambda: move(store))


def test_one_of_two_processes_does_it(every_order: EveryOrder) -> None:
    for case, left, right in every_order(lambda case: (worker(case, "c-1"), worker(case, "c-2"))):
        assert [left is True, right is True].count(True) == 1
        assert case.told == ["Model: opus"]
        assert case.world.current(case.session.id).dials == {"model": case.current.digest}


def test_a_process_that_wakes_late_and_its_successor_do_it_once(every_order: EveryOrder) -> None:
    def late(case: Case) -> tuple[Actor, Actor]:
        held = take(case.world, case.order, "c-0")
        return (
            lambda store: store.orders.answer(held, "c-0", said(held), now=LATER),
            worker(case, "c-1", now=LATER),
        )

    for case, left, right in every_order(late):
        assert [left is True, right is True].count(True) == 1
        assert case.told == ["Model: opus"]


@pytest.mark.parametrize(
    ("why", "now"), [(Void.UNTAKEN, NOW + OPEN_FOR), (Void.UNFINISHED, NOW + LONGEST), (Void.MOVED, NOW)]
)
def test_an_order_is_done_or_void_and_told_once(every_order: EveryOrder, why: Void, now: int) -> None:
    def actors(case: Case) -> tuple[Actor, Actor]:
        if why is Void.MOVED:
            take(case.world, case.order, "c-0")
            case.world.store.moves.to_terminal(case.world.current(case.session.id), now=NOW)
        if why is Void.UNFINISHED:
            held = take(case.world, case.order, "c-0")
            return (lambda store: store.orders.answer(held, "c-0", said(held), now=now), voider(case, why, now))
        return worker(case, "c-1", now=now - 1), voider(case, why, now)

    for case, left, right in every_order(actors):
        assert len(case.told) == [left is True, right is True].count(True) == 1
        assert case.current.state is (OrderState.DONE if left is True else OrderState.VOID)


def test_a_session_that_moves_keeps_what_was_confirmed_before_or_nothing(every_order: EveryOrder) -> None:
    for case, done, _ in every_order(lambda case: (worker(case, "c-1"), mover(case))):
        assert case.world.current(case.session.id).dials == ({"model": "c-1"} if done is True else {})
        assert len(case.told) == (done is True)
        if done is not True:
            assert void(case.world, case.current, Void.MOVED)


# --- two choices of the same moment: each command runs in a line of its own


def later(world: World, order: Order, session: Session) -> Order:
    """Another choice that was said after it, taken too."""
    row = world.row(f"{order.row}-later", place=order.place)
    return take(world, world.store.orders.create(made(session, row, argument="haiku"), row, session), "c-2")


def chooser(order: Order) -> Actor:
    """Answers a taken order with what it asked for, unless something was chosen later."""

    def choose(store: Store) -> bool:
        session = sure(store.sessions.get(order.session_id))
        if session.has_chosen_since(order.kind, order.moment):
            if store.orders.void(order, Void.CHOSEN_AGAIN, said(order, "late"), now=NOW, session=session):
                return False
        elif store.orders.answer(order, "d", said(order), now=NOW, keeps=order.argument, session=session):
            return True
        raise Conflict("it changed since it was read")

    return lambda store: on_conflict(lambda: choose(store))


def test_the_later_of_two_choices_is_kept(every_order: EveryOrder) -> None:
    seconds: dict[str, Order] = {}

    def both(case: Case) -> tuple[Actor, Actor]:
        first = take(case.world, case.order)
        second = seconds[first.id] = later(case.world, first, case.session)
        return chooser(first), chooser(second)

    outcomes = set[bool]()
    for case, first, second in every_order(both):
        assert second is True
        assert case.world.current(case.session.id).dials == {"model": "haiku"}
        assert case.told == (["Model: opus"] if first else ["late"])
        assert told(case.world, seconds[case.order.id]) == ["Model: opus"]
        outcomes.add(first)
    assert outcomes == {True, False}


def test_a_choice_is_kept_if_the_session_is_as_read(world: World, taken: Order, session: Session) -> None:
    second = later(world, taken, session)
    before = world.current()
    assert answer(world, second, keeps="haiku", session=before)
    assert not answer(world, taken, keeps="opus", session=before)
    assert not void(world, taken, Void.CHOSEN_AGAIN), "without the choice that was read"
    assert not world.store.orders.void(taken, Void.CHOSEN_AGAIN, said(taken), now=NOW, session=before)
    assert world.store.orders.void(taken, Void.CHOSEN_AGAIN, said(taken, "late"), now=NOW, session=world.current())
    assert (world.current().dials, told(world, taken)) == ({"model": "haiku"}, ["late"])


@pytest.mark.parametrize("value", [1, {"model": 1}, {"model": {"at": 1}}, {"model": {"row": 1}}])
def test_a_choice_whose_time_cannot_be_read_is_before_all_others(
    world: World, taken: Order, backend: Backend, value: object
) -> None:
    key = {"pk": f"SESSION#{taken.session_id}", "sk": "META"}
    backend.tables.update(Update(Table.SESSIONS, key, [], set={"chosen": value}))
    assert answer(world, taken, keeps="opus", session=world.current())
    assert world.current().chosen == {"model": taken.moment}
