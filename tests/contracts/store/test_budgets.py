"""Budgets: set as read, asked once for each number, and going on adds once; usage is added by the commit alone."""

from dataclasses import replace

import pytest

from shared.domain.offers import Result
from shared.domain.routes import Place
from shared.domain.sessions import Session
from shared.domain.usage import Budget, TurnUsage, Unit, Usage, new_budget
from shared.errors import Conflict
from shared.ports.platforms import Part
from shared.ports.tables import Table, Update
from shared.store.outbox import OutPart
from tests.contracts.store.racing import insist, race
from tests.contracts.store.world import LEASE, NOW, World
from tests.support.table_backends import Backend

SPENT = Usage(tokens=900, cost=50_000, cost_told=50_000, day="2026-11-18", day_tokens=900, day_cost=10_000)
BUDGET = Budget("b-1", Unit.COST, limit=10_000, base=40_000, until=50_000)


@pytest.fixture
def session(world: World) -> Session:
    """It has spent all of its budget."""
    before = world.on_machine()
    return world.store.sessions.replace(before, replace(before, usage=SPENT, budget=BUDGET))


def question(session: Session, number: int = 1) -> list[OutPart]:
    return [OutPart(session.id, f"budget-b-1-{number}", 0, session.owner, Part("Go on?"))]


def test_a_budget_and_the_sums_are_kept_with_the_session(world: World, session: Session) -> None:
    assert world.current() == session
    assert world.store.moves.to_terminal(session, now=NOW) == world.current()
    assert (world.current().budget, world.current().usage) == (BUDGET, SPENT)


def test_a_budget_is_set_if_the_session_is_as_read(world: World, session: Session) -> None:
    other = new_budget("b-2", Unit.TOKENS, 500, SPENT)
    after = world.store.budgets.set(session, other, now=NOW)
    assert world.current() == after
    with pytest.raises(Conflict):
        world.store.budgets.set(session, BUDGET, now=NOW)
    assert world.current().budget == other


def test_a_question_is_asked_once_with_its_message(world: World, session: Session) -> None:
    after = world.store.budgets.ask(session, question(session), now=NOW)
    assert world.current() == after
    assert after.budget == replace(BUDGET, asked=1, is_open=True)
    with pytest.raises(Conflict):
        world.store.budgets.ask(session, question(session), now=NOW)
    assert len(world.store.outbox.journal(session.id, "budget-b-1-1")) == 1


def test_going_on_adds_one_limit_once(world: World, session: Session) -> None:
    assert not world.store.budgets.go_on(session, 1, now=NOW), "nothing is asked yet"
    asked = world.store.budgets.ask(session, question(session), now=NOW)
    assert not world.store.budgets.go_on(asked, 2, now=NOW)
    assert [world.store.budgets.go_on(asked, 1, now=NOW) for _ in range(2)] == [True, False]
    assert world.current().budget == replace(BUDGET, asked=1, until=60_000)


def test_an_answer_to_an_earlier_question_adds_nothing(world: World, session: Session) -> None:
    first = world.store.budgets.ask(session, question(session), now=NOW)
    assert world.store.budgets.go_on(first, 1, now=NOW)
    second = world.store.budgets.ask(world.current(), question(session, 2), now=NOW)
    assert not world.store.budgets.go_on(first, 1, now=NOW)
    assert not world.store.budgets.go_on(second, 1, now=NOW)
    assert world.store.budgets.go_on(second, 2, now=NOW)
    assert world.current().budget == replace(BUDGET, asked=2, until=70_000)


def test_an_answer_for_another_budget_adds_nothing(world: World, session: Session) -> None:
    asked = world.store.budgets.ask(session, question(session), now=NOW)
    other = replace(new_budget("b-2", Unit.COST, 500, SPENT), asked=1, is_open=True)
    world.store.budgets.set(asked, other, now=NOW)
    assert not world.store.budgets.go_on(asked, 1, now=NOW)
    assert world.current().budget == other


def test_many_presses_at_once_add_once(world: World, session: Session) -> None:
    asked = world.store.budgets.ask(session, question(session), now=NOW)
    outcomes = race(*[insist(lambda: world.store.budgets.go_on(asked, 1, now=NOW))] * 8)
    assert outcomes.count(True) == 1
    budget = world.current().budget
    assert budget is not None
    assert budget.until == 60_000


def test_a_commit_adds_what_its_turn_has_spent_once(world: World, session: Session) -> None:
    held = world.machine_turn(session)
    commit = world.turn_commit(
        held, result=Result(1, "d"), usage=held.usage.after(TurnUsage(100, 60_000), "2026-11-18")
    )
    after = world.store.turns.commit(commit, now=NOW)
    with pytest.raises(Conflict):
        world.store.turns.commit(commit, now=NOW)
    assert world.current().usage == after.usage
    assert (after.usage.tokens, after.usage.cost, after.budget) == (1000, 60_000, BUDGET)


def test_a_budget_that_is_set_while_the_agent_works_stays(world: World, session: Session) -> None:
    held = world.machine_turn(session)
    other = new_budget("b-2", Unit.TOKENS, 500, SPENT)
    world.store.budgets.set(world.current(), other, now=NOW)
    commit = world.turn_commit(held, result=Result(1, "d"), usage=held.usage.after(TurnUsage(100), "2026-11-18"))
    world.store.turns.commit(commit, now=NOW)
    assert (world.current().budget, world.current().usage.tokens) == (other, 1000)


def test_a_commit_without_usage_and_one_that_lost_its_fence_add_nothing(world: World, session: Session) -> None:
    held = world.machine_turn(session, lease=LEASE)
    world.machine_claim(held, claim_id="c-2", now=NOW + LEASE)
    with pytest.raises(Conflict):
        world.store.turns.commit(world.turn_commit(held, result=Result(1, "d"), usage=Usage(tokens=1)), now=NOW)
    current = world.current()
    world.store.turns.commit(world.turn_commit(current, result=Result(2, "d")), now=NOW)
    assert world.current().usage == SPENT


# --- a turn that was stopped


@pytest.fixture
def stopped(world: World, session: Session) -> Session:
    """Its machine's turn is over without a result."""
    assert world.store.turns.end(world.machine_turn(session), now=NOW)
    return world.current()


def more(session: Session, tokens: int = 100) -> Usage:
    return session.usage.after(TurnUsage(tokens), "2026-11-18")


def test_a_stopped_turn_is_counted_once(world: World, stopped: Session) -> None:
    outcomes = race(
        *[insist(lambda: world.store.machine_turns.count_stopped(stopped, world.offer_of(), more(stopped)))] * 4
    )
    assert [one for one in outcomes if isinstance(one, Exception)] == []
    current = world.current()
    assert current.usage == more(stopped)
    world.store.machine_turns.count_stopped(current, world.offer_of(), more(current))
    assert world.current() == current


def test_a_turn_that_has_a_result_is_not_counted_as_stopped(world: World, session: Session) -> None:
    commit = world.turn_commit(world.machine_turn(session), result=Result(1, "d"), usage=more(session))
    current = world.store.turns.commit(commit, now=NOW)
    world.store.machine_turns.count_stopped(current, world.offer_of(), more(current))
    assert world.current().usage == more(session)


def test_a_turn_at_work_is_not_counted_as_stopped(world: World, session: Session) -> None:
    held = world.machine_turn(session)
    with pytest.raises(Conflict):
        world.store.machine_turns.count_stopped(held, world.offer_of(), more(held))
    assert world.current().usage == SPENT


@pytest.mark.parametrize("is_counted_first", [True, False])
def test_a_stopped_turn_and_the_next_lose_nothing(world: World, stopped: Session, *, is_counted_first: bool) -> None:
    offer, next_ = world.offer_of("t-1"), world.machine_turn(stopped, "t-2")
    count = world.store.machine_turns.count_stopped
    commit = world.turn_commit(next_, result=Result(1, "d"), usage=more(next_, 7))
    if is_counted_first:
        count(stopped, offer, more(stopped))
        with pytest.raises(Conflict):
            world.store.turns.commit(commit, now=NOW)
        current = world.current()
        world.store.turns.commit(replace(commit, session=current, usage=more(current, 7)), now=NOW)
    else:
        world.store.turns.commit(commit, now=NOW)
        with pytest.raises(Conflict):
            count(stopped, offer, more(stopped))
        count(world.current(), offer, more(world.current()))
    assert world.current().usage.tokens == SPENT.tokens + 107


@pytest.mark.parametrize("value", [1, {"id": "b"}, {"id": "b", "unit": "euros", "limit": 1, "until": 1}, {"id": 3}])
def test_a_budget_that_cannot_be_read_is_none(world: World, session: Session, backend: Backend, value: object) -> None:
    key = {"pk": f"SESSION#{session.id}", "sk": "META"}
    backend.tables.update(Update(Table.SESSIONS, key, [], set={"budget": value, "usage": value}))
    found = world.current()
    assert (found.budget, found.usage) == (None, Usage())
    assert world.store.budgets.set(found, BUDGET, now=NOW).budget == BUDGET
    assert session.owner == Place("telegram", "1001", "17")
