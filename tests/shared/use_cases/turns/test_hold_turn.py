"""The lease of a turn: taken, renewed while the agent works, and lost without harm."""

import pytest

from shared.errors import NotYet
from shared.ports.queue import InboxEvent
from shared.use_cases.turns.budget import TurnBudget
from shared.use_cases.turns.hold_turn import heartbeat, release, start_turn
from shared.use_cases.turns.run_turn import run_turn
from tests.support.use_case_world import HOME, TURN_LEASE, World
from tests.support.waiting import eventually


class Holds:
    """Records the visibility time-outs that were set."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def set(self, seconds: int) -> None:
        self.asked.append(seconds)


def test_every_message_first_shortens_its_visibility(world: World) -> None:
    holds = Holds()
    unknown = InboxEvent(HOME, "unknown")
    run_turn(world.services, unknown, TurnBudget(holds, world.clock.now() + 1, tries=1))
    assert holds.asked == [TURN_LEASE // 1000]


def test_lease_and_visibility_are_renewed_during_a_turn(world: World) -> None:
    world.with_settings(turn_lease=600)
    held = start_turn(world.services, world.session(), counts=True)
    holds = Holds()

    with heartbeat(world.services, held, HOME, holds):
        world.clock.time += 500
        eventually(lambda: _lease(world) == world.clock.now() + 600)
        eventually(lambda: 1 in holds.asked)


def _lease(world: World) -> int:
    turn = world.current().turn
    return turn.lease_until if turn else 0


def test_a_second_turn_is_told_when_to_come_back(world: World) -> None:
    start_turn(world.services, world.session(), counts=True)
    world.wait(30)

    with pytest.raises(NotYet) as later:
        start_turn(world.services, world.current(), counts=True)

    assert later.value.after == TURN_LEASE / 1000 - 30


def test_releasing_another_processs_turn_changes_nothing(world: World) -> None:
    mine = start_turn(world.services, world.session(), counts=True)
    world.wait(TURN_LEASE / 1000)
    theirs = start_turn(world.services, world.current(), counts=True)

    release(world.services, mine, uncount=True)

    assert world.current() == theirs
