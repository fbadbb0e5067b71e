"""The executor of turns: it may die, hang or come late at any moment, and the words are answered once."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from shared.domain.handoffs import State
from shared.domain.routes import Place
from shared.domain.sessions import Turn
from shared.errors import AgentFailed, SessionBusy
from shared.ports.queue import Run, TurnMessage
from shared.store.inbox import InboxRow
from shared.use_cases.sessions.append_messages import append_messages
from shared.use_cases.sessions.move_to_chat import move_to_chat
from shared.use_cases.sessions.resume_session import resume_session
from shared.use_cases.sessions.save_session import delete_session
from shared.use_cases.turns.accept_turn import accept_turn
from shared.use_cases.turns.claim_turn import claim_turn
from shared.use_cases.turns.run_for_agent import run_for_agent
from tests.support.use_case_world import LIMIT, TURN_LEASE, USER, World

HOUR = 3600
LEASE = TURN_LEASE / 1000


class Died(BaseException):
    """The process was killed."""


@pytest.fixture
def place(world: World) -> Place:
    """The thread of a session with a turn for `And?`, whose run and its delayed copy wait. No other run does."""
    _, place = world.moved()
    world.runs.waiting.clear()
    world.say(place, "And?", "0001")
    world.turn()
    assert [run for run, _ in world.runs.waiting] == [Run("s-1", turn_of(world).id)] * 2
    return place


def turn_of(world: World) -> Turn:
    turn = world.current().turn
    assert turn is not None
    return turn


def answered(world: World, place: Place) -> list[str]:
    return world.platform.said(place)[1:]


def said(world: World) -> list[str]:
    return [message["content"] for message in world.transcript()[4:]]


def is_settled(world: World) -> bool:
    return world.current().turn is None and not world.store.turns.unsettled("s-1") and not world.queue.waiting


# --- runs that are lost, hidden or repeated


def test_a_run_that_is_hidden_for_an_hour_is_replaced_by_its_copy(world: World, place: Place) -> None:
    hidden = world.runs.receive()
    assert hidden is not None
    began = world.clock.now()
    world.say(place, "/status", "0002")
    world.turn()
    assert "The agent is working on it" in answered(world, place)[0], "commands answer all along"

    world.turns()
    assert answered(world, place)[1:] == ["reply to 5"]
    assert world.clock.now() == began + TURN_LEASE

    world.wait(HOUR)
    run_for_agent(world.services, hidden, remaining=LIMIT)
    world.turns()
    assert (len(answered(world, place)), len(world.agent.given)) == (2, 2)
    assert is_settled(world)
    assert world.runs.waiting == [], "it is dropped"


def test_a_copy_that_finds_the_turn_claimed_goes_on_watching(world: World, place: Place) -> None:
    """The executor works for an hour and dies then; the copy still claims the turn at the end of its lease."""

    def work_for_an_hour() -> str:
        for _ in range(60):
            world.wait(60)
            assert world.store.turns.renew(world.current(), lease_until=world.clock.now() + TURN_LEASE)
            world.agents()
            ((_, due),) = world.runs.waiting
            assert world.clock.now() < due <= world.clock.now() + TURN_LEASE
        raise Died

    world.agent.next.append(work_for_an_hour)
    with pytest.raises(Died):
        world.agents()
    died_at = world.clock.now()

    world.turns()

    assert answered(world, place) == ["reply to 5"]
    assert died_at < world.clock.now() <= died_at + TURN_LEASE


def test_a_run_of_an_unknown_turn_or_session_is_dropped(world: World, place: Place) -> None:
    before = world.current()
    for run in (Run("s-1", "unknown"), Run("unknown", "unknown")):
        run_for_agent(world.services, run, remaining=LIMIT)
    assert world.current() == before
    assert len(world.agent.given) == 1
    assert answered(world, place) == []


# --- the process dies


def dies_before_its_claim(world: World, _: pytest.MonkeyPatch) -> None:
    assert world.runs.receive() is not None


def dies_after_its_claim(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    dies_at(world, monkeypatch, world.store.transcripts, "load")


def dies_before_its_commit(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    dies_at(world, monkeypatch, world.store.turns, "commit")


def dies_at(world: World, monkeypatch: pytest.MonkeyPatch, port: object, name: str) -> None:
    def die(*_: Any, **__: Any) -> None:
        raise Died

    with monkeypatch.context() as patched:
        patched.setattr(port, name, die)
        with pytest.raises(Died):
            world.agent_run()


@pytest.mark.parametrize("dies", [dies_before_its_claim, dies_after_its_claim, dies_before_its_commit])
def test_after_a_death_the_words_are_answered_at_the_end_of_the_lease(
    world: World, place: Place, monkeypatch: pytest.MonkeyPatch, dies: Callable[[World, pytest.MonkeyPatch], None]
) -> None:
    began = world.clock.now()
    dies(world, monkeypatch)

    world.turns()

    assert answered(world, place) == ["reply to 5"]
    assert said(world) == ["And?", "reply to 5"]
    assert world.clock.now() == began + TURN_LEASE
    assert is_settled(world)


class DyingQueue:
    """A queue whose caller dies before anything is sent."""

    def send(self, message: TurnMessage, *, dedupe: str, line: str | None = None) -> None:
        raise Died(message, dedupe, line)


def test_a_death_between_commit_and_wake_up_loses_no_reply(world: World, place: Place) -> None:
    run = world.runs.receive()
    assert run is not None
    with pytest.raises(Died):
        run_for_agent(replace(world.services, queue=DyingQueue()), run, remaining=LIMIT)
    assert said(world) == ["And?", "reply to 5"]
    assert answered(world, place) == []

    world.wait(LEASE)
    world.agents()
    assert len(world.agent.given) == 2, "the copy asks no agent again, and wakes the place"
    world.turns()

    assert answered(world, place) == ["reply to 5"]
    assert is_settled(world)


def test_after_such_a_death_the_next_words_bring_the_reply(world: World, place: Place) -> None:
    run = world.runs.receive()
    assert run is not None
    with pytest.raises(Died):
        run_for_agent(replace(world.services, queue=DyingQueue()), run, remaining=LIMIT)

    world.say(place, "Hello?", "0002")
    world.turns()

    assert answered(world, place) == ["reply to 5", "reply to 7"]


# --- executors that come late


def test_a_zombie_that_comes_back_after_another_reply_is_refused(world: World, place: Place) -> None:
    def freeze() -> str:
        world.wait(LEASE)
        world.agents()  # the copy: another executor claims the turn, and answers
        return "from the zombie"

    world.agent.next.extend([freeze, lambda: "from the other"])
    world.turns()

    assert answered(world, place) == ["from the other"]
    assert said(world) == ["And?", "from the other"]
    assert is_settled(world)


def test_a_zombie_does_not_fail_the_handoff_of_another(world: World) -> None:
    """Its request broke while its process slept; the other executor has the kickoff now."""
    world.session()
    handoff = world.ask()
    world.process(handoff)

    def freeze() -> str:
        world.wait(LEASE)
        assert claim_turn(world.services, Run("s-1", turn_of(world).id)) is not None
        raise AgentFailed("the connection broke")

    world.agent.next.append(freeze)
    world.agent_run()
    assert (turn_of(world).is_claimed, turn_of(world).begun) == (True, 2)
    assert world.latest(handoff).is_open

    world.turns()  # the other one has died

    assert world.latest(handoff).state is State.COMPLETED


# --- what ends a turn while the agent works


def resumed(world: World, _: Place) -> None:
    resume_session(world.services, USER, "s-1", epoch=1)


def resumed_elsewhere(world: World, _: Place) -> None:
    move_to_chat(world.services, USER, "s-1", Place("chat", "elsewhere"))


def parked(world: World, place: Place) -> None:
    """Another session of the user moves to its place."""
    world.session("s-2")
    move_to_chat(world.services, USER, "s-2", place)


@pytest.mark.parametrize("move", [resumed, resumed_elsewhere, parked])
def test_a_move_during_a_run_drops_its_reply(world: World, place: Place, move: Callable[[World, Place], None]) -> None:
    def moves() -> str:
        move(world, place)
        return "too late"

    world.agent.next.append(moves)
    world.turns()

    session = world.current()
    assert (session.epoch, session.turn, session.resume_pending) == (2, None, None)
    assert said(world) == []
    assert "too late" not in [post.text for posts in world.platform.posts.values() for post in posts]


def test_a_session_that_came_back_does_not_revive_its_turn(world: World, place: Place) -> None:
    """Away and back again: the place is the same, and the turn is over nevertheless."""

    def there_and_back() -> str:
        resume_session(world.services, USER, "s-1", epoch=1)
        move_to_chat(world.services, USER, "s-1", place)
        return "too late"

    world.agent.next.append(there_and_back)
    world.turns()

    assert "too late" not in answered(world, place)
    assert said(world) == ["And?", "reply to 5"], "its words are new, so the place offers them again"


def close(world: World, place: Place, *events: str) -> None:
    rows = [world.store.inbox.get(place, event) for event in events]
    world.store.inbox.close([row for row in rows if row is not None], by="stopped")


def test_a_reply_to_closed_words_is_dropped(world: World, place: Place) -> None:
    def closes() -> str:
        close(world, place, "0001")
        return "too late"

    world.agent.next.append(closes)
    began = world.clock.now()
    world.turns()

    assert (answered(world, place), said(world)) == ([], [])
    assert is_settled(world)
    assert world.clock.now() == began, "the place is free at once"


def test_words_beside_closed_ones_are_answered_by_another_turn(world: World) -> None:
    _, place = world.moved()
    for event, text in (("0001", "one"), ("0002", "two")):
        world.store.inbox.put(InboxRow(place, event, "ada-there", text, world.clock.now(), USER))
    world.say(place, "three", "0003")

    def closes() -> str:
        close(world, place, "0001")
        return "too late"

    world.agent.next.append(closes)
    world.turns()

    assert said(world) == ["two", "three", "reply to 6"]
    assert answered(world, place) == ["reply to 6"]


def test_a_turn_whose_words_were_closed_is_not_run(world: World, place: Place) -> None:
    close(world, place, "0001")

    world.turns()

    assert len(world.agent.given) == 1, "the kickoff"
    assert answered(world, place) == []
    assert is_settled(world)


def test_a_transcript_that_grew_is_read_again(world: World) -> None:
    """A terminal whose turn has hung for longer than its lease writes on; the late reply did not see that."""
    world.session()
    accept_turn(world.services, USER, "s-1", epoch=0, turn_id="t-1", text="And?")

    def hang() -> str:
        world.wait(LEASE)
        more = [{"role": "user", "content": "written since"}]
        append_messages(world.services, USER, "s-1", epoch=0, after=2, messages=more)
        return "reply to less"

    world.agent.next.append(hang)
    world.turns()

    contents = [message["content"] for message in world.transcript()[2:]]
    assert contents == ["written since", "And?", "reply to 4"]
    assert "failed and was started again" in str(world.agent.notes[-1])


def test_a_session_with_an_offered_turn_is_not_deleted(world: World, place: Place) -> None:
    world.wait(10 * LEASE)
    with pytest.raises(SessionBusy):
        delete_session(world.services, USER, "s-1")
    world.turns()
    assert answered(world, place) == ["reply to 5"]
