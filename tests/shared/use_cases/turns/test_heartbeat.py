"""The heartbeat of a run: the lease is renewed while the agent works, and a refused renewal cancels the request."""

import threading

import pytest

from shared.domain.routes import Place
from shared.domain.sessions import Session
from shared.errors import AgentCancelled
from shared.ports.queue import Run
from shared.use_cases.sessions.resume_session import resume_session
from shared.use_cases.turns.claim_turn import claim_turn
from shared.use_cases.turns.heartbeat import heartbeat
from tests.support.use_case_world import HOME, USER, World
from tests.support.waiting import eventually

LEASE = 600


@pytest.fixture
def claimed(world: World) -> Session:
    """A session whose turn was claimed with a lease so short that it is renewed every 0.2 seconds."""
    world.with_settings(turn_lease=LEASE)
    _, place = world.moved()
    world.say(place, "And?", "0001")
    world.turn()
    return claim(world)


def claim(world: World) -> Session:
    turn = world.current().turn
    assert turn is not None
    claimed = claim_turn(world.services, Run("s-1", turn.id))
    assert claimed is not None
    return claimed.session


def lease_of(world: World) -> int:
    turn = world.current().turn
    return turn.lease_until if turn else 0


def test_the_lease_is_renewed_while_the_agent_works(world: World, claimed: Session) -> None:
    with heartbeat(world.services, claimed, HOME) as cancellation:
        world.clock.time += 500
        eventually(lambda: lease_of(world) == world.clock.now() + LEASE)
        world.clock.time += 500
        eventually(lambda: lease_of(world) == world.clock.now() + LEASE)
    assert not cancellation.is_cancelled


@pytest.mark.parametrize("failing", ["typing", "renew"])
@pytest.mark.parametrize("error", [RuntimeError("unexpected"), OSError("no network"), ValueError()])
def test_no_failing_beat_ends_the_heartbeat(
    world: World, claimed: Session, monkeypatch: pytest.MonkeyPatch, failing: str, error: Exception
) -> None:
    done = {"typing": 0, "renew": 0}

    def beat(name: str) -> bool:
        done[name] += 1
        if name == failing:
            raise error
        return True

    monkeypatch.setattr(world.platform, "typing", lambda _: beat("typing"))
    monkeypatch.setattr(world.store.turns, "renew", lambda *_, **__: beat("renew"))

    with heartbeat(world.services, claimed, HOME) as cancellation:
        eventually(lambda: min(done.values()) >= 3)
    assert not cancellation.is_cancelled, "an error says nothing about the turn"


def test_a_platform_that_hangs_delays_no_renewal(
    world: World, claimed: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging, over = threading.Event(), threading.Event()

    def hang(_: Place) -> None:
        hanging.set()
        over.wait(30)

    monkeypatch.setattr(world.platform, "typing", hang)
    with heartbeat(world.services, claimed, HOME):
        assert hanging.wait(30)
        for _ in range(3):
            world.clock.time += 500
            eventually(lambda: lease_of(world) == world.clock.now() + LEASE)
        over.set()


def test_typing_is_shown_soon(world: World, claimed: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    world.with_settings(turn_lease=90_000)
    shown: list[Place] = []
    monkeypatch.setattr(world.platform, "typing", shown.append)

    with heartbeat(world.services, claimed, HOME):
        eventually(lambda: shown == [HOME])


def test_typing_is_not_shown_at_once(world: World, claimed: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that answers at once needs none. The lease is renewed after 0.2 seconds, long before typing is due."""
    done: list[str] = []

    def renew(*_: object, **__: object) -> bool:
        done.append("renew")
        return True

    monkeypatch.setattr(world.platform, "typing", lambda _: done.append("typing"))
    monkeypatch.setattr(world.store.turns, "renew", renew)

    with heartbeat(world.services, claimed, HOME):
        eventually(lambda: "typing" in done)
    assert done[0] == "renew"


def test_a_turn_that_was_ended_cancels_the_request(world: World, claimed: Session) -> None:
    closed = threading.Event()
    with heartbeat(world.services, claimed, HOME) as cancellation, cancellation.closing(closed.set):
        assert world.store.turns.end(claimed, now=world.clock.now())
        assert closed.wait(20), "what the agent registered is closed"
    assert cancellation.is_cancelled


def test_a_turn_that_another_executor_has_cancels_the_request(world: World, claimed: Session) -> None:
    world.clock.time += LEASE
    with heartbeat(world.services, claimed, HOME) as cancellation:
        other = claim(world)
        eventually(lambda: cancellation.is_cancelled)
    assert world.current().turn == other.turn, "its lease is not touched"


def test_an_agent_that_is_cancelled_commits_nothing(world: World) -> None:
    world.with_settings(turn_lease=LEASE)
    _, place = world.moved()
    stopped: list[bool] = []

    def work() -> str:
        resume_session(world.services, USER, "s-1", epoch=1)
        stopped.append(world.agent.cancellations[-1].wait(20))
        raise AgentCancelled

    world.agent.next.append(work)
    world.say(place, "And?", "0001")
    world.turns()

    assert stopped == [True]
    assert len(world.transcript()) == 4
    assert world.current().resume_pending is None
