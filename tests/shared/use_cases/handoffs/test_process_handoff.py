"""Processing a handoff: temporary errors lead back to pending, permanent ones fail it."""

from dataclasses import replace

import pytest

from shared.domain.handoffs import MAX_ATTEMPTS, Handoff, State, Step
from shared.errors import Ambiguous, NotSent, PlaceGone, PlatformError, RateLimited, Rejected, ThreadRefused
from shared.ports.queue import Kickoff, Run
from shared.store.bundle import Store
from shared.use_cases.handoffs.process_handoff import open_thread, rebind
from tests.support.use_case_world import DEADLINE, HOME, LEASE, TURN_LEASE, World


def test_a_handoff_moves_its_session_and_offers_the_kickoff(world: World) -> None:
    world.session()
    handoff = world.ask()

    world.process(handoff)

    session, running = world.current(), world.latest(handoff)
    assert (session.owner.route, session.epoch, session.active_handoff) == ("chat:home:t1", 1, handoff.id)
    assert (running.state, running.bound_epoch) == (State.RUNNING, 1)
    (offer,) = world.store.turns.unsettled("s-1")
    assert session.turn is not None
    assert (session.turn.id, session.turn.is_claimed) == (offer.id, False)
    assert (offer.handoff_id, offer.place, offer.epoch, offer.rows) == (handoff.id, session.owner, 1, ())
    now = world.clock.now()
    assert world.runs.waiting == [(Run("s-1", offer.id), now), (Run("s-1", offer.id), now + TURN_LEASE)]
    assert world.queue.waiting == [], "no hop by the queue of places"


def test_processing_twice_is_processing_once(world: World) -> None:
    world.session()
    handoff = world.ask()
    world.process(handoff)
    before = world.latest(handoff)

    world.process(handoff)

    assert world.latest(handoff) == before
    assert (len(world.platform.threads), len(world.store.turns.unsettled("s-1"))) == (1, 1)
    world.turns()
    assert len(world.platform.said(world.current().owner)) == 1
    assert len(world.agent.given) == 1


def claimed_by_a_dead_one(world: World, *, bound: bool = False) -> Handoff:
    """A handoff whose first attempt died: before anything was done, or right after the session moved."""
    world.session()
    handoff = world.ask()
    now = world.clock.now()
    claimed = world.store.handoffs.claim(handoff.id, claimant="dead", now=now, lease_until=now + LEASE)
    assert claimed is not None
    if bound:
        rebind(world.services, open_thread(world.services, claimed))
    return handoff


def test_a_repeated_record_queues_a_check_at_the_lease_end(world: World) -> None:
    handoff = claimed_by_a_dead_one(world)

    world.process(handoff)
    world.turn()
    assert world.latest(handoff).state is State.RUNNING
    world.wait(LEASE / 1000)
    world.turn()

    assert world.latest(handoff).state is State.PENDING
    assert not world.queue.waiting
    world.process(handoff)
    world.turns()
    assert (world.latest(handoff).state, world.latest(handoff).attempt) == (State.COMPLETED, 1)


def test_a_check_of_a_finished_handoff_changes_nothing(world: World) -> None:
    handoff = claimed_by_a_dead_one(world)
    world.process(handoff)  # a repeated record, while the first process is still alive
    rebind(world.services, open_thread(world.services, world.latest(handoff)))

    world.turns()

    assert (world.latest(handoff).state, world.latest(handoff).attempt) == (State.COMPLETED, 0)
    assert len(world.platform.posts[world.current().owner]) == 1


def test_an_attempt_that_died_after_the_move_is_taken_over(world: World) -> None:
    handoff = claimed_by_a_dead_one(world, bound=True)
    world.runs.waiting.clear()  # it died before it sent them
    began = world.clock.now()

    world.process(handoff)  # the stream repeats the record
    world.turns()

    assert (world.latest(handoff).state, world.clock.now()) == (State.COMPLETED, began)
    assert (len(world.platform.threads), len(world.platform.posts[world.current().owner])) == (1, 1)


def test_a_repeated_record_sends_no_run_for_a_claimed_kickoff(world: World) -> None:
    world.session()
    handoff = world.ask()
    world.process(handoff)

    def repeat() -> str:
        world.runs.waiting.clear()
        world.process(handoff)
        assert world.runs.waiting == []
        return "I am here"

    world.agent.next.append(repeat)
    world.turns()

    assert world.platform.said(world.current().owner) == ["I am here"]


def bound_without_turn(world: World) -> Handoff:
    """A handoff whose session has moved, and whose kickoff was taken back from the executor that it was offered to."""
    handoff = claimed_by_a_dead_one(world, bound=True)
    session = world.current()
    world.store.sessions.replace(session, replace(session, turn=None))
    for offer in world.store.turns.unsettled("s-1"):
        world.store.turns.settled(offer)
    world.runs.waiting.clear()
    return handoff


@pytest.mark.parametrize("words_first", [False, True], ids=["", "words come first"])
def test_a_kickoff_that_was_taken_back_is_offered(world: World, words_first: bool) -> None:
    handoff = bound_without_turn(world)
    place = world.current().owner
    if words_first:
        world.say(place, "am I early?", "0001")
    world.queue.send(Kickoff(place, handoff.id), dedupe="kickoff")

    world.turns()

    assert world.latest(handoff).state is State.COMPLETED
    answers = ["reply to 3", "reply to 5"] if words_first else ["reply to 3"]
    assert world.platform.said(place) == answers


def test_a_repeated_kickoff_message_offers_nothing_more(world: World) -> None:
    handoff = bound_without_turn(world)
    place = world.current().owner
    for number in range(3):
        world.queue.send(Kickoff(place, handoff.id), dedupe=f"kickoff {number}")

    assert world.turns() == 3 + 1, "each message once, and the wake-up at the end"

    assert world.platform.said(place) == ["reply to 3"]
    assert len(world.agent.given) == 1


def test_a_rate_limit_sets_not_before_and_counts_no_attempt(world: World) -> None:
    world.session()
    handoff = world.ask()
    world.platform.next["open_thread"].append(RateLimited(77))

    world.process(handoff)
    world.process(handoff)  # the stream shows that it is pending again: not before its time

    waiting = world.latest(handoff)
    assert (waiting.state, waiting.attempt, waiting.not_before) == (State.PENDING, 0, world.clock.now() + 77_000)
    assert waiting.error is not None
    assert waiting.error.code == "rate_limited"
    assert world.platform.asked == ["resolve_chat", "open_thread"]
    world.wait(77)
    world.sweep()  # which nudges it: the stream shows it once more
    world.process(handoff)
    world.turns()
    assert world.latest(handoff).state == State.COMPLETED
    assert world.latest(handoff).error is None


def test_a_rate_limit_waits_in_the_queue_and_blocks_no_place(world: World) -> None:
    world.session()
    handoff = world.ask()
    world.platform.next["open_thread"].append(RateLimited(7))
    world.process(handoff)

    world.turn()
    assert world.latest(handoff).nudges == 0
    world.wait(7)
    world.turn()

    assert world.latest(handoff).nudges == 1
    assert not world.queue.waiting
    world.process(handoff)
    world.turns()
    assert world.latest(handoff).state == State.COMPLETED


def test_a_rate_limit_beyond_the_deadline_fails_at_once(world: World) -> None:
    world.session()
    handoff = world.ask()
    world.platform.next["open_thread"].append(RateLimited(DEADLINE / 1000 + 1))

    world.process(handoff)

    failed, session = world.latest(handoff), world.current()
    assert failed.state == State.FAILED
    assert failed.error is not None
    assert failed.error.code == "rate_limited"
    assert (session.owner, session.epoch, session.active_handoff) == (session.cli, 0, None)


@pytest.mark.parametrize("trouble", [NotSent("down"), Ambiguous("reset")], ids=["not sent", "ambiguous"])
def test_temporary_errors_are_retried_with_growing_pauses(world: World, trouble: PlatformError) -> None:
    world.session()
    handoff = world.ask()
    world.platform.next["open_thread"].extend([trouble] * MAX_ATTEMPTS)
    pauses = []

    for _ in range(MAX_ATTEMPTS):
        now = world.latest(handoff)
        pauses.append(max(0, now.not_before - world.clock.now()))
        world.wait(pauses[-1] / 1000)
        world.process(handoff)

    failed, session = world.latest(handoff), world.current()
    assert pauses == sorted(pauses)
    assert (failed.state, failed.attempt) == (State.FAILED, MAX_ATTEMPTS - 1)
    assert failed.error is not None
    assert failed.error.code == "platform_unavailable"
    assert (session.owner, session.active_handoff) == (session.cli, None)


@pytest.mark.parametrize(
    ("refusal", "code"),
    [
        (Rejected("no rights"), "platform_refused"),
        (PlaceGone("chat not found"), "chat_not_found"),
    ],
)
def test_a_refusal_fails_at_once_and_says_why(world: World, refusal: Rejected, code: str) -> None:
    world.session()
    handoff = world.ask()
    world.platform.next["open_thread"].append(refusal)

    world.process(handoff)

    failed = world.latest(handoff)
    assert failed.state == State.FAILED
    assert failed.error is not None
    assert (failed.error.code, failed.error.message) == (code, str(refusal))
    assert world.current().owner == world.current().cli
    assert world.queue.waiting == []


def test_a_chat_without_threads_is_used_unless_required(world: World) -> None:
    world.session("s-1")
    world.session("s-2")
    plain, strict = world.ask("s-1"), world.ask("s-2", require_thread=True)
    world.platform.next["open_thread"].extend([ThreadRefused("no topics"), ThreadRefused("no topics")])

    world.process(plain)
    world.process(strict)

    moved, failed = world.latest(plain), world.latest(strict)
    assert world.current("s-1").owner == HOME
    assert moved.notice is not None
    assert "no topics" in moved.notice
    assert failed.error is not None
    assert (failed.state, failed.error.code) == (State.FAILED, "thread_refused")


def test_another_attempt_adopts_the_opened_thread(world: World) -> None:
    world.session()
    handoff = world.ask()
    world.platform.accepts_before_failing = True
    world.platform.next["open_thread"].append(Ambiguous("reset after acceptance"))

    world.process(handoff)
    world.process(handoff)

    assert [place.thread for place in world.platform.threads] == ["t1"]
    assert world.current().owner.thread == "t1"
    assert world.platform.asked == ["resolve_chat", "open_thread", "resolve_chat", "find_thread"]


def test_without_find_thread_one_thread_at_most_is_orphaned(store: Store) -> None:
    world = World(store, idempotency="none")
    world.session()
    handoff = world.ask()
    world.platform.accepts_before_failing = True
    world.platform.next["open_thread"].append(Ambiguous("reset after acceptance"))

    world.process(handoff)
    world.process(handoff)

    assert [place.thread for place in world.platform.threads] == ["t1", "t2"]
    assert world.current().owner.thread == "t2"


def test_who_was_frozen_while_another_took_over_writes_nothing(world: World) -> None:
    """The lease expires during a slow call to the platform, and another process completes the handoff."""
    world.session()
    handoff = world.ask()

    def take_over() -> None:
        world.wait(LEASE / 1000)
        world.sweep()
        world.process(handoff)

    world.platform.next["open_thread"].append(take_over)

    world.process(handoff)
    world.turns()

    done, session = world.latest(handoff), world.current()
    assert (done.state, done.fence, done.attempt) == (State.COMPLETED, 2, 1)
    assert (session.epoch, session.owner.thread) == (1, "t1")
    assert [len(world.platform.said(session.owner)), len(world.transcript())] == [1, 4]


def test_a_session_that_moved_fails_the_handoff(world: World) -> None:
    session = world.session()
    handoff = world.ask()

    def resume() -> None:
        world.store.moves.to_terminal(world.current(), now=world.clock.now())

    world.platform.next["open_thread"].append(resume)

    world.process(handoff)

    cancelled = world.latest(handoff)
    assert (cancelled.state, cancelled.has_done(Step.MOVED)) == (State.CANCELLED, False)
    assert (world.current().owner, world.current().epoch) == (session.cli, 1)
