"""Threads whose agent may run steps without asking: they say so, and are never shared."""

import pytest

from shared.domain.routes import Place
from shared.errors import NotShareable, TurnEnded
from tests.support.machine import Machine, post, shown
from tests.support.use_case_world import World

GUEST = "bob-there"


@pytest.fixture
def machine(world: World) -> Machine:
    """With an agent that is not made to ask."""
    world.store.accounts.add_identity("bob", "chat", GUEST)
    return Machine(world, unattended=["claude-code"])


@pytest.fixture
def place(machine: Machine) -> Place:
    return machine.moved()


def asks(machine: Machine, *, from_now_on: bool) -> None:
    """The runner was started again, with another choice in its settings."""
    machine.unattended = () if from_now_on else ["claude-code"]
    machine.register()


def test_share_is_refused_where_the_agent_may_not_ask(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "/share")
    assert "This thread cannot be shared" in shown(world, place)[-1]
    assert not world.current().shared

    post(world, place, "0002", "drop the table", sender=GUEST)
    assert machine.poll() == []

    asks(machine, from_now_on=True)
    post(world, place, "0003", "/share")
    assert world.current().shared


def test_a_handoff_is_not_shared_where_the_agent_may_not_ask(world: World, machine: Machine) -> None:
    machine.session()
    with pytest.raises(NotShareable):
        world.ask(share=True)
    assert world.current().owner.is_cli


@pytest.mark.parametrize("command", ["/status", "/machine"])
def test_the_thread_says_that_the_agent_may_not_ask(world: World, machine: Machine, place: Place, command: str) -> None:
    post(world, place, "0001", command)
    assert "is not made to ask before each step" in shown(world, place)[-1]

    asks(machine, from_now_on=True)
    post(world, place, "0002", command)
    assert "not made to ask" not in shown(world, place)[-1]


def test_words_of_guests_never_reach_an_agent_that_stopped_asking(world: World, machine: Machine, place: Place) -> None:
    asks(machine, from_now_on=True)
    post(world, place, "0001", "/share")
    post(world, place, "0002", "mine")
    post(world, place, "0003", "theirs", sender=GUEST)
    asks(machine, from_now_on=False)

    with pytest.raises(TurnEnded):
        machine.claim()
    assert not world.current().shared
    world.messages()
    assert [text for text in shown(world, place) if "It is not shared any more" in text]

    assert [word.text for word in machine.claim("c-2").words] == ["mine"]
    machine.begin()
    post(world, place, "0004", "more of theirs", sender=GUEST)
    assert machine.report().steered == []


def test_a_confirmation_is_made_alone_by_an_agent_that_stopped_asking(world: World, machine: Machine) -> None:
    asks(machine, from_now_on=True)
    machine.session()
    world.process(world.ask(share=True))
    asks(machine, from_now_on=False)

    with pytest.raises(TurnEnded):
        machine.claim()
    world.messages()
    machine.answer("Here I am.", "c-2")
    assert not world.current().shared
    assert "Here I am." in world.platform.said(world.current().owner)[-1]
