"""`/sessions`, `/bring` and `/new PROJECT`: one thread or a sentence, and never another session."""

from dataclasses import dataclass, replace

import pytest

from shared.domain.lists import LISTED_FOR
from shared.domain.orders import BEGIN, BRING, Native
from shared.domain.routes import Place
from shared.errors import HandoffInFlight, Moved, OrderEnded, UnknownSession
from shared.ports.inbound import WebhookRequest
from shared.use_cases.chat.receive_message import receive_message
from shared.use_cases.chat.session_list import WAITS
from shared.use_cases.runners.claim_machine_turn import MachineClaim, begin_turn, claim_machine_turn
from shared.use_cases.runners.live_turn import TurnName
from shared.use_cases.runners.move_by_order import Made, add_messages, make_session, request_by_order
from shared.use_cases.runners.register import revoke_runner
from shared.use_cases.runners.take_order import OrderAnswer, OrderName
from shared.use_cases.runners.take_result import MachineResult, take_result
from shared.use_cases.sessions.save_session import delete_session, save_session
from tests.support import machine as support
from tests.support.machine import Machine, post
from tests.support.use_case_world import HOME, USER, World

MADE = Made("brought", "claude-code", "n-9", "shop", "The till")
TILL = Native("listed-1", "The till", "shop", "claude-code", 60)
WORDS = [{"role": "user", "content": "Repair it"}, {"role": "assistant", "content": "Done."}]


@pytest.fixture
def machine(world: World) -> Machine:
    return Machine(world, projects=("shop",))


def press(world: World, place: Place, button: str, **more: str) -> str:
    """Each press is an event of its own."""
    return support.press(world, place, button, event=f"pressed-{len(world.platform.acknowledged)}", **more)


def texts(world: World, place: Place = HOME) -> str:
    return "\n---\n".join(world.platform.said(place))


def listed(world: World, machine: Machine, *natives: Native) -> str:
    """The id of the first button of a list with these sessions."""
    event = f"{100 + len(world.platform.said(HOME)):04}"
    post(world, HOME, event, "/sessions")
    machine.list(*(natives or (TILL,)))
    return world.platform.posts[HOME][-1].buttons[0].id


def brought(world: World, machine: Machine) -> Place:
    """The thread of a session that was brought from the list, and confirmed."""
    press(world, HOME, listed(world, machine))
    (order,) = machine.waiting()
    handoff = machine.move(machine.take(order), MADE, WORDS)
    assert handoff is not None
    world.process(handoff)
    claimed(machine, "brought").result("Here I am.")
    world.turns()
    return world.current("brought").owner


@dataclass
class Claimed:
    """The begun turn of a session that was brought or began."""

    world: World
    name: TurnName
    claim: MachineClaim

    def result(self, reply: str, native_id: str = "") -> None:
        done = MachineResult("d" * 64, [{"role": "assistant", "content": reply}], reply, [], native_id=native_id)
        take_result(self.world.services, self.name, done)


def claimed(machine: Machine, session_id: str) -> Claimed:
    services, turn = machine.world.services, machine.world.current(session_id).turn
    assert turn is not None
    name = TurnName(machine.user, machine.id, session_id, turn.id)
    claim = claim_machine_turn(services, name, claim_id="c-1", previous_fence=None)
    begin_turn(services, replace(name, fence=1))
    return Claimed(machine.world, replace(name, fence=1), claim)


# --- list


def test_sessions_of_the_service_and_of_the_machine_are_in_one_list(world: World, machine: Machine) -> None:
    world.session()
    world.wait(3600)
    machine.register()
    button = listed(world, machine)
    said = texts(world)
    assert "1. `The till` — shop, 1 min ago, claude-code" in said
    assert "2. `Parser` — in the terminal" in said
    assert button.endswith(".1")


def test_a_session_that_is_known_by_both_is_listed_once(world: World, machine: Machine) -> None:
    machine.moved()
    listed(world, machine, replace(TILL, session_id="s-1"))
    said = texts(world)
    assert "2. " not in said
    assert "at chat:" in said or "at https" in said
    assert "1. `Parser` — shop" in said  # as its thread is called


def test_a_machine_that_names_another_users_session_learns_and_shows_nothing_of_it(
    world: World, machine: Machine
) -> None:
    save_session(world.services, "bob", "of-bob", {"title": "Bob's"})
    there = Place("chat", "elsewhere")
    world.store.moves.to_chat(world.current("of-bob"), there, "", now=world.clock.now())
    listed(world, machine, replace(TILL, session_id="of-bob"))
    assert "`The till` — shop, 1 min ago, claude-code" in texts(world)
    assert "elsewhere" not in texts(world)
    assert "Bob" not in texts(world)


def test_a_list_does_not_wait_for_ever_for_a_machine(world: World, machine: Machine) -> None:
    world.session()
    post(world, HOME, "0001", "/sessions")
    assert texts(world) == ""
    world.wait(WAITS / 1000)
    world.turns()
    assert "Parser" in texts(world)
    assert "did not answer in time" in texts(world)
    machine.list(TILL)
    world.turns()
    assert "The till" not in texts(world)


def test_a_machine_that_is_away_is_named_at_once(world: World, machine: Machine) -> None:
    world.session()
    world.wait(600)
    post(world, HOME, "0001", "/sessions")
    assert "**laptop** is away" in texts(world)
    assert machine.waiting() == []


def test_more_than_ten_come_on_pages(world: World, machine: Machine) -> None:
    listed(
        world, machine, *(replace(TILL, id=f"id-{number}", title=f"No. {number}", age=number) for number in range(12))
    )
    assert "10. `No. 9`" in texts(world)
    assert "11." not in texts(world)
    press(world, HOME, world.platform.posts[HOME][-1].buttons[-1].id)
    assert "12. `No. 11`" in texts(world)


# --- bring


def test_a_session_is_brought_into_a_thread_and_the_chat_is_told(world: World, machine: Machine) -> None:
    place = brought(world, machine)
    assert place != HOME
    assert "On its way." in texts(world)
    assert "**The till** is there" in texts(world)
    session = world.current("brought")
    assert (session.cwd, session.title) == ("shop", "The till")
    assert world.transcript("brought")[:2] == WORDS


def test_two_presses_lead_to_one_handoff(world: World, machine: Machine) -> None:
    button = listed(world, machine)
    for _ in range(2):
        press(world, HOME, button)
    first, second = machine.waiting()
    handoff = machine.move(machine.take(first, "c-1"), MADE, WORDS)
    assert handoff is not None
    assert machine.move(machine.take(second, "c-2"), MADE) is None
    world.process(handoff)
    claimed(machine, "brought").result("Here I am.")
    world.turns()
    assert texts(world).count("**The till** is there") == 2
    assert len(world.store.handoffs.list(USER, session_id=None, state=None, limit=9)) == 1


def test_a_repeated_request_and_a_late_process_get_the_same_handoff(world: World, machine: Machine) -> None:
    press(world, HOME, listed(world, machine))
    (order,) = machine.waiting()
    taken = machine.take(order)
    handoff = machine.move(taken, MADE, WORDS)
    name = OrderName(USER, "laptop", order.id, taken.fence)
    assert handoff is not None
    assert request_by_order(world.services, name).id == handoff.id
    with pytest.raises(OrderEnded):
        request_by_order(world.services, replace(name, fence=9))
    with pytest.raises(OrderEnded):
        make_session(world.services, name, MADE)
    with pytest.raises(OrderEnded):
        add_messages(world.services, name, after=2, messages=WORDS)


@pytest.mark.parametrize("number", ["0", "2", "x", "99999999", "", "../1", "other.1"])
def test_a_number_that_is_not_listed_makes_no_order(world: World, machine: Machine, number: str) -> None:
    listed(world, machine)
    post(world, HOME, "0900", f"/bring {number}")
    assert "not the newest one here" in texts(world)
    assert machine.waiting() == []


def test_a_list_that_is_too_old_or_replaced_makes_no_order(world: World, machine: Machine) -> None:
    button = listed(world, machine)
    world.wait(1)
    listed(world, machine, replace(TILL, id="listed-2"))
    assert "not the newest" in press(world, HOME, button)
    newest = world.platform.posts[HOME][-1].buttons[0].id
    world.wait(LISTED_FOR / 1000)
    machine.register()
    assert "too old" in press(world, HOME, newest)
    assert machine.waiting() == []


def test_another_person_cannot_press_a_list(world: World, machine: Machine) -> None:
    world.store.accounts.add_identity("grace", "chat", "grace-there")
    button = listed(world, machine)
    assert "not the newest" in press(world, HOME, button, sender="grace-there")
    assert machine.waiting() == []


def test_what_the_machine_refuses_is_said(world: World, machine: Machine) -> None:
    press(world, HOME, listed(world, machine))
    (order,) = machine.waiting()
    machine.answer_order(machine.take(order), OrderAnswer("d-2", is_refused=True, text="It is gone."))
    world.turns()
    assert "It is gone." in texts(world)
    assert world.store.sessions.get("brought") is None


def test_a_machine_that_dies_amid_it_leaves_a_sentence(world: World, machine: Machine) -> None:
    press(world, HOME, listed(world, machine))
    (order,) = machine.waiting()
    taken = machine.take(order)
    make_session(world.services, OrderName(USER, "laptop", order.id, taken.fence), MADE)
    world.turns()
    assert "did not finish it" in texts(world)
    assert world.current("brought").owner.is_cli


def test_a_revoked_machine_brings_nothing(world: World, machine: Machine) -> None:
    press(world, HOME, listed(world, machine))
    (order,) = machine.waiting()
    taken = machine.take(order)
    revoke_runner(world.services, USER, "laptop")
    with pytest.raises(Exception, match="revoked"):
        machine.move(taken, MADE, WORDS)
    assert world.store.sessions.get("brought") is None


@pytest.mark.parametrize(
    ("made", "wrong"),
    [
        (replace(MADE, session_id="s-1"), UnknownSession),
        (replace(MADE, session_id="of-bob"), UnknownSession),
        (replace(MADE, session_id="in-chat", native_id="n-1"), Moved),
        (replace(MADE, session_id="leaving", native_id="n-1"), HandoffInFlight),
    ],
    ids=["another agent's session", "another user's", "one in a chat", "one on its way"],
)
def test_an_order_moves_no_other_session(world: World, machine: Machine, made: Made, wrong: type[Exception]) -> None:
    machine.session("s-1")
    save_session(world.services, "bob", "of-bob", {})
    if made.session_id == "in-chat":
        there = Place("chat", "elsewhere")
        world.store.moves.to_chat(machine.session("in-chat"), there, "", now=world.clock.now())
    if made.session_id == "leaving":
        machine.session("leaving")
        world.ask("leaving")
    press(world, HOME, listed(world, machine))
    order = next(order for order in machine.waiting() if order.kind == BRING)
    with pytest.raises(wrong):
        machine.move(machine.take(order), made)


def test_a_session_that_left_its_terminal_since_it_was_stored_stays_there(world: World, machine: Machine) -> None:
    press(world, HOME, listed(world, machine))
    (order,) = machine.waiting()
    name, there = OrderName(USER, "laptop", order.id, machine.take(order).fence), Place("chat", "elsewhere")
    stored = make_session(world.services, name, MADE)
    assert stored is not None
    world.store.moves.to_chat(stored, there, "", now=world.clock.now())
    with pytest.raises(Moved):
        request_by_order(world.services, name)
    assert world.current("brought").owner == there
    assert not world.store.handoffs.list(USER, session_id=None, state=None, limit=9)


def test_a_stored_session_without_a_machine_needs_none(world: World) -> None:
    world.session()
    post(world, HOME, "0001", "/sessions")
    post(world, HOME, "0002", "/bring 1")
    (handoff,) = world.store.handoffs.list(USER, session_id=None, state=None, limit=9)
    world.process(handoff)
    world.turns()
    assert "**Parser** is there" in texts(world)
    post(world, HOME, "0003", "/bring 1")
    assert "lives at" in texts(world)


def test_of_two_machines_the_one_that_listed_it_brings_it(world: World, machine: Machine) -> None:
    tower = Machine(world, "tower", projects=("shop",))
    post(world, HOME, "0001", "/sessions")
    machine.list(TILL)
    tower.list(replace(TILL, title="The till of the tower", age=90))
    assert "on laptop" in texts(world)
    post(world, HOME, "0002", "/bring 2")
    (order,) = tower.waiting()
    assert (order.kind, order.argument) == (BRING, TILL.id)
    assert [one for one in machine.waiting() if one.kind == BRING] == []


@pytest.mark.parametrize("command", ["/bring 1", "/new shop build a till"])
def test_a_machine_that_went_away_is_asked_nothing(world: World, machine: Machine, command: str) -> None:
    listed(world, machine)
    world.wait(600)
    post(world, HOME, "0900", command)
    assert "**laptop** is away" in texts(world)
    machine.register()
    assert machine.waiting() == []
    assert not world.store.handoffs.list(USER, session_id=None, state=None, limit=9)


def test_a_stored_session_that_was_deleted_since_is_gone(world: World, machine: Machine) -> None:
    machine.session()
    post(world, HOME, "0001", "/sessions")
    machine.list()
    delete_session(world.services, USER, "s-1")
    post(world, HOME, "0002", "/bring 1")
    assert "is gone" in texts(world)
    assert machine.waiting() == []


# --- begin


def test_a_session_begins_with_the_persons_words_alone(world: World, machine: Machine) -> None:
    post(world, HOME, "0001", "/new shop build a till")
    (order,) = machine.waiting()
    assert (order.kind, order.argument, order.agent) == (BEGIN, "shop", "claude-code")
    handoff = machine.move(machine.take(order), Made("begun", "claude-code", "", "shop"))
    assert handoff is not None
    world.process(handoff)
    turn = claimed(machine, "begun")
    assert [word.text for word in turn.claim.words] == ["build a till"]
    turn.result("I begin.", native_id="n-new")
    world.turns()
    session = world.current("begun")
    assert session.runs_on is not None
    assert (session.title, session.runs_on.native_id) == ("build a till", "n-new")
    assert world.transcript("begun")[0]["content"] == "build a till"
    assert "internal" not in world.transcript("begun")[0]


def test_words_said_before_new_with_a_project_are_still_answered(world: World, machine: Machine) -> None:
    place = machine.moved()
    post(world, place, "0001", "First words")
    post(world, place, "0002", "/new shop other words")
    assert world.store.inbox.get(place, "0001").done_by is None  # type: ignore[union-attr]
    assert [order.kind for order in machine.waiting()] == [BEGIN]
    assert world.current().owner == place


def test_several_agents_and_machines_have_to_be_named(world: World) -> None:
    laptop = Machine(world, projects=("shop",), agents=("claude-code", "codex"))
    tower = Machine(world, "tower", projects=("shop",))
    post(world, HOME, "0001", "/new shop build a till")
    assert "`/new shop codex laptop …`" in texts(world)
    post(world, HOME, "0002", "/new shop codex build a till")
    (order,) = laptop.waiting()
    assert (order.agent, order.skip) == ("codex", 2)
    post(world, HOME, "0003", "/new shop claude-code tower build it")
    (order,) = tower.waiting()
    assert (order.agent, order.skip) == ("claude-code", 3)


def test_a_machine_alone_need_not_be_named(world: World) -> None:
    Machine(world, projects=("shop",), agents=("claude-code", "codex"))
    post(world, HOME, "0001", "/new shop build a till")
    assert "`/new shop codex …`" in texts(world)


def test_a_machine_that_is_away_need_not_be_named(world: World) -> None:
    Machine(world, "tower", projects=("shop",))
    world.wait(600)
    laptop = Machine(world, projects=("shop",))
    post(world, HOME, "0001", "/new shop build a till")
    (order,) = laptop.waiting()
    assert order.runner_id == "laptop"


def test_an_unknown_project_is_said_and_starts_nothing(world: World, machine: Machine) -> None:
    post(world, HOME, "0001", "/new attic build")
    assert "no project “attic”" in texts(world)
    assert machine.waiting() == []
    assert world.store.sessions.at(HOME) is None


def test_new_alone_lists_projects_and_the_model(world: World, machine: Machine) -> None:
    post(world, HOME, "0001", "/new")
    shop, model = world.platform.posts[HOME][-1].buttons
    assert world.store.sessions.at(HOME) is None
    press(world, HOME, shop.id)
    assert [order.kind for order in machine.waiting()] == [BEGIN]
    press(world, HOME, model.id)
    assert "A new session starts here." in texts(world)
    assert world.store.sessions.at(HOME) is not None


def test_a_button_of_new_begins_one_session_however_often_it_is_pressed(world: World, machine: Machine) -> None:
    post(world, HOME, "0001", "/new")
    button = world.platform.posts[HOME][-1].buttons[0].id
    for _ in range(2):
        press(world, HOME, button)
    first, second = machine.waiting()
    handoff = machine.move(machine.take(first, "c-1"), Made("begun", "claude-code", "", "shop"))
    assert handoff is not None
    assert machine.move(machine.take(second, "c-2"), Made("another", "claude-code", "", "shop")) is None
    assert world.store.sessions.get("another") is None
    world.process(handoff)
    claimed(machine, "begun").result("Ready.", native_id="n-1")
    world.turns()
    assert texts(world).count(" is there: ") == 2
    post(world, HOME, "0900", "/new")
    world.wait(1)
    press(world, HOME, world.platform.posts[HOME][-1].buttons[0].id)
    assert len(machine.waiting()) == 1


def test_without_projects_new_is_as_before(world: World) -> None:
    post(world, HOME, "0001", "/new")
    assert "A new session starts here." in texts(world)


@pytest.mark.parametrize("command", ["/new shop hello", "/bring 2"])
def test_where_there_are_no_threads_it_asks_before_it_replaces(world: World, machine: Machine, command: str) -> None:
    world.platform.capabilities = replace(world.platform.capabilities, threads=False)
    post(world, HOME, "0001", "hello")
    world.turns()
    listed(world, machine)
    post(world, HOME, "0900", command)
    assert "would go back to its terminal" in texts(world)
    assert machine.waiting() == []
    post(world, HOME, "0901", command.replace(" ", " here ", 1))
    assert len(machine.waiting()) == 1


def test_a_guest_makes_no_order(world: World, machine: Machine) -> None:
    place = machine.moved()
    world.store.accounts.add_identity("grace", "chat", "grace-there")
    post(world, place, "0001", "/share")
    for number, command in enumerate(("/sessions", "/bring 1", "/new shop x", "/diff", "/title x", "/close", "/retry")):
        post(world, place, f"{number + 2:04}", command, sender="grace-there")
    assert machine.waiting() == []
    assert (world.current().owner, world.current().title) == (place, "Parser")


def test_a_stranger_makes_no_order(world: World, machine: Machine) -> None:
    receive_message(world.services, "chat", WebhookRequest(b"0001||/sessions|mallory", {"signature": "good"}))
    world.messages()
    assert machine.waiting() == []
