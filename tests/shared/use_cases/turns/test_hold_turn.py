"""The lease of a turn: taken, renewed while the agent works, and lost without harm."""

import threading

import pytest

from shared.domain.routes import Place
from shared.errors import NotYet
from shared.ports.queue import InboxEvent
from shared.use_cases.turns.budget import MessageHold, TurnBudget
from shared.use_cases.turns.hold_turn import heartbeat, release, start_turn
from shared.use_cases.turns.run_turn import run_turn
from tests.support.use_case_world import HOME, TURN_LEASE, World
from tests.support.waiting import eventually

LATE = 90


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


@pytest.mark.parametrize("failing", ["typing", "extend", "visibility"])
def test_no_failing_beat_ends_the_heartbeat(world: World, monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
    world.with_settings(turn_lease=600)
    held = start_turn(world.services, world.session(), counts=True)
    holds = Holds()
    done: dict[str, int] = {"typing": 0, "extend": 0, "visibility": 0}

    def beat(name: str) -> None:
        done[name] += 1
        if name == failing:
            raise RuntimeError("unexpected")

    monkeypatch.setattr(world.platform, "typing", lambda _: beat("typing"))
    monkeypatch.setattr(world.store.turns, "extend", lambda *_, **__: beat("extend"))
    monkeypatch.setattr(holds, "set", lambda _: beat("visibility"))

    with heartbeat(world.services, held, HOME, holds):
        eventually(lambda: min(done.values()) >= 3)


def test_a_platform_that_hangs_delays_no_renewal(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.with_settings(turn_lease=600)
    held = start_turn(world.services, world.session(), counts=True)
    holds, over = Holds(), threading.Event()

    def hang(_: Place) -> None:
        over.wait(30)

    monkeypatch.setattr(world.platform, "typing", hang)
    with heartbeat(world.services, held, HOME, holds):
        eventually(lambda: len(holds.asked) >= 3)
        over.set()


def test_a_late_renewal_cannot_overwrite_the_end_of_a_turn() -> None:
    sending, answer = threading.Event(), threading.Event()

    class SlowHolds(Holds):
        def set(self, seconds: int) -> None:
            if seconds == LATE:
                sending.set()
                answer.wait(30)
            super().set(seconds)

    slow = SlowHolds()
    hold = MessageHold(slow)
    late = threading.Thread(target=lambda: hold.set(LATE))
    late.start()
    sending.wait(30)
    end = threading.Thread(target=lambda: hold.end(1))
    end.start()
    answer.set()
    for thread in (late, end):
        thread.join(30)
    hold.set(LATE)

    assert slow.asked == [LATE, 1]


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
