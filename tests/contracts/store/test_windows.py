"""Another process writes between the reads and the transaction of a transition: nothing is written, and a repeat succeeds."""

import pytest

from shared.domain.handoffs import State, Thread
from shared.domain.routes import Place, cli_place
from shared.errors import Conflict, PlaceBusy
from tests.contracts.store.interleaving import just_before
from tests.contracts.store.world import BROKEN, HOME, NOW, Stage, World, sure
from tests.support.table_backends import Backend

LINK = "https://t.me/1001"
AT_HOME = Thread(HOME, LINK)


def test_a_session_parked_during_a_failure_stays_parked(world: World, backend: Backend) -> None:
    bound = world.handoff(Stage.BOUND, thread=AT_HOME)
    other = world.session("s-2")

    def park() -> None:
        world.store.moves.to_chat(other, HOME, LINK, now=NOW)

    with just_before(backend.tables, park):
        assert world.store.handoffs.fail(bound, BROKEN, now=NOW) is None

    parked = world.current("s-1")
    assert (parked.owner, parked.epoch, parked.active_handoff) == (cli_place("s-1"), 2, None)
    assert sure(world.store.handoffs.get(bound.id)).state is State.CANCELLED


def test_a_session_does_not_return_to_a_place_just_taken(world: World, backend: Backend) -> None:
    first = world.handoff(Stage.CONFIRMED, thread=AT_HOME)
    sure(world.store.handoffs.complete(first, now=NOW))
    second = world.handoff(Stage.BOUND, world.current())
    other = world.session("s-2")

    def settle() -> None:
        world.store.moves.to_chat(other, HOME, LINK, now=NOW)

    with just_before(backend.tables, settle), pytest.raises(Conflict):
        world.store.handoffs.fail(second, BROKEN, now=NOW)

    sure(world.store.handoffs.fail(second, BROKEN, now=NOW))
    assert world.current("s-1").owner == cli_place("s-1")
    assert world.current("s-2").owner == HOME


def test_a_session_that_just_came_back_is_noticed(world: World, backend: Backend) -> None:
    world.store.moves.to_chat(world.session("s-old"), HOME, LINK, now=NOW)
    away = world.store.moves.to_terminal(world.current("s-old"), now=NOW)
    opened = world.handoff(Stage.OPENED, thread=AT_HOME)

    def come_back() -> None:
        world.store.moves.to_chat(away, HOME, LINK, now=NOW)

    with just_before(backend.tables, come_back), pytest.raises(Conflict):
        world.rebind(opened, now=NOW)
    assert world.current("s-1").owner == cli_place("s-1")

    with pytest.raises(PlaceBusy):
        world.rebind(opened, now=NOW)
    assert world.current("s-old").owner == HOME


def test_a_session_that_just_arrived_is_noticed(world: World, backend: Backend) -> None:
    opened = world.handoff(Stage.OPENED, thread=AT_HOME)
    other = world.session("s-2")

    def settle() -> None:
        world.store.moves.to_chat(other, HOME, LINK, now=NOW)

    with just_before(backend.tables, settle), pytest.raises(Conflict):
        world.rebind(opened, now=NOW)
    with pytest.raises(PlaceBusy):
        world.rebind(opened, now=NOW)
    assert (world.current("s-1").owner, world.current("s-2").owner) == (cli_place("s-1"), HOME)


def test_a_session_that_just_left_is_not_parked(world: World, backend: Backend) -> None:
    world.store.moves.to_chat(world.session("s-old"), HOME, LINK, now=NOW)
    elsewhere = Place("slack", "C7")
    opened = world.handoff(Stage.OPENED, thread=AT_HOME, replace=True)

    def leave() -> None:
        world.store.moves.to_chat(world.current("s-old"), elsewhere, "https://slack/C7", now=NOW)

    with just_before(backend.tables, leave), pytest.raises(Conflict):
        world.rebind(opened, now=NOW)

    sure(world.rebind(opened, now=NOW))
    assert (world.current("s-old").owner, world.current("s-old").epoch) == (elsewhere, 2)
    assert world.current("s-1").owner == HOME


def test_of_two_simultaneous_moves_to_a_chat_one_succeeds(world: World, backend: Backend) -> None:
    first, second = world.session("s-1"), world.session("s-2")

    def quicker() -> None:
        world.store.moves.to_chat(second, HOME, LINK, now=NOW)

    with just_before(backend.tables, quicker), pytest.raises(Conflict):
        world.store.moves.to_chat(first, HOME, LINK, now=NOW)
    assert (world.current("s-1").owner, world.current("s-2").owner) == (cli_place("s-1"), HOME)
