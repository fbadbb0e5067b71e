"""Usage and budgets in a thread: what is shown, when a machine gets no more turns, and how the person lets it go on."""

from dataclasses import replace

import pytest

from shared.domain.routes import Place
from shared.domain.usage import TurnUsage
from shared.errors import TurnEnded
from shared.store.inbox import InboxRow
from shared.use_cases.chat.commands import run_command
from shared.use_cases.chat.share_command import NOT_FOR_GUESTS
from shared.use_cases.chat.usage_commands import NO_COST
from shared.use_cases.presses import NOT_YOURS
from shared.use_cases.questions.decide import NO_LONGER_ASKED
from tests.support.machine import Machine, post, press, shown
from tests.support.use_case_world import USER, World

CENT = 10_000
KNOWN = TurnUsage(1_000, 4 * CENT, context=20_000, window=200_000)


@pytest.fixture
def machine(world: World) -> Machine:
    return Machine(world)


@pytest.fixture
def place(world: World, machine: Machine) -> Place:
    """A thread whose agent has told its cost."""
    place = machine.moved()
    post(world, place, "0001", "And?")
    machine.answer(usage=KNOWN)
    return place


def last(world: World, place: Place) -> str:
    return shown(world, place)[-1]


def spend(world: World, machine: Machine, place: Place, event_id: str, cost: int) -> None:
    """One turn, after which the agent's sum is `cost`."""
    post(world, place, event_id, f"words {event_id}")
    machine.answer(f"reply to {event_id}", usage=TurnUsage(100, cost))


def button(world: World, place: Place) -> str:
    """The button of the newest question."""
    (found,) = world.platform.posts[place][-1].buttons
    return found.id


# --- usage


def test_usage_is_that_of_the_session_and_of_the_day(world: World, machine: Machine, place: Place) -> None:
    spend(world, machine, place, "0002", 6 * CENT)
    post(world, place, "0003", "/usage")
    assert last(world, place).splitlines() == [
        "This session: 1.1k tokens, $0.06, context 20k of 200k (10 %).",
        "Today, in all your sessions: 1.1k tokens, $0.02.",
        "It has no budget.",
    ]


def test_usage_of_an_agent_without_cost_says_so(world: World, machine: Machine) -> None:
    place = machine.moved()
    post(world, place, "0001", "/usage")
    assert "nothing is known yet" in last(world, place)
    post(world, place, "0002", "And?")
    machine.answer(usage=TurnUsage(500))
    post(world, place, "0003", "/usage")
    assert "Its agent tells no cost." in last(world, place)
    post(world, place, "0004", "/budget 5")
    assert last(world, place) == NO_COST


def test_the_end_line_says_what_the_turn_has_spent(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0002", "And?")
    machine.start("c-2")
    machine.report(said="I look.")
    world.messages()
    machine.result(usage=TurnUsage(3_100, 6 * CENT))
    world.messages()
    assert any(text.endswith("3.1k tokens, $0.02.") for text in shown(world, place))


def test_a_result_that_is_repeated_is_counted_once(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0002", "And?")
    machine.start("c-2")
    for _ in range(2):
        machine.result(usage=TurnUsage(100, 6 * CENT))
    world.messages()
    assert (world.current().usage.tokens, world.current().usage.cost) == (1_100, 6 * CENT)


def test_a_turn_that_is_stopped_is_counted_once(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0002", "And?")
    machine.start("c-2")
    machine.report(said="I look.")
    post(world, place, "0003", "/stop")
    with pytest.raises(TurnEnded):
        machine.report()
    assert world.current().usage.tokens == 1_000
    for _ in range(2):
        with pytest.raises(TurnEnded):
            machine.report(tokens=500)
    with pytest.raises(TurnEnded):
        machine.result(usage=TurnUsage(500, 6 * CENT))
    assert (world.current().usage.tokens, world.current().usage.day_tokens) == (1_500, 1_500)
    spend(world, machine, place, "0004", 9 * CENT)
    assert (world.current().usage.tokens, world.current().usage.cost) == (1_600, 9 * CENT)


def test_a_turn_at_work_says_its_tokens_with_its_result(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0002", "And?")
    machine.start("c-2")
    machine.report(tokens=500)
    machine.result(usage=TurnUsage(500, 6 * CENT))
    with pytest.raises(TurnEnded):
        machine.report(tokens=500)
    assert world.current().usage.tokens == 1_500


# --- budget


def test_nothing_more_is_offered_once_the_budget_is_spent(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0002", "/budget 0.01")
    assert last(world, place).startswith("The budget of this session is $0.01, counted from now.")
    spend(world, machine, place, "0003", 7 * CENT)
    assert "has spent $0.03; its budget is $0.01" in last(world, place), "after the turn that passes it"
    post(world, place, "0004", "More?")
    post(world, place, "0005", "And more?")
    assert machine.poll() == []
    assert sum("has spent" in text for text in shown(world, place)) == 1

    assert press(world, place, button(world, place)) == "Going on: $0.01 more."
    (pointer,) = machine.poll()
    assert [word.id for word in machine.claim("c-9", turn_id=pointer.turn_id).words] == ["0004", "0005"]


def test_a_second_press_does_not_add_twice(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0002", "/budget 0.01")
    spend(world, machine, place, "0003", 7 * CENT)
    pressed = button(world, place)
    told = [press(world, place, pressed) for _ in range(2)]
    assert told == ["Going on: $0.01 more.", "Already going on."]
    budget = world.current().budget
    assert budget is not None
    assert budget.until == 8 * CENT
    spend(world, machine, place, "0004", 8 * CENT)
    assert press(world, place, pressed) == NO_LONGER_ASKED
    assert button(world, place) != pressed
    post(world, place, "0005", "/budget more")
    assert last(world, place) == "Going on: $0.01 more."


def test_more_is_added_once_though_its_command_is_run_again(world: World, machine: Machine, place: Place) -> None:
    """Its process died after the write, and by the time of the next one the budget was spent again."""
    post(world, place, "0002", "/budget 0.01")
    spend(world, machine, place, "0003", 7 * CENT)
    row = InboxRow(place, "0004", "ada-there", "/budget more", world.clock.now(), USER)
    assert run_command(world.services, row, "budget", "more") == "Going on: $0.01 more."
    spend(world, machine, place, "0005", 9 * CENT)
    before = world.current().budget
    assert before is not None
    assert before.is_open
    assert run_command(world.services, row, "budget", "more") == "Going on: $0.01 more."
    assert world.current().budget == before


def test_a_line_at_80_percent_is_posted_once(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0002", "/budget 0.10")
    for number, cost in enumerate((5, 12, 13), start=3):
        spend(world, machine, place, f"{number:04}", cost * CENT)
    lines = [text for text in shown(world, place) if "% of this session's budget" in text]
    assert lines == ["80 % of this session's budget of $0.10 is spent."]


def test_tokens_are_counted_where_no_cost_is_told(world: World, machine: Machine) -> None:
    place = machine.moved()
    post(world, place, "0001", "/budget 1k tokens")
    post(world, place, "0002", "And?")
    machine.answer(usage=TurnUsage(1_200))
    assert "has spent 1.2k tokens; its budget is 1k tokens" in last(world, place)
    post(world, place, "0003", "More?")
    assert machine.poll() == []
    post(world, place, "0004", "/budget off")
    assert len(machine.poll()) == 1


def test_a_spent_budget_follows_the_session_and_a_kickoff_is_run(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0002", "/budget 0.01")
    spend(world, machine, place, "0003", 7 * CENT)
    post(world, place, "0004", "/handoff chat")
    for item in world.store.handoffs.list("ada", session_id=None, state=None, limit=5):
        if item.is_open:
            world.process(item)
    machine.answer("Here.", usage=TurnUsage(1, 7 * CENT))
    there = world.current().owner
    assert there != place
    post(world, there, "0001", "And?")
    assert machine.poll() == []


def test_a_command_that_is_repeated_sets_one_budget(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0002", "/budget 0.02")
    first = world.current().budget
    spend(world, machine, place, "0003", 5 * CENT)
    post(world, place, "0002", "/budget 0.02")
    assert world.current().budget == first


@pytest.mark.parametrize("text", ["/budget a lot", "/budget 0", "/budget 5k"])
def test_what_is_no_amount_changes_nothing(world: World, place: Place, text: str) -> None:
    post(world, place, "0002", text)
    assert last(world, place).startswith("That is no budget.")
    assert world.current().budget is None


def test_guests_and_strangers_set_and_press_nothing(world: World, machine: Machine, place: Place) -> None:
    world.store.accounts.add_identity("grace", "chat", "grace-there")
    post(world, place, "0002", "/share")
    post(world, place, "0003", "/budget off", sender="grace-there")
    assert last(world, place) == NOT_FOR_GUESTS
    post(world, place, "0004", "/budget 0.01")
    spend(world, machine, place, "0005", 7 * CENT)
    before = world.current().budget
    assert press(world, place, button(world, place), sender="grace-there") == NOT_YOURS
    assert world.current().budget == before


def test_the_deployments_default_counts_from_the_first_turn(world: World, machine: Machine) -> None:
    world.services = replace(world.services, settings=replace(world.services.settings, budget="0.01, 1k tokens"))
    place = machine.moved()
    post(world, place, "0001", "And?")
    machine.answer(usage=TurnUsage(100, 50 * CENT))
    budget = world.current().budget
    assert budget is not None
    assert (budget.base, budget.until) == (50 * CENT, 51 * CENT)
    spend(world, machine, place, "0002", 52 * CENT)
    assert "has spent $0.02" in last(world, place)
    post(world, place, "0003", "/budget off")
    spend(world, machine, place, "0004", 60 * CENT)
    assert last(world, place) == "reply to 0004"


def test_a_question_that_was_not_delivered_is_delivered_later(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0002", "/budget 0.01")
    post(world, place, "0003", "Work.")
    machine.start("c-3")
    machine.result("Done.", usage=TurnUsage(100, 7 * CENT))
    real = world.store.outbox.sending
    died: list[str] = []

    def dies(part, **more):  # type: ignore[no-untyped-def]
        if part.turn_id.startswith("budget-") and not died:
            died.append(part.turn_id)
            raise RuntimeError("killed")
        return real(part, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.store.outbox, "sending", dies)
        with pytest.raises(RuntimeError):
            world.messages()
    world.turns()
    assert died
    assert sum("has spent" in text for text in shown(world, place)) == 1
