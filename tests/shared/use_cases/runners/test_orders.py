"""Orders to a machine: asked in a thread by its owner, done once or void, and the person is told which, once."""

from collections.abc import Callable

import pytest

from shared.domain.orders import LEASE, LONGEST, OPEN_FOR, VOID_TEXTS, Order, OrderState, Void
from shared.domain.routes import Place
from shared.errors import InvalidRequest, OrderEnded, OrderTaken, OtherAnswer, RunnerRevoked, UnknownOrder
from shared.use_cases.chat.dial_commands import AWAY, TOO_OLD
from shared.use_cases.chat.share_command import NOT_FOR_GUESTS
from shared.use_cases.people.remove_user import remove_user
from shared.use_cases.presses import NOT_YOURS
from shared.use_cases.questions.decide import NO_LONGER_ASKED
from shared.use_cases.runners.register import revoke_runner
from shared.use_cases.runners.take_order import OrderAnswer, OrderName, answer_order, renew_order
from shared.use_cases.sessions.resume_session import resume_session
from tests.support.machine import MODELS, Machine, post, press, shown
from tests.support.memory_files import MemoryFiles
from tests.support.use_case_world import USER, World

GUEST = "grace-there"


@pytest.fixture
def machine(world: World) -> Machine:
    return Machine(world)


@pytest.fixture
def place(machine: Machine) -> Place:
    return machine.moved()


def told(world: World, place: Place) -> list[str]:
    """What is said in the thread, after all that is due, but for the notice of a move."""
    world.turns()
    return [said for said in shown(world, place) if "went back to the terminal" not in said]


# --- create


def test_a_command_asks_the_machine_and_shows_what_it_offers(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "/model")
    (order,) = machine.waiting()
    assert (order.kind, order.argument, order.session_id, order.native_id) == ("model", "", "s-1", "n-1")
    assert shown(world, place) == [], "it waits for the answer"
    machine.obey()
    (said,) = told(world, place)
    assert "opus" in said
    assert "haiku" in said
    assert world.current().dials == {}
    assert machine.waiting() == []


def test_a_choice_is_kept_once_the_agent_has_confirmed_it(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "/model haiku")
    assert world.current().dials == {}
    machine.obey()
    assert told(world, place) == ["Model: `haiku`, from the next message on."]
    assert world.current().dials == {"model": "haiku"}
    post(world, place, "0002", "And?")
    assert machine.claim("c-2").session.dials == {"model": "haiku"}


def test_an_unknown_value_is_refused_with_the_list(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "/model sonnet")
    order = machine.take(machine.waiting()[0])
    machine.answer_order(order, OrderAnswer("d", is_refused=True, text="There is no such model.", choices=MODELS))
    (said,) = told(world, place)
    assert said.startswith("There is no such model.")
    assert "haiku" in said
    assert world.current().dials == {}


def test_a_command_that_is_delivered_twice_is_one_order(world: World, machine: Machine, place: Place) -> None:
    for _ in range(2):
        post(world, place, "0001", "/effort high")
    machine.obey()
    post(world, place, "0001", "/effort high")
    assert machine.waiting() == []
    assert told(world, place) == ["Effort: `high`, from the next message on."]


def test_commands_ask_at_once_while_the_agent_works(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "Work.")
    machine.start()
    post(world, place, "0002", "/mode plan")
    machine.obey()
    assert world.current().dials == {"mode": "plan"}
    assert machine.report().steered == [], "no word for the agent"


def test_stop_leaves_an_order_alone(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "/model haiku")
    post(world, place, "0002", "/stop")
    machine.obey()
    assert "Model: `haiku`, from the next message on." in told(world, place)


def test_a_guest_gives_no_order(world: World, machine: Machine, place: Place) -> None:
    world.store.accounts.add_identity("grace", "chat", GUEST)
    post(world, place, "0001", "/share")
    post(world, place, "0002", "/model haiku", sender=GUEST)
    assert machine.waiting() == []
    assert told(world, place)[-1] == NOT_FOR_GUESTS


def test_another_user_gives_no_order(world: World, machine: Machine, place: Place) -> None:
    world.store.accounts.add_identity("eve", "chat", "eve-there")
    post(world, place, "0001", "/model haiku", sender="eve-there")
    assert machine.waiting() == []


def test_a_machine_that_is_away_gets_no_order(world: World, machine: Machine, place: Place) -> None:
    world.wait(100)
    post(world, place, "0001", "/model haiku")
    assert told(world, place) == [AWAY.format("laptop")]
    assert machine.waiting() == []


def test_a_machine_that_is_too_old_gets_no_order(world: World) -> None:
    old = Machine(world, orders=())
    place = old.moved()
    post(world, place, "0001", "/model haiku")
    assert told(world, place) == [TOO_OLD.format("laptop")]
    assert old.waiting() == []


def test_the_deployments_agent_gets_no_order(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "/cloud")
    post(world, place, "0002", "/mode plan")
    assert machine.waiting() == []
    assert "no mode" in told(world, place)[-1]


# --- buttons


def listed(world: World, machine: Machine, place: Place) -> list[str]:
    """The ids of the buttons of a list of models."""
    post(world, place, "0001", "/model")
    machine.obey()
    return [button.id for button in world.platform.posts[place][-1].buttons]


def test_a_button_of_the_list_chooses_and_each_press_is_a_command(world: World, machine: Machine, place: Place) -> None:
    _, haiku = listed(world, machine, place)
    assert press(world, place, haiku) == "Model: haiku. Your machine is asked."
    machine.obey()
    assert told(world, place)[-1] == "Model: `haiku`, from the next message on."
    assert world.current().dials == {"model": "haiku"}
    assert world.store.inbox.new(place, limit=5) == []


def test_a_press_that_is_delivered_again_is_one_order(world: World, machine: Machine, place: Place) -> None:
    _, haiku = listed(world, machine, place)
    for _ in range(2):
        press(world, place, haiku)
    machine.obey()
    assert machine.waiting() == []
    assert len([text for text in told(world, place) if "haiku`, from" in text]) == 1


def test_a_guests_press_an_old_list_and_a_strange_button_choose_nothing(
    world: World, machine: Machine, place: Place
) -> None:
    world.store.accounts.add_identity("grace", "chat", GUEST)
    opus, haiku = listed(world, machine, place)
    assert press(world, place, haiku, sender=GUEST) == NOT_YOURS
    for strange in (f"{opus[:-1]}9", f"{opus}.1", "d.unknown.0", "d.unknown.x"):
        assert press(world, place, strange) == NO_LONGER_ASKED
    world.wait(3600)
    assert press(world, place, haiku) == NO_LONGER_ASKED
    assert machine.waiting() == []


# --- take and answer


def test_one_of_two_runner_processes_takes_it(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "/model haiku")
    (order,) = machine.waiting()
    first = machine.take(order, "c-1")
    assert machine.waiting() == []
    with pytest.raises(OrderTaken):
        machine.take(order, "c-2")
    assert machine.take(order, "c-1") == first


def test_another_runner_and_another_user_do_not_find_it(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "/model haiku")
    (order,) = machine.waiting()
    for other in (Machine(world, "desktop"), Machine(world, "laptop", user="eve")):
        assert other.waiting() == []
        with pytest.raises(UnknownOrder):
            other.take(order)


def test_an_answer_that_is_sent_twice_is_told_once(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "/model haiku")
    order = machine.obey()
    machine.answer_order(order)
    with pytest.raises(OtherAnswer):
        machine.answer_order(order, OrderAnswer("d-2", current="opus"))
    assert told(world, place) == ["Model: `haiku`, from the next message on."]
    assert world.current().dials == {"model": "haiku"}


def test_a_process_that_died_is_followed_by_another(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "/model haiku")
    dead = machine.take(machine.waiting()[0], "c-1")
    world.wait(LEASE / 1000)
    machine.register()
    (order,) = machine.waiting()
    again = machine.take(order, "c-2")
    with pytest.raises(OrderEnded):
        machine.answer_order(dead)
    with pytest.raises(OrderEnded):
        renew_order(world.services, OrderName(USER, "laptop", dead.id, dead.fence))
    renew_order(world.services, OrderName(USER, "laptop", again.id, again.fence))
    machine.answer_order(again)
    assert told(world, place) == ["Model: `haiku`, from the next message on."]


def test_an_answer_is_not_too_long_and_says_what_was_set(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "/model haiku")
    order = machine.take(machine.waiting()[0])
    for answer in (OrderAnswer("d", text="x" * 20_000), OrderAnswer("d")):
        with pytest.raises(InvalidRequest):
            machine.answer_order(order, answer)
    machine.answer_order(order)


def test_what_an_agent_calls_its_options_is_no_markdown(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "/model **x** `y`")
    machine.obey()
    assert told(world, place) == ["Model: `**x** ˋyˋ`, from the next message on."]


# --- two choices of the same moment


def choose_twice(world: World, machine: Machine, place: Place) -> dict[str, Order]:
    """Orders of two commands, each in a line of its own: the later one is made first."""
    for event_id, model in (("0002", "opus"), ("0001", "haiku")):
        post(world, place, event_id, f"/model {model}")
    return {order.argument: order for order in machine.waiting()}


def test_a_choice_that_was_said_before_another_is_not_asked_for(world: World, machine: Machine, place: Place) -> None:
    orders = choose_twice(world, machine, place)
    machine.answer_order(machine.take(orders["opus"]))
    with pytest.raises(OrderEnded):
        machine.take(orders["haiku"], "c-2")
    assert sorted(told(world, place)) == ["Model: `opus`, from the next message on.", VOID_TEXTS[Void.CHOSEN_AGAIN]]
    assert world.current().dials == {"model": "opus"}


def test_a_choice_that_is_answered_after_a_later_one_is_not_kept(world: World, machine: Machine, place: Place) -> None:
    orders = choose_twice(world, machine, place)
    late = machine.take(orders["haiku"], "c-1")
    machine.answer_order(machine.take(orders["opus"], "c-2"))
    for _ in range(2):
        with pytest.raises(OrderEnded):
            machine.answer_order(late)
    assert sorted(told(world, place)) == ["Model: `opus`, from the next message on.", VOID_TEXTS[Void.CHOSEN_AGAIN]]
    assert world.current().dials == {"model": "opus"}


def test_a_refused_choice_a_list_and_another_dial_end_no_choice(world: World, machine: Machine, place: Place) -> None:
    for event_id, said in (
        ("0004", "/model none"),
        ("0003", "/model"),
        ("0002", "/effort high"),
        ("0001", "/model haiku"),
    ):
        post(world, place, event_id, said)
    for order in machine.waiting():
        refusal = OrderAnswer("d", is_refused=True, text="No.") if order.argument == "none" else None
        machine.answer_order(machine.take(order, order.id), refusal)
    assert VOID_TEXTS[Void.CHOSEN_AGAIN] not in told(world, place)
    assert world.current().dials == {"model": "haiku", "effort": "high"}


def test_a_list_that_is_asked_for_before_a_choice_is_shown(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0002", "/model haiku")
    machine.obey()
    post(world, place, "0001", "/model")
    machine.obey()
    assert "**Model**" in told(world, place)[-1]


# --- void


def revoked(world: World, _: Machine) -> None:
    revoke_runner(world.services, USER, "laptop")


def moved(world: World, _: Machine) -> None:
    resume_session(world.services, USER, "s-1", epoch=world.current().epoch)


def waited(world: World, _: Machine) -> None:
    world.wait(LONGEST / 1000)


@pytest.mark.parametrize("is_taken", [False, True])
@pytest.mark.parametrize(
    ("happens", "why"),
    [(revoked, Void.REVOKED), (moved, Void.MOVED), (waited, None)],
    ids=["revoked", "moved", "waited"],
)
def test_an_order_that_cannot_be_done_is_void_and_told_once(
    world: World,
    machine: Machine,
    place: Place,
    happens: Callable[[World, Machine], None],
    why: Void | None,
    *,
    is_taken: bool,
) -> None:
    post(world, place, "0001", "/model haiku")
    (order,) = machine.waiting()
    if is_taken:
        order = machine.take(order)
    happens(world, machine)
    expected = why or (Void.UNFINISHED if is_taken else Void.UNTAKEN)
    assert told(world, place) == [VOID_TEXTS[expected]]
    with pytest.raises((OrderEnded, RunnerRevoked)):
        machine.take(order, "c-9")
    with pytest.raises((OrderEnded, RunnerRevoked)):
        machine.answer_order(order)
    world.wait(3600)
    assert told(world, place) == [VOID_TEXTS[expected]]
    assert world.current().dials == {}


def test_a_take_finds_that_the_session_has_moved(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "/model haiku")
    (order,) = machine.waiting()
    moved(world, machine)
    with pytest.raises(OrderEnded):
        machine.take(order)
    stored = world.store.orders.get(USER, "laptop", order.id)
    assert stored is not None
    assert stored.state is OrderState.VOID


def test_an_answer_for_a_session_that_has_moved_is_void(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "/model haiku")
    order = machine.take(machine.waiting()[0])
    moved(world, machine)
    with pytest.raises(OrderEnded):
        machine.answer_order(order)
    assert told(world, place) == [VOID_TEXTS[Void.MOVED]]


def test_an_order_expires_in_its_time_without_the_sweep(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "/model haiku")
    began = world.clock.now()
    assert told(world, place) == [VOID_TEXTS[Void.UNTAKEN]]
    assert OPEN_FOR <= world.clock.now() - began <= OPEN_FOR + 20_000


def test_a_removed_user_leaves_no_order(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "/model haiku")
    (order,) = machine.waiting()
    remove_user(world.store, MemoryFiles(), USER)
    world.turns()
    assert world.store.orders.get(USER, "laptop", order.id) is None
    with pytest.raises(Exception, match="no runner"):
        answer_order(world.services, OrderName(USER, "laptop", order.id, 1), OrderAnswer("d"))
