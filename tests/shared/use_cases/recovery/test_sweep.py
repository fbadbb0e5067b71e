"""The sweep: what it checks, concurrent sweeps, and errors that must not stop it."""

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from shared.domain.handoffs import MAX_ATTEMPTS, Handoff, State, Step
from shared.domain.offers import Offer
from shared.domain.routes import Place
from shared.domain.sessions import Turn
from shared.errors import NotSent
from shared.ports.queue import InboxEvent, Run, WakeUp
from shared.store.handoffs import Handoffs
from shared.store.inbox import InboxRow
from shared.store.turns import Turns
from shared.use_cases.recovery.sweep import DEAD_LIMIT, LIMIT, sweep
from shared.use_cases.recovery.unsettled_turns import NUDGES, check_offer
from shared.use_cases.sessions.save_session import delete_session
from shared.use_cases.turns.accept_turn import accept_turn
from shared.use_cases.turns.claim_turn import claim_turn
from tests.support.use_case_world import DEADLINE, LEASE, TURN_LEASE, USER, World

NUDGE = 30


def bound(world: World, session_id: str = "s-1") -> Handoff:
    """A handoff whose session has moved and whose kickoff is offered."""
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


def confirmed(world: World) -> Handoff:
    """A handoff whose confirmation is committed and not delivered."""
    handoff = bound(world)
    world.platform.next["send"].append(NotSent("down"))
    world.agents()
    world.turn()
    assert world.latest(handoff).confirmed
    return handoff


def offered(world: World, text: str = "And?") -> Place:
    """The thread of a session that has a turn for some words, whose runs were lost."""
    _, place = world.moved()
    world.say(place, text, "0001")
    world.turn()
    world.runs.waiting.clear()
    return place


def turn_of(world: World, session_id: str = "s-1") -> Turn:
    turn = world.current(session_id).turn
    assert turn is not None
    return turn


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


def test_a_confirmed_handoff_is_only_driven_forward(world: World) -> None:
    handoff = confirmed(world)
    world.queue.waiting.clear()  # the queue lost it, or gave it up
    world.wait(DEADLINE / 1000)

    world.sweep()
    world.turns()

    done = world.latest(handoff)
    assert done.state == State.COMPLETED
    assert len(world.platform.said(world.current().owner)) == 1


def test_two_sweeps_at_once_do_everything_once(world: World) -> None:
    pending_session = world.session("s-pending")
    pending = world.ask(pending_session.id)
    interrupted = claimed(world)
    sent = bound(world, "s-sent")
    world.runs.waiting.clear()
    world.wait(LEASE / 1000)

    with ThreadPoolExecutor(8) as pool:
        for running in [pool.submit(world.sweep) for _ in range(8)]:
            running.result()

    assert world.latest(pending).nudges == 1
    assert (world.latest(interrupted).attempt, world.latest(interrupted).state) == (1, State.PENDING)
    assert [run for run, _ in world.runs.waiting] == [Run("s-sent", turn_of(world, "s-sent").id)]
    assert world.latest(sent).state is State.RUNNING


# --- turns that do not start


def test_a_young_offer_is_left_alone(world: World) -> None:
    offered(world)
    world.wait(NUDGE - 1)
    assert world.sweep() == 0


@pytest.mark.parametrize("offer", [offered, bound], ids=["words", "kickoff"])
def test_a_turn_whose_runs_were_lost_is_sent_again(world: World, offer: Callable[[World], object]) -> None:
    offer(world)
    world.runs.waiting.clear()
    world.wait(NUDGE)

    assert world.sweep() == 1
    assert [run for run, _ in world.runs.waiting] == [Run("s-1", turn_of(world).id)]
    world.turns()

    place = world.current().owner
    assert world.platform.said(place)[-1] == f"reply to {3 if offer is bound else 5}"
    assert world.store.turns.unsettled("s-1") == []


def test_a_turn_of_a_living_executor_is_left_alone(world: World) -> None:
    offered(world)
    assert claim_turn(world.services, Run("s-1", turn_of(world).id)) is not None
    for _ in range(3):
        world.wait(60)
        world.sweep()
        world.store.turns.renew(world.current(), lease_until=world.clock.now() + TURN_LEASE)
    assert world.runs.waiting == []


def test_a_turn_of_a_dead_executor_is_sent_again_after_its_lease(world: World) -> None:
    place = offered(world)
    assert claim_turn(world.services, Run("s-1", turn_of(world).id)) is not None
    world.wait(TURN_LEASE / 1000 - 1)
    world.sweep()
    assert world.runs.waiting == []

    world.wait(1)
    world.sweep()
    world.turns()

    assert world.platform.said(place)[1:] == ["reply to 5"]


def sends(world: World, *, minutes: int = 60) -> list[int]:
    """Sweep once a minute while no executor takes anything; returns when runs were sent, in minutes."""
    sent = []
    for minute in range(1, minutes + 1):
        world.wait(60)
        world.sweep()
        if world.runs.take():
            sent.append(minute)
    return sent


def test_it_is_sent_with_growing_pauses_and_then_given_up(world: World) -> None:
    place = offered(world)

    sent = sends(world)

    assert len(sent) == NUDGES
    pauses = [later - earlier for earlier, later in itertools.pairwise(sent)]
    assert pauses == sorted(pauses)
    assert pauses[-1] > pauses[0]
    world.turns()
    (told,) = world.platform.said(place)[1:]
    assert "the agent did not start" in told
    assert "again" in told
    session = world.current()
    assert (session.turn, session.suspended, session.owner) == (None, False, place)
    assert [message["content"] for message in world.transcript()[4:]] == ["And?"]
    assert len(world.agent.given) == 1, "the kickoff"


def test_words_behind_a_turn_that_was_given_up_are_answered(world: World) -> None:
    place = offered(world)
    world.say(place, "And now?", "0002")
    world.turn()
    sends(world)

    world.turns()

    told, answer = world.platform.said(place)[1:]
    assert "did not start" in told
    assert answer == "reply to 6"


def test_a_claim_starts_the_count_of_nudges_again(world: World) -> None:
    offered(world)
    assert len(sends(world, minutes=10)) >= 3
    assert claim_turn(world.services, Run("s-1", turn_of(world).id)) is not None
    world.runs.waiting.clear()

    assert len(sends(world)) == NUDGES


def test_a_kickoff_that_is_given_up_fails_its_handoff(world: World) -> None:
    world.with_settings(deadline=100 * DEADLINE)
    handoff = bound(world)
    world.runs.waiting.clear()

    assert len(sends(world)) == NUDGES

    failed, session = world.latest(handoff), world.current()
    assert failed.error is not None
    assert (failed.state, failed.error.code) == (State.FAILED, "turn_failed")
    assert (session.owner, session.epoch, session.turn, session.active_handoff) == (session.cli, 2, None, None)
    world.turns()
    assert world.store.turns.unsettled("s-1") == []
    assert world.agent.given == []


def test_a_turn_with_a_closed_row_is_given_up_silently(world: World) -> None:
    place = offered(world)
    row = world.store.inbox.get(place, "0001")
    assert row is not None
    world.store.inbox.close([row], by="stopped")

    sends(world)
    world.turns()

    assert world.platform.said(place)[1:] == []
    assert (world.current().turn, len(world.transcript())) == (None, 4)
    assert world.store.turns.unsettled("s-1") == []


# --- turns that are over and not settled


@pytest.mark.parametrize("ended", ["committed", "stopped"])
def test_a_turn_whose_wake_up_was_lost_is_settled(world: World, ended: str) -> None:
    _, place = world.moved()
    world.say(place, "And?", "0001")
    world.turn()
    if ended == "committed":
        world.agents()
    else:
        world.store.turns.end(world.current(), now=world.clock.now())
    world.queue.waiting.clear()
    world.wait(NUDGE)

    assert world.sweep() == 1
    assert [one.message for one in world.queue.waiting] == [WakeUp(place, "s-1")]
    world.turns()

    assert world.platform.said(place)[1:] == ["reply to 5"]
    assert world.store.turns.unsettled("s-1") == []
    world.wait(10 * DEADLINE / 1000)
    assert world.sweep() == 0


def test_lost_wake_ups_are_sent_again_with_growing_pauses(world: World) -> None:
    _, place = world.moved()
    world.say(place, "And?", "0001")
    world.turn()
    world.agents()
    sent = []
    for minute in range(1, 121):
        world.queue.waiting.clear()
        world.wait(60)
        world.sweep()
        if world.queue.waiting:
            sent.append(minute)

    assert 8 <= len(sent) <= 16, "it is never given up, and costs little"
    world.turns()
    world.wait(900)
    world.sweep()
    world.turns()
    assert world.platform.said(place)[1:] == ["reply to 5"]


def test_an_offer_goes_with_its_session(world: World) -> None:
    offered(world)
    world.store.turns.end(world.current(), now=world.clock.now())
    (offer,) = world.store.turns.unsettled("s-1")
    delete_session(world.services, USER, "s-1")
    world.wait(NUDGE)

    assert world.sweep() == 0
    check_offer(world.services, offer)  # the index may lag
    assert (world.queue.waiting, world.store.turns.unsettled("s-1")) == ([], [])


class FailingTurns(Turns):
    """Turns that fail for one session."""

    def __init__(self, real: Turns, broken: str) -> None:
        super().__init__(real._tables)
        self._broken = broken

    def postpone(self, offer: Offer, *, until: int, nudged_fence: int | None = None) -> bool:
        if offer.session_id == self._broken:
            raise RuntimeError("unexpected")
        return super().postpone(offer, until=until, nudged_fence=nudged_fence)


def test_a_broken_offer_does_not_block_the_others(world: World) -> None:
    for number in range(3):
        bound(world, f"s-{number}")
        world.wait(1)
    world.runs.waiting.clear()
    world.wait(NUDGE)

    sweep(replace(world.services, store=replace(world.store, turns=FailingTurns(world.store.turns, broken="s-0"))))

    assert [run.session_id for run, _ in world.runs.waiting] == ["s-1", "s-2"]


class FailingHandoffs(Handoffs):
    """Handoffs that fail for one session and record the requested limit."""

    def __init__(self, real: Handoffs, broken: str) -> None:
        super().__init__(real._tables)
        self._broken = broken
        self.limit = 0

    def due(self, *, now: int, limit: int) -> Sequence[Handoff]:
        self.limit = limit
        return super().due(now=now, limit=limit)

    def nudge(self, handoff: Handoff, *, now: int) -> bool:
        if handoff.session_id == self._broken:
            raise RuntimeError("unexpected")
        return super().nudge(handoff, now=now)


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


def test_a_dead_wake_up_of_a_confirmed_handoff_is_sent_again(world: World) -> None:
    handoff = confirmed(world)
    world.dead.bury(world.queue.waiting.pop().message)

    world.sweep()
    assert world.dead.letters == []
    world.wait(10 * 60)
    world.sweep()
    world.turns()

    assert world.latest(handoff).state == State.COMPLETED
    assert len(world.platform.said(world.current().owner)) == 1


def test_a_dead_event_of_words_that_a_turn_answers_tells_nothing(world: World) -> None:
    _, place = world.moved()
    world.say(place, "And?", "0001")
    world.turn()
    world.dead.bury(InboxEvent(place, "0001"))

    world.sweep()
    world.turns()

    assert world.platform.said(place)[1:] == ["reply to 5"]


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


@pytest.mark.parametrize("command", ["/new", "/resume s-2", "/handoff chat", "/share"])
@pytest.mark.parametrize("is_busy", [False, True])
def test_words_behind_a_dead_command_are_answered(world: World, command: str, *, is_busy: bool) -> None:
    _, place = world.moved()
    world.runs.waiting.clear()
    if is_busy:
        world.say(place, "first", "0001")
        world.turn()
    for event_id, text in {"0002": command, "0003": "next"}.items():
        world.store.inbox.put(InboxRow(place, event_id, "ada-there", text, world.clock.now(), USER))
    world.dead.bury(InboxEvent(place, "0002"))

    world.sweep()
    world.turns()

    texts = world.platform.said(place)[1:]
    assert len([text for text in texts if "could not answer" in text]) == 1
    assert texts[-1] == f"reply to {7 if is_busy else 5}"
    assert world.store.inbox.new(place, limit=5) == []


def test_a_dead_command_that_has_run_is_only_delivered(world: World) -> None:
    _, place = world.moved()
    world.platform.next["send"].append(NotSent("down"))
    world.say(place, "/new", "0001")
    world.turn()
    world.dead.bury(world.queue.waiting.pop().message)
    fresh = world.store.sessions.at(place)

    world.sweep()
    world.turns()

    (told,) = world.platform.said(place)[1:]
    assert "A new session starts here" in told
    assert world.store.sessions.at(place) == fresh


def test_a_chat_without_the_senders_session_gets_no_notice(world: World) -> None:
    world.say(unrelated := Place("chat", "unrelated"), "hello all", "0001")
    world.dead.bury(world.queue.waiting.pop().message)

    world.sweep()
    world.turns()

    assert not world.platform.posts[unrelated]
    assert not world.store.inbox.new(unrelated, limit=1)


def test_a_dead_event_of_a_committed_turn_is_delivered_again(world: World) -> None:
    _, place = world.moved()
    world.say(place, "And?", "0001")
    world.turn()
    world.agents()
    world.queue.waiting.clear()
    world.dead.bury(InboxEvent(place, "0001"))

    world.sweep()
    world.turns()

    assert world.platform.said(place)[1:] == ["reply to 5"]


def test_a_terminals_turn_that_never_starts_frees_its_session(world: World) -> None:
    world.session()
    accept_turn(world.services, USER, "s-1", epoch=0, turn_id="t-1", text="hello?")
    world.runs.waiting.clear()
    assert world.current().has_live_turn(world.clock.now())

    sends(world)

    assert world.current().turn is None
    said, notice = world.transcript()[2:]
    assert said["content"] == "hello?"
    assert "could not answer" in notice["content"]
    assert not notice.get("internal"), "clients do not show internal messages"


def test_a_broken_dead_letter_does_not_block_the_others(world: World) -> None:
    _, place = world.moved()
    world.say(place, "heard", "0001")
    world.dead.bury(broken := InboxEvent(Place("chat", "x"), ""))  # no table takes an empty key
    world.dead.bury(world.queue.waiting.pop().message)

    world.sweep()

    assert [letter.message for letter in world.dead.letters] == [broken]
    assert len(world.queue.waiting) == 1


def test_a_sweep_asks_no_platform_about_dead_letters(world: World) -> None:
    world.session()
    handoff = world.ask()
    now = world.clock.now()
    claimed = world.store.handoffs.claim(handoff.id, claimant="dead", now=now, lease_until=now + 60_000)
    assert claimed is not None
    world.store.handoffs.step(claimed, Step.OPENING_THREAD, now=now)
    channel = Place("chat", "a thread that names no parent")
    world.store.inbox.put(InboxRow(channel, "0001", "ada-there", "hi", now, USER))
    world.dead.bury(InboxEvent(channel, "0001"))

    world.sweep()

    assert world.dead.letters == []
    assert world.platform.asked == []


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
