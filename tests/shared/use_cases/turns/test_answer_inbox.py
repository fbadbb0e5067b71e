"""User turns: early messages, several chats, accepted turns, late rows, places that change their session."""

import pytest

from shared.domain.handoffs import State
from shared.domain.messages import CUT, digest
from shared.domain.routes import Place
from shared.domain.sessions import Interruption, ResumePending
from shared.errors import AgentUnavailable, HandoffInFlight
from shared.ports.inbox import InboxRow
from shared.ports.queue import InboxEvent
from shared.use_cases.sessions.move_to_chat import move_to_chat
from shared.use_cases.sessions.save_session import delete_session
from shared.use_cases.turns.accept_turn import accept_turn
from tests.support.use_case_world import HOME, USER, World

HUGE = "".join(chr(32 + number * number % 95) for number in range(1_000_000))


def test_messages_before_the_kickoff_are_answered_after_it(world: World) -> None:
    world.session()
    before = world.transcript()
    handoff = world.ask()
    world.process(handoff)
    kickoff = world.queue.waiting.pop()
    place = world.current().owner
    world.say(place, "am I early?", "e-1")
    world.queue.waiting.append(kickoff)

    world.turns()

    done = world.latest(handoff)
    assert done.state is State.COMPLETED
    assert done.receipt is not None
    assert (done.receipt.message_count, done.receipt.digest) == (len(before), digest(before))
    roles = [message["role"] for message in world.transcript()]
    assert roles == ["user", "assistant", "user", "assistant", "user", "assistant"]
    assert world.transcript()[2]["internal"] is True
    assert world.transcript()[4]["content"] == "am I early?"


def test_the_same_message_number_in_two_chats_is_two_turns(world: World) -> None:
    session, place = world.moved()
    world.say(place, "first chat", "57")
    world.turns()
    elsewhere = Place("chat", "other")
    move_to_chat(world.services, USER, session.id, elsewhere)

    world.say(elsewhere, "second chat", "57")
    world.turns()

    asked = [message["content"] for message in world.transcript() if message["role"] == "user"]
    assert asked[-2:] == ["first chat", "second chat"]
    assert len(world.agent.given) == 3


def test_an_accepted_turn_stays_busy_until_its_next_try(world: World) -> None:
    world.session()
    world.agent.next.append(AgentUnavailable("busy", after=30))
    accept_turn(world.services, USER, "s-1", epoch=0, turn_id="t-1", text="do it")

    world.turn()

    assert world.current().has_live_turn(world.clock.now())
    with pytest.raises(Exception, match="still working"):
        world.ask()
    world.turns()
    assert [message["content"] for message in world.transcript()][-2] == "do it"
    assert world.current().turn is None


def test_a_handoff_and_a_terminal_turn_exclude_each_other(world: World) -> None:
    world.session()
    world.ask()

    with pytest.raises(HandoffInFlight):
        accept_turn(world.services, USER, "s-1", epoch=0, turn_id="t-1", text="too late")


def test_a_row_far_behind_what_was_answered_is_answered_too(world: World) -> None:
    _, place = world.moved()
    for number in range(120):
        row = InboxRow(place, f"m-{number:04}", "ada-there", "old", world.clock.now(), USER)
        world.store.inbox.put(row)
        world.store.inbox.close([row], by="told")

    world.say(place, "from long ago", "a-0001")
    world.turns()

    assert "from long ago" in [message["content"] for message in world.transcript()]


def test_an_expired_session_that_is_resumed_here_goes_on_here(world: World) -> None:
    session, place = world.moved()
    long_ago = world.clock.now() - 2 * world.services.settings.freshness
    current = world.current()
    marked = type(current)(**{**current.__dict__, "resume_pending": ResumePending(Interruption.KILLED, long_ago)})
    world.store.sessions.replace(current, marked)
    world.say(place, "hello?", "e-1")
    world.turns()
    assert world.current().owner.is_cli

    move_to_chat(world.services, USER, session.id, place)
    world.say(place, "back again", "e-2")
    world.turns()

    assert "back again" in [message["content"] for message in world.transcript()]


def test_a_home_whose_session_moved_on_gets_another_one(world: World) -> None:
    world.say(HOME, "hi", "e-1")
    world.turns()
    first = world.store.sessions.at(HOME)
    assert first is not None
    world.session("s-2")
    move_to_chat(world.services, USER, "s-2", HOME)
    delete_session(world.services, USER, "s-2")
    assert world.store.sessions.at(HOME) is None

    world.say(HOME, "hi again", "e-2")
    world.turns()

    second = world.store.sessions.at(HOME)
    assert second not in (None, first)
    assert world.current(first).owner.is_cli
    assert world.transcript(str(second))[0]["content"] == "hi again"


def test_an_unknown_thread_waits_for_a_handoff(world: World) -> None:
    world.session()
    world.ask()
    unknown = Place("chat", "home", "t9")
    world.say(unknown, "anybody?", "e-1")

    world.turn()
    world.wait(120)
    world.turn()

    assert world.queue.waiting
    assert not world.platform.posts[unknown]


def test_what_a_queue_message_of_no_row_asks_is_nothing(world: World) -> None:
    world.queue.send(InboxEvent(HOME, "never written"), dedupe="x")

    assert world.turns() == 1
    assert world.agent.given == []


def test_a_huge_reply_is_cut_and_its_agent_asked_once(world: World) -> None:
    _, place = world.moved()
    world.agent.next.append(lambda: HUGE)
    world.say(place, "All of it", "0001")

    assert world.turns() == 1

    assert world.transcript()[-1]["content"].endswith(CUT)
    assert len(world.agent.given) == 2


def test_a_huge_confirmation_is_cut_and_its_agent_asked_once(world: World) -> None:
    world.agent.next.append(lambda: HUGE)
    world.moved()

    assert world.transcript()[-1]["content"].endswith(CUT)
    assert len(world.agent.given) == 1
