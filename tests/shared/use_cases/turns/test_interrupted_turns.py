"""Interrupted turns: repeated, noted to the agent, suspended after three strikes, and told to the user."""

from dataclasses import replace

import pytest

from shared.domain.routes import Place
from shared.domain.sessions import Interruption, ResumePending
from shared.errors import AgentFailed, AgentUnavailable, Conflict, SessionSuspended
from shared.use_cases.sessions.resume_session import resume_session
from shared.use_cases.turns.accept_turn import accept_turn
from tests.support.use_case_world import LIMIT, TURN_LEASE, USER, World

HOUR = 3600


class Died(BaseException):
    """The process was killed."""


def die() -> str:
    raise Died


def die_in_a_turn(world: World) -> None:
    world.agent.next.append(die)
    with pytest.raises(Died):
        world.turn()


def out_of_time(world: World) -> None:
    def work_until_the_limit() -> str:
        world.wait(LIMIT / 1000)
        raise AgentUnavailable("the turn's time ran out")

    world.agent.next.append(work_until_the_limit)
    world.turn()


def strike_out(world: World, place: Place) -> None:
    """Let three turns run out of time on one message, then run the queue dry."""
    world.say(place, "poison", "0001")
    for _ in range(3):
        out_of_time(world)
        world.wait(2)
    world.turns()


def answered(world: World, place: Place) -> list[str]:
    return world.platform.said(place)[1:]


@pytest.fixture
def place(world: World) -> Place:
    """The thread of a session that was handed over: four messages."""
    return world.moved()[1]


def test_a_killed_turn_is_repeated_and_the_agent_is_told(world: World, place: Place) -> None:
    world.say(place, "And?", "0001")
    die_in_a_turn(world)
    assert world.current().strikes == 1

    world.turns()

    note = world.agent.notes[-1]
    assert note is not None
    assert "its process died" in note
    assert answered(world, place) == ["reply to 5"]
    session = world.current()
    assert (session.strikes, session.resume_pending, session.suspended) == (0, None, False)


def test_the_note_is_never_stored_nor_sent(world: World, place: Place) -> None:
    world.say(place, "And?", "0001")
    die_in_a_turn(world)
    world.turns()

    note = world.agent.notes[-1]
    assert note is not None
    stored = [str(message) for message in world.transcript()]
    assert not [text for text in [*stored, *answered(world, place)] if "interrupted" in text or note in text]
    assert [message["content"] for message in world.transcript()[4:]] == ["And?", "reply to 5"]


def test_a_turn_out_of_time_marks_and_commits_nothing(world: World, place: Place) -> None:
    world.say(place, "And?", "0001")

    out_of_time(world)

    session = world.current()
    assert session.resume_pending == ResumePending(Interruption.OUT_OF_TIME, world.clock.now())
    assert (session.turn, session.strikes, session.message_count) == (None, 1, 4)
    assert answered(world, place) == []
    world.turns()
    assert answered(world, place) == ["reply to 5"]
    assert "ran out of time" in str(world.agent.notes[-1])


def test_an_unexpected_error_marks_the_turn_for_redelivery(world: World, place: Place) -> None:
    world.say(place, "And?", "0001")
    world.agent.next.append(RuntimeError("unexpected"))
    with pytest.raises(RuntimeError):
        world.turn()

    marked = world.current()
    assert marked.resume_pending is not None
    assert (marked.resume_pending.reason, marked.turn, marked.strikes) == (Interruption.REDELIVERED, None, 1)
    world.turns()
    assert answered(world, place) == ["reply to 5"]
    assert "failed and was started again" in str(world.agent.notes[-1])


def test_a_committed_turn_clears_marks_and_strikes(world: World, place: Place) -> None:
    for number in range(2):
        world.say(place, f"again {number}", f"000{number}")
        out_of_time(world)
        assert world.current().strikes == 1
        world.turns()
        assert (world.current().strikes, world.current().resume_pending) == (0, None)


def test_three_strikes_suspend_the_session(world: World, place: Place) -> None:
    strike_out(world, place)

    session = world.current()
    assert (session.suspended, session.resume_pending, session.strikes, session.turn) == (True, None, 0, None)
    (told,) = answered(world, place)
    assert "interrupted 3 times in a row" in told
    assert "transcript is saved" in told
    assert "/resume s-1" in told
    assert "Your next message starts a new session" in told


def test_the_message_that_was_given_up_is_in_the_transcript(world: World, place: Place) -> None:
    strike_out(world, place)
    assert [message["content"] for message in world.transcript()[4:]] == ["poison"]


def test_a_crash_after_the_suspension_repeats_nothing(world: World, place: Place) -> None:
    session = world.current()
    world.store.sessions.replace(session, replace(session, strikes=3))
    world.say(place, "poison", "0001")
    world.platform.next["send"].append(SystemError("the process dies here"))
    with pytest.raises(SystemError):
        world.turn()

    world.turns()

    assert world.store.sessions.at(place) == "s-1", "no new session for the message that was given up"
    assert len(answered(world, place)) == 1
    assert [message["content"] for message in world.transcript()[4:]] == ["poison"]


def test_a_terminal_reads_why_its_session_is_suspended(world: World) -> None:
    session = world.session()
    world.store.sessions.replace(session, replace(session, strikes=3))
    accept_turn(world.services, USER, "s-1", epoch=0, turn_id="t-1", text="poison")

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


def test_a_suspended_session_refuses_a_terminals_turn(world: World) -> None:
    session = world.session()
    world.store.sessions.replace(session, replace(session, suspended=True))
    with pytest.raises(SessionSuspended, match="transcript is saved"):
        accept_turn(world.services, USER, "s-1", epoch=0, turn_id="t", text="hi")


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
    die_in_a_turn(world)

    world.turns()

    notice, reply = answered(world, place)
    assert "expired" in notice
    assert reply == "reply to 1"


def mark_interrupted(world: World, *, seconds_ago: int) -> None:
    session = world.current()
    at = world.clock.now() - seconds_ago * 1000
    marked = replace(session, resume_pending=ResumePending(Interruption.KILLED, at), strikes=1)
    world.store.sessions.replace(session, marked)


def test_a_busy_agent_costs_no_strike(world: World, place: Place) -> None:
    world.agent.next.extend([AgentUnavailable("busy", after=30)] * 3)
    world.say(place, "And?", "0001")

    world.turn()
    assert (world.current().strikes, world.current().turn) == (0, None)
    assert world.queue.waiting[0].visible_at == world.clock.now() + 30_000
    world.turns()

    assert answered(world, place) == ["reply to 5"]


def test_a_failed_agent_is_reported_and_costs_no_strike(world: World, place: Place) -> None:
    world.agent.next.append(AgentFailed("the key is wrong"))
    world.say(place, "And?", "0001")

    assert world.turns() == 1

    (told,) = answered(world, place)
    assert "I could not answer: the key is wrong" in told
    assert "Your message is saved" in told
    assert world.current().strikes == 0


def test_a_conflict_costs_no_strike(world: World, place: Place) -> None:
    def resume_first() -> str:
        resume_session(world.services, USER, "s-1", epoch=1)
        return "too late"

    world.agent.next.append(resume_first)
    world.say(place, "And?", "0001")
    world.turns()

    assert (world.current().strikes, world.current().resume_pending, len(world.transcript())) == (0, None, 4)
    assert "now lives in the terminal" in "\n".join(answered(world, place))


def test_kickoffs_that_die_never_strike_and_leave_no_mark(world: World) -> None:
    world.session()
    world.process(world.ask())
    for _ in range(4):
        die_in_a_turn(world)
        world.wait(TURN_LEASE / 1000)
        assert world.current().strikes == 0

    world.turns()

    session = world.current()
    assert (session.strikes, session.resume_pending, session.suspended) == (0, None, False)
    assert world.agent.notes == [None] * 5


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


def test_a_session_is_not_suspended_during_its_last_turn(world: World, place: Place) -> None:
    session = world.current()
    world.store.sessions.replace(session, replace(session, strikes=2))
    world.say(place, "slow", "0001")

    def say_more() -> str:
        world.queue.waiting[0].visible_at = world.clock.now()
        world.turn()  # the same wake-up once more, while this one is at work
        assert not world.current().suspended
        return "done after all"

    world.agent.next.append(say_more)
    world.turn()

    assert answered(world, place) == ["done after all"]
    assert world.current().strikes == 0


def test_another_turn_waits_until_the_first_is_over(world: World, place: Place) -> None:
    world.say(place, "one", "0001")
    with pytest.raises(Conflict):
        world.store.sessions.replace(replace(world.current(), version=0), world.current())
    die_in_a_turn(world)
    world.queue.waiting[0].visible_at = world.clock.now()

    world.turn()

    assert len(world.agent.given) == 2  # the kickoff and the killed turn
    began = world.clock.now()
    world.turns()  # it looks now and then; the next one is asked when the lease of the dead is over, and not before
    assert began + TURN_LEASE <= world.clock.now() < began + 2 * TURN_LEASE
    assert len(world.agent.given) == 3
