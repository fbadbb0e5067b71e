"""Interrupted turns: repeated, noted to the agent, suspended after three strikes, and told to the user."""

from dataclasses import replace

import pytest

from shared.domain.handoffs import State
from shared.domain.routes import Place
from shared.domain.sessions import Interruption, ResumePending, Turn
from shared.errors import AgentFailed, AgentUnavailable
from shared.ports.queue import Run
from shared.use_cases.turns.accept_turn import accept_turn
from tests.support.use_case_world import LIMIT, TURN_LEASE, USER, World

HOUR = 3600


class Died(BaseException):
    """The process was killed."""


def die() -> str:
    raise Died


def die_in_a_run(world: World) -> None:
    """Let the next run claim its turn and die while the agent works."""
    world.agent.next.append(die)
    with pytest.raises(Died):
        world.agents()


def run_out_of_time(world: World) -> None:
    def work_until_the_limit() -> str:
        world.wait(LIMIT / 1000)
        raise AgentUnavailable("the turn's time ran out")

    world.agent.next.append(work_until_the_limit)
    world.agent_run()


def say(world: World, place: Place, text: str, event_id: str) -> None:
    """Say something and let its turn be offered."""
    world.say(place, text, event_id)
    world.turn()


def strike_out(world: World, place: Place) -> None:
    """Let three runs of one turn run out of time, then run the queues dry."""
    say(world, place, "poison", "0001")
    for _ in range(3):
        run_out_of_time(world)
    world.turns()


def living_turn(world: World) -> Turn:
    turn = world.current().turn
    assert turn is not None
    return turn


def answered(world: World, place: Place) -> list[str]:
    return world.platform.said(place)[1:]


@pytest.fixture
def place(world: World) -> Place:
    """The thread of a session that was handed over: four messages."""
    return world.moved()[1]


def test_a_killed_run_is_repeated_and_the_agent_is_told(world: World, place: Place) -> None:
    say(world, place, "And?", "0001")
    die_in_a_run(world)
    assert (living_turn(world).begun, living_turn(world).is_claimed) == (1, True)
    died_at = world.clock.now()

    world.turns()

    note = world.agent.notes[-1]
    assert note is not None
    assert "its process died" in note
    assert answered(world, place) == ["reply to 5"]
    session = world.current()
    assert (session.turn, session.resume_pending, session.suspended) == (None, None, False)
    assert world.clock.now() == died_at + TURN_LEASE, "it is asked again when the lease is over, and not later"


def test_the_note_is_never_stored_nor_sent(world: World, place: Place) -> None:
    say(world, place, "And?", "0001")
    die_in_a_run(world)
    world.turns()

    note = world.agent.notes[-1]
    assert note is not None
    stored = [str(message) for message in world.transcript()]
    assert not [text for text in [*stored, *answered(world, place)] if "interrupted" in text or note in text]
    assert [message["content"] for message in world.transcript()[4:]] == ["And?", "reply to 5"]


def test_a_turn_out_of_time_marks_and_commits_nothing(world: World, place: Place) -> None:
    say(world, place, "And?", "0001")

    run_out_of_time(world)

    session, turn = world.current(), living_turn(world)
    assert session.resume_pending == ResumePending(Interruption.OUT_OF_TIME, world.clock.now())
    assert (turn.is_claimed, turn.begun, turn.tries, session.message_count) == (False, 1, 0, 4)
    assert answered(world, place) == []
    began = world.clock.now()
    world.turns()
    assert answered(world, place) == ["reply to 5"]
    assert "ran out of time" in str(world.agent.notes[-1])
    assert world.clock.now() == began, "nothing is waited for: it is offered again"


def test_an_unexpected_error_offers_the_turn_again(world: World, place: Place) -> None:
    say(world, place, "And?", "0001")
    world.agent.next.append(RuntimeError("unexpected"))
    with pytest.raises(RuntimeError):
        world.agent_run()

    marked, turn = world.current(), living_turn(world)
    assert marked.resume_pending is not None
    assert (marked.resume_pending.reason, turn.is_claimed, turn.begun) == (Interruption.REDELIVERED, False, 1)
    world.turns()
    assert answered(world, place) == ["reply to 5"]
    assert "failed and was started again" in str(world.agent.notes[-1])


def test_each_turn_has_its_own_strikes(world: World, place: Place) -> None:
    for number in range(4):
        say(world, place, f"again {number}", f"000{number}")
        run_out_of_time(world)
        assert living_turn(world).begun == 1
        world.turns()
        assert (world.current().turn, world.current().resume_pending) == (None, None)
    assert not world.current().suspended


def test_three_strikes_suspend_the_session(world: World, place: Place) -> None:
    strike_out(world, place)

    session = world.current()
    assert (session.suspended, session.resume_pending, session.turn) == (True, None, None)
    assert len(world.agent.given) == 1 + 3, "the kickoff, and three runs"
    (told,) = answered(world, place)
    assert "interrupted 3 times in a row" in told
    assert "transcript is saved" in told
    assert "/resume s-1" in told
    assert "Your next message starts a new session" in told


def test_three_killed_runs_suspend_the_session(world: World, place: Place) -> None:
    say(world, place, "poison", "0001")
    began = world.clock.now()
    for _ in range(3):
        die_in_a_run(world)
        world.wait(TURN_LEASE / 1000)
    world.turns()

    assert world.current().suspended
    assert len(answered(world, place)) == 1
    assert len(world.agent.given) == 1 + 3
    assert world.clock.now() == began + 3 * TURN_LEASE, "each one is noticed at the end of its lease, without the sweep"


def test_a_crash_after_the_suspension_repeats_nothing(world: World, place: Place) -> None:
    say(world, place, "poison", "0001")
    for _ in range(3):
        run_out_of_time(world)
    world.agents()  # the one that gives it up
    world.platform.next["send"].append(SystemError("the process dies here"))
    with pytest.raises(SystemError):
        world.turn()

    world.turns()

    assert world.store.sessions.at(place) == "s-1", "no new session for the message that was given up"
    assert len(answered(world, place)) == 1
    assert [message["content"] for message in world.transcript()[4:]] == ["poison"]


def test_the_next_words_bring_the_notice_of_a_suspension_first(world: World, place: Place) -> None:
    say(world, place, "poison", "0001")
    for _ in range(3):
        run_out_of_time(world)
    world.agents()
    world.queue.waiting.clear()  # it died before it woke the place

    world.say(place, "hello again", "0002")
    world.turns()

    told, notice, reply = answered(world, place)
    assert "interrupted 3 times in a row" in told
    assert "A new session starts here" in notice
    assert reply == "reply to 1"


def test_a_terminal_reads_why_its_session_is_suspended(world: World) -> None:
    world.session()
    accept_turn(world.services, USER, "s-1", epoch=0, turn_id="t-1", text="poison")
    for _ in range(3):
        run_out_of_time(world)

    world.turns()

    said, notice = world.transcript()[2:]
    assert said["content"] == "poison"
    assert "interrupted 3 times in a row" in notice["content"]
    assert not notice.get("internal"), "clients do not show internal messages"


def test_a_message_after_a_suspension_starts_a_new_session(world: World, place: Place) -> None:
    strike_out(world, place)

    world.say(place, "hello again", "0002")
    world.turns()

    notice, reply = answered(world, place)[1:]
    assert "suspended" in notice
    assert "/resume s-1" in notice
    assert reply == "reply to 1"
    fresh_id = world.store.sessions.at(place)
    assert fresh_id not in (None, "s-1")
    old, fresh = world.current("s-1"), world.current(str(fresh_id))
    assert (old.owner, old.suspended, len(world.transcript("s-1"))) == (old.cli, True, 5)
    assert (fresh.owner, fresh.message_count) == (place, 2)
    assert "suspended" not in str(world.transcript(fresh.id))


def test_a_suspended_session_that_is_resumed_in_the_chat_goes_on(world: World, place: Place) -> None:
    strike_out(world, place)
    world.say(place, "hello again", "0002")
    world.turns()

    world.say(place, "/resume s-1", "0003")
    world.turns()
    world.say(place, "and on", "0004")
    world.turns()

    assert answered(world, place)[-1] == "reply to 6"
    assert not world.current("s-1").suspended


def test_a_fresh_interruption_continues_the_session(world: World, place: Place) -> None:
    mark_interrupted(world, seconds_ago=HOUR)

    world.say(place, "still here", "0001")
    world.turns()

    assert answered(world, place) == ["reply to 5"]
    assert "Answer the new message first" in str(world.agent.notes[-1])
    assert world.store.sessions.at(place) == "s-1"


def test_an_old_interruption_starts_a_new_session(world: World, place: Place) -> None:
    mark_interrupted(world, seconds_ago=HOUR + 1)

    world.say(place, "anybody?", "0001")
    world.turns()

    notice, reply = answered(world, place)
    assert "expired" in notice
    assert "/resume s-1" in notice
    assert reply == "reply to 1"
    assert world.agent.notes[-1] is None
    assert world.current("s-1").owner == world.current("s-1").cli


def test_a_crash_before_the_new_session_loses_nothing(world: World, place: Place) -> None:
    mark_interrupted(world, seconds_ago=HOUR + 1)
    world.say(place, "anybody?", "0001")
    world.turn()
    die_in_a_run(world)

    world.turns()

    notice, reply = answered(world, place)
    assert "expired" in notice
    assert reply == "reply to 1"


def test_an_old_mark_does_not_expire_a_living_turn(world: World, place: Place) -> None:
    say(world, place, "And?", "0001")
    run_out_of_time(world)
    world.wait(2 * HOUR)  # no executor was to be had
    world.say(place, "still there?", "0002")
    world.turns()

    assert world.store.sessions.at(place) == "s-1"
    assert answered(world, place) == ["reply to 5", "reply to 7"]


def mark_interrupted(world: World, *, seconds_ago: int) -> None:
    session = world.current()
    at = world.clock.now() - seconds_ago * 1000
    marked = replace(session, resume_pending=ResumePending(Interruption.KILLED, at))
    world.store.sessions.replace(session, marked)


def test_a_busy_agent_costs_no_strike(world: World, place: Place) -> None:
    world.agent.next.extend([AgentUnavailable("busy", after=30)] * 3)
    say(world, place, "And?", "0001")

    world.agents()
    turn = living_turn(world)
    assert (turn.begun, turn.tries, turn.is_claimed) == (0, 1, False)
    assert turn.lease_until == world.clock.now() + 30_000
    world.turns()

    assert answered(world, place) == ["reply to 5"]
    assert world.agent.notes[-1] is None


def test_a_failed_agent_is_reported_and_costs_no_strike(world: World, place: Place) -> None:
    world.agent.next.append(AgentFailed("the key is wrong"))
    say(world, place, "And?", "0001")

    world.turns()

    (told,) = answered(world, place)
    assert "I could not answer: the key is wrong" in told
    assert "Your message is saved" in told
    assert "tried several times" not in told
    assert (world.current().turn, world.current().resume_pending) == (None, None)
    assert len(world.agent.given) == 1 + 1


def test_a_kickoff_that_fails_unexpectedly_leaves_no_mark(world: World) -> None:
    world.session()
    handoff = world.ask()
    world.process(handoff)
    for _ in range(2):
        world.agent.next.append(RuntimeError("unexpected"))
        with pytest.raises(RuntimeError):
            world.agent_run()
    assert (world.current().resume_pending, living_turn(world).begun) == (None, 2)

    world.turns()

    assert world.latest(handoff).state is State.COMPLETED
    assert world.agent.notes == [None] * 3


def test_three_dead_kickoffs_fail_the_handoff_and_suspend_nothing(world: World) -> None:
    world.session()
    handoff = world.ask()
    world.process(handoff)
    for _ in range(3):
        die_in_a_run(world)
        world.wait(TURN_LEASE / 1000)

    world.turns()

    failed, session = world.latest(handoff), world.current()
    assert failed.error is not None
    assert (failed.state, failed.error.code) == (State.FAILED, "turn_failed")
    assert "interrupted 3 times" in failed.error.message
    assert (session.owner, session.turn, session.suspended, session.resume_pending) == (session.cli, None, False, None)
    assert len(world.agent.given) == 3


def test_a_kickoff_tells_the_agent_of_an_interruption(world: World) -> None:
    world.session()
    mark_interrupted(world, seconds_ago=5)

    world.process(world.ask())
    world.turns()

    assert "Say that you are back" in str(world.agent.notes[-1])
    assert world.current().resume_pending is None


def test_an_unfinished_tool_call_gets_the_weaker_note(world: World) -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": {"name": "deploy"}}]}
    world.session(messages=[{"role": "user", "content": "deploy it"}, call])

    world.process(world.ask())
    world.turns()

    assert "tool call whose result never arrived" in str(world.agent.notes[-1])


def test_tool_results_without_an_answer_get_a_note(world: World) -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": {"name": "deploy"}}]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "deployed"}
    world.session(messages=[{"role": "user", "content": "deploy it"}, call, result])

    world.process(world.ask())
    world.turns()

    assert "do not run the tools again" in str(world.agent.notes[-1])


def test_without_a_freshness_window_a_session_never_expires(world: World, place: Place) -> None:
    world.with_settings(freshness=0)
    mark_interrupted(world, seconds_ago=100 * HOUR)

    world.say(place, "still here", "0001")
    world.turns()

    assert answered(world, place) == ["reply to 5"]


def test_a_session_is_not_suspended_during_its_last_run(world: World, place: Place) -> None:
    say(world, place, "slow", "0001")
    for _ in range(2):
        run_out_of_time(world)

    def look_again() -> str:
        for _ in range(3):
            world.runs.send(Run("s-1", living_turn(world).id))
        world.agents()  # copies of the same run, while this one is at work
        assert not world.current().suspended
        return "done after all"

    world.agent.next.append(look_again)
    world.turns()

    assert answered(world, place) == ["done after all"]
    assert not world.current().suspended
    assert len(world.agent.given) == 1 + 3


def test_suspended_wins_over_a_mark(world: World, place: Place) -> None:
    mark_interrupted(world, seconds_ago=1)
    session = world.current()
    world.store.sessions.replace(session, replace(session, suspended=True))

    world.say(place, "hello", "0001")
    world.turns()

    notice, reply = answered(world, place)
    assert "is suspended" in notice
    assert (reply, world.agent.notes[-1]) == ("reply to 1", None)
    assert world.store.sessions.at(place) != "s-1"


def test_a_mark_stays_until_a_turn_has_completed(world: World, place: Place) -> None:
    mark_interrupted(world, seconds_ago=60)
    say(world, place, "And?", "0001")
    assert world.current().resume_pending is not None, "an offer clears nothing"
    run_out_of_time(world)
    marked = world.current().resume_pending
    assert marked is not None
    assert marked.reason is Interruption.OUT_OF_TIME, "the newest interruption is told"
    world.turns()
    assert world.current().resume_pending is None


def test_a_deleted_session_is_not_revived(world: World, place: Place) -> None:
    mark_interrupted(world, seconds_ago=1)
    world.store.sessions.delete(world.current())

    world.say(place, "still there?", "0001")
    world.turns()

    (notice,) = answered(world, place)
    assert "No session lives here" in notice
    assert world.store.sessions.get("s-1") is None
