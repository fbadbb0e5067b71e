"""The sweep: what it checks, concurrent sweeps, and errors that must not stop it."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from shared.domain.handoffs import MAX_ATTEMPTS, Handoff, State, Step
from shared.domain.routes import Place
from shared.domain.sessions import TurnLease
from shared.errors import NotSent
from shared.ports.inbox import InboxRow
from shared.ports.queue import InboxEvent, Kickoff
from shared.use_cases.sweep import DEAD_LIMIT, LIMIT, sweep
from shared.use_cases.turns.accept_turn import accept_turn
from shared.use_cases.turns.hold_turn import release, start_turn
from tests.support.use_case_world import DEADLINE, LEASE, TURN_LEASE, USER, World

NUDGE = 30


def bound(world: World, session_id: str = "s-1") -> Handoff:
    """A handoff whose session has moved and whose kickoff waits in the queue."""
    world.session(session_id)
    handoff = world.ask(session_id)
    world.process(handoff)
    return world.latest(handoff)


def claimed(world: World) -> Handoff:
    """A handoff whose claimant died right after the claim."""
    world.session()
    handoff = world.ask()
    world.store.handoffs.claim(
        handoff.id, claimant="gone", now=world.clock.now(), lease_until=world.clock.now() + LEASE
    )
    return handoff


def test_an_unclaimed_pending_handoff_is_nudged(world: World) -> None:
    world.session()
    handoff = world.ask()
    assert world.sweep() == 0

    world.wait(NUDGE)
    world.sweep()

    assert world.latest(handoff).nudges == 1
    assert world.latest(handoff).state == State.PENDING


def test_an_expired_lease_counts_an_attempt(world: World) -> None:
    handoff = claimed(world)
    world.wait(LEASE / 1000)

    world.sweep()

    again = world.latest(handoff)
    assert (again.state, again.attempt, again.not_before) == (State.PENDING, 1, world.clock.now())


def test_after_the_last_attempt_it_fails_and_the_session_is_free(world: World) -> None:
    handoff = claimed(world)
    for attempt in range(MAX_ATTEMPTS):
        assert world.latest(handoff).attempt == attempt
        world.wait(LEASE / 1000)
        world.sweep()
        now = world.clock.now()
        world.store.handoffs.claim(handoff.id, claimant=f"p{attempt}", now=now, lease_until=now + LEASE)

    failed, session = world.latest(handoff), world.current()
    assert failed.state == State.FAILED
    assert failed.error is not None
    assert failed.error.code == "interrupted"
    assert str(MAX_ATTEMPTS) in failed.error.message
    assert (session.owner, session.active_handoff) == (session.cli, None)


@pytest.mark.parametrize("is_bound", [False, True], ids=["before the move", "after the move"])
def test_a_handoff_fails_at_its_deadline(world: World, is_bound: bool) -> None:
    handoff = bound(world) if is_bound else claimed(world)
    world.wait(DEADLINE / 1000)

    world.sweep()

    failed, session = world.latest(handoff), world.current()
    assert failed.state == State.FAILED
    assert failed.error is not None
    assert failed.error.code == "deadline"
    assert (session.owner, session.active_handoff, session.epoch) == (session.cli, None, 2 if is_bound else 0)
    world.turns()
    assert (world.current().epoch, len(world.transcript())) == (session.epoch, 2)


def test_a_turn_that_is_caught_by_the_deadline_commits_nothing(world: World) -> None:
    handoff = bound(world)

    def too_long() -> str:
        world.wait(DEADLINE / 1000)
        world.sweep()
        return "too late"

    world.agent.next.append(too_long)
    world.turns()

    assert world.latest(handoff).state == State.FAILED
    assert world.current().owner == world.current().cli
    assert len(world.transcript()) == 2
    assert world.platform.posts == {}


def test_a_confirmed_handoff_is_only_driven_forward(world: World) -> None:
    handoff = bound(world)
    world.platform.next["send"].append(NotSent("down"))
    world.turn()
    world.queue.waiting.clear()  # the queue lost it, or gave it up
    world.wait(DEADLINE / 1000)

    world.sweep()
    world.turns()

    done = world.latest(handoff)
    assert done.state == State.COMPLETED
    assert len(world.platform.said(world.current().owner)) == 1


def test_a_kickoff_without_a_turn_is_sent_in_another_line(world: World) -> None:
    handoff = bound(world)
    stuck = world.queue.receive()  # by a turn that dies before it does anything
    assert stuck is not None
    world.wait(LEASE / 1000)

    world.sweep()
    again = world.turn()

    assert again is not None
    assert again is not stuck
    assert world.latest(handoff).state == State.COMPLETED
    world.turns()
    assert len(world.platform.said(world.current().owner)) == 1


def test_a_kickoff_whose_turn_is_alive_is_left_alone(world: World) -> None:
    bound(world)
    session = world.current()
    lease = TurnLease("run-x", world.clock.now() + 2 * TURN_LEASE)
    world.store.sessions.replace(session, replace(session, turn=lease))
    world.wait(LEASE / 1000)

    world.sweep()

    assert len(world.queue.waiting) == 1


def test_two_sweeps_at_once_do_everything_once(world: World) -> None:
    pending_session = world.session("s-pending")
    pending = world.ask(pending_session.id)
    interrupted = claimed(world)
    sent = bound(world, "s-sent")
    world.queue.waiting.clear()
    world.wait(LEASE / 1000)

    with ThreadPoolExecutor(8) as pool:
        for running in [pool.submit(world.sweep) for _ in range(8)]:
            running.result()

    assert world.latest(pending).nudges == 1
    assert (world.latest(interrupted).attempt, world.latest(interrupted).state) == (1, State.PENDING)
    assert world.latest(sent).nudges == 1
    assert len(world.queue.waiting) == 1


class FailingHandoffs:
    """A Handoffs port that fails for one handoff and records the requested limit."""

    def __init__(self, real: Any, broken: str) -> None:
        self._real, self._broken = real, broken
        self.limit = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def due(self, *, now: int, limit: int) -> Any:
        self.limit = limit
        return self._real.due(now=now, limit=limit)

    def nudge(self, handoff: Handoff, *, now: int) -> Any:
        if handoff.session_id == self._broken:
            raise RuntimeError("unexpected")
        return self._real.nudge(handoff, now=now)


def test_a_broken_handoff_does_not_block_the_others(world: World) -> None:
    handoffs = []
    for number in range(3):
        world.session(f"s-{number}")
        handoffs.append(world.ask(f"s-{number}"))
        world.wait(1)
    world.wait(NUDGE)
    failing = FailingHandoffs(world.store.handoffs, broken="s-0")
    services = replace(world.services, store=replace(world.store, handoffs=failing))

    sweep(services)

    assert [world.latest(handoff).nudges for handoff in handoffs] == [0, 1, 1]
    assert failing.limit == LIMIT


# --- dead letters


def test_a_dead_unconfirmed_kickoff_fails_its_handoff(
    world: World,
) -> None:
    handoff = bound(world)
    world.dead.bury(world.queue.waiting.pop().message)

    world.sweep()

    failed, session = world.latest(handoff), world.current()
    assert failed.state == State.FAILED
    assert failed.error is not None
    assert failed.error.code == "turn_failed"
    assert (session.owner, session.epoch, session.active_handoff, session.strikes) == (session.cli, 2, None, 0)
    assert world.dead.letters == []


def test_a_dead_kickoff_that_was_confirmed_is_delivered_again(world: World) -> None:
    handoff = bound(world)
    world.platform.next["send"].append(NotSent("down"))
    world.turn()
    world.dead.bury(world.queue.waiting.pop().message)

    world.sweep()
    world.turns()

    assert world.latest(handoff).state == State.COMPLETED
    assert len(world.platform.said(world.current().owner)) == 1


def test_the_user_is_told_of_a_dead_turn_once(world: World) -> None:
    _, place = world.moved()
    world.say(place, "never answered", "0001")
    world.dead.bury(world.queue.waiting.pop().message)

    world.sweep()
    world.turns()
    world.say(place, "next", "0002")
    world.turns()

    told, answer = world.platform.said(place)[1:]
    assert "could not answer" in told
    assert "send it again" in told
    assert answer == "reply to 5"
    assert "never answered" not in [message["content"] for message in world.transcript()]


def test_a_chat_without_the_senders_session_gets_no_notice(world: World) -> None:
    world.say(unrelated := Place("chat", "unrelated"), "hello all", "0001")
    world.dead.bury(world.queue.waiting.pop().message)

    world.sweep()
    world.turns()

    assert not world.platform.posts[unrelated]
    assert not world.store.inbox.new(unrelated, limit=1)


def test_a_dead_committed_turn_is_delivered_again(world: World) -> None:
    _, place = world.moved()
    world.platform.next["send"].append(NotSent("down"))
    world.say(place, "And?", "0001")
    world.turn()
    world.dead.bury(world.queue.waiting.pop().message)

    world.sweep()
    world.turns()

    assert world.platform.said(place)[1:] == ["reply to 5"]


def test_a_dead_turn_of_a_terminal_frees_its_session(world: World) -> None:
    session = world.session()
    accept_turn(world.services, USER, session.id, epoch=0, turn_id="t-1", text="hello?")
    assert world.current().has_live_turn(world.clock.now())
    world.dead.bury(world.queue.waiting.pop().message)

    world.sweep()

    assert not world.current().has_live_turn(world.clock.now())


def test_a_terminal_reads_in_its_transcript_of_a_dead_turn(world: World) -> None:
    session = world.session()
    accept_turn(world.services, USER, session.id, epoch=0, turn_id="t-1", text="hello?")
    world.dead.bury(letter := world.queue.waiting.pop().message)

    for _ in range(2):  # the second one repeats what the first has done
        world.sweep()
        world.turns()
        world.dead.bury(letter)

    (notice,) = world.transcript()[2:]
    assert "could not answer" in notice["content"]
    assert not notice.get("internal"), "clients do not show internal messages"


def test_a_notice_for_a_terminal_waits_for_a_running_turn(world: World) -> None:
    session = world.session()
    accept_turn(world.services, USER, session.id, epoch=0, turn_id="t-1", text="hello?")
    world.dead.bury(world.queue.waiting.pop().message)
    world.sweep()
    held = start_turn(world.services, world.current(), counts=True)

    world.turn()
    assert len(world.transcript()) == 2
    release(world.services, held)
    world.turns()

    assert len(world.transcript()) == 3


def test_a_broken_dead_letter_does_not_block_the_others(world: World) -> None:
    _, place = world.moved()
    world.say(place, "heard", "0001")
    world.dead.bury(broken := Kickoff(Place("nowhere", "x"), ""))  # no table takes an empty key
    world.dead.bury(world.queue.waiting.pop().message)

    world.sweep()

    assert [letter.message for letter in world.dead.letters] == [broken]
    assert len(world.queue.waiting) == 1


def test_one_sweep_answers_for_a_bounded_number_of_dead_letters(world: World) -> None:
    for number in range(DEAD_LIMIT + 15):
        world.dead.bury(InboxEvent(Place("chat", "home", "t9"), f"unknown {number}"))

    world.sweep()

    assert 0 < len(world.dead.letters) <= 15
    world.sweep()
    assert world.dead.letters == []


def test_sweeping_a_finished_world_does_nothing(world: World) -> None:
    world.moved()
    done = list(world.store.handoffs.list(USER, session_id=None, state=None, limit=5))
    world.wait(10 * DEADLINE / 1000)

    assert world.sweep() == 0
    assert list(world.store.handoffs.list(USER, session_id=None, state=None, limit=5)) == done
    assert done[0].has_done(Step.COMPLETED)


def test_answered_rows_of_a_dead_letter_stay_answered(world: World) -> None:
    _, place = world.moved()
    row = InboxRow(place, "0007", "ada-there", "hi", world.clock.now(), USER)
    world.store.inbox.put(row)
    world.store.inbox.close([row], by="told")
    world.dead.bury(InboxEvent(place, "0007"))

    world.sweep()
    world.turns()

    assert len(world.platform.said(place)) == 1
