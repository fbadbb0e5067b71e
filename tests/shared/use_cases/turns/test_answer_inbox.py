"""The inbox of a place: what is offered, in which order, what ends at once, and places that change their session."""

from dataclasses import replace

import pytest

from shared.domain.handoffs import State
from shared.domain.messages import CUT, digest
from shared.domain.routes import Place
from shared.domain.sessions import Interruption, ResumePending
from shared.errors import AgentFailed, NotSent
from shared.ports.queue import InboxEvent, WakeUp
from shared.store.inbox import InboxRow
from shared.use_cases.sessions.move_to_chat import move_to_chat
from shared.use_cases.sessions.resume_session import resume_session
from shared.use_cases.sessions.save_session import delete_session
from shared.use_cases.turns.answer_inbox import ROWS_PER_TURN
from shared.use_cases.turns.offer_turn import offer_words
from tests.support.use_case_world import DEADLINE, HOME, USER, CompetingAction, World

HUGE = "".join(chr(32 + number * number % 95) for number in range(1_000_000))


def test_messages_before_the_kickoff_are_answered_after_it(world: World) -> None:
    world.session()
    before = world.transcript()
    handoff = world.ask()
    world.process(handoff)
    place = world.current().owner
    world.say(place, "am I early?", "e-1")
    world.turn()
    assert world.agent.given == []

    world.turns()

    done = world.latest(handoff)
    assert done.state is State.COMPLETED
    assert done.receipt is not None
    assert (done.receipt.message_count, done.receipt.digest) == (len(before), digest(before))
    roles = [message["role"] for message in world.transcript()]
    assert roles == ["user", "assistant", "user", "assistant", "user", "assistant"]
    assert world.transcript()[2]["internal"] is True
    assert world.transcript()[4]["content"] == "am I early?"


@pytest.mark.parametrize("end", ["agent fails", "deadline"])
def test_words_before_a_kickoff_that_fails_are_told_where_the_session_is(world: World, end: str) -> None:
    world.session()
    handoff = world.ask()
    world.process(handoff)
    place = world.current().owner
    world.say(place, "am I early?", "e-1")
    world.turn()
    if end == "agent fails":
        world.agent.next.append(AgentFailed("no such model"))
        world.agents()
    else:
        world.wait(DEADLINE / 1000)
        world.sweep()
    assert world.latest(handoff).state is State.FAILED

    world.turns()

    (told,) = world.platform.said(place)
    assert "now lives in the terminal" in told
    assert world.store.inbox.new(place, limit=1) == []
    assert world.store.turns.unsettled("s-1") == []


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


def test_what_a_queue_message_of_no_row_asks_is_nothing(world: World) -> None:
    world.queue.send(InboxEvent(HOME, "never written"), dedupe="x")

    assert world.turns() == 1
    assert world.agent.given == []


def test_a_huge_reply_is_cut_and_its_agent_asked_once(world: World) -> None:
    _, place = world.moved()
    world.agent.next.append(lambda: HUGE)
    world.say(place, "All of it", "0001")

    assert world.turns() == 2, "the offer, and the end of the turn"

    assert world.transcript()[-1]["content"].endswith(CUT)
    assert len(world.agent.given) == 2


def user_words(world: World) -> list[str]:
    return [message["content"] for message in world.transcript()[4:] if message["role"] == "user"]


def test_a_burst_is_answered_in_two_turns(world: World) -> None:
    _, place = world.moved()
    burst = [f"word {number}" for number in range(30)]
    for number, text in enumerate(burst):
        world.say(place, text, f"{number:04}")
    world.turn()
    (offer,) = world.store.turns.unsettled("s-1")
    assert offer.rows == tuple(f"{number:04}" for number in range(ROWS_PER_TURN))

    ran = 1 + world.turns()

    assert user_words(world) == burst
    assert world.platform.said(place)[1:] == [f"reply to {4 + 25}", f"reply to {4 + 25 + 1 + 5}"]
    assert ran == len(burst) + 2, "each message is received once, and each turn wakes the place once"


def test_a_message_that_finds_a_turn_ends_at_once(world: World) -> None:
    _, place = world.moved()
    received: list[int] = []

    def write_more() -> str:
        began = world.clock.now()
        for number in range(2, 7):
            world.say(place, f"word {number}", f"000{number}")
            waiting = world.turn()
            assert waiting is not None
            received.append(waiting.tries)
        assert (world.queue.waiting, world.clock.now()) == ([], began), "nothing is left to poll"
        return "answer to one"

    world.agent.next.append(write_more)
    world.say(place, "word 1", "0001")
    ran = world.turns()

    assert received == [1] * 5
    assert ran == 1 + 2
    assert world.platform.said(place)[1:] == ["answer to one", "reply to 11"]
    assert user_words(world) == [f"word {number}" for number in range(1, 7)]


def test_a_wake_up_that_finds_a_turn_ends_at_once(world: World) -> None:
    _, place = world.moved()
    world.say(place, "one", "0001")
    world.turn()
    offered, runs = world.current(), list(world.runs.waiting)
    for number in range(10):
        world.queue.send(WakeUp(place, "s-1"), dedupe=f"again {number}")

    for _ in range(10):
        assert world.turn() is not None

    assert world.queue.waiting == []
    assert world.current() == offered
    assert world.runs.waiting == runs


@pytest.mark.parametrize("moves_away", [False, True])
def test_a_message_that_is_answered_while_it_is_looked_at_ends_at_once(world: World, moves_away: bool) -> None:
    session, place = world.moved()
    world.say(place, "one", "0001")
    world.say(place, "two", "0002")
    world.turn()

    def answer_both() -> None:
        if world.agents() and moves_away:
            resume_session(world.services, USER, session.id, epoch=world.current().epoch)

    world.services = replace(world.services, platforms=CompetingAction(world, answer_both))
    received = world.turn()

    assert received is not None
    assert received not in world.queue.waiting, "it is not left in the queue to be received again"
    world.turns()
    assert user_words(world) == ["one", "two"]
    assert world.platform.said(place)[1] == "reply to 6"
    told = [post.key for post in world.platform.posts[place] if post.key.startswith("told-")]
    assert told == [], "words that were answered are not also told that the session is elsewhere"


def test_a_reader_that_died_after_its_offer_sends_the_run_when_repeated(world: World) -> None:
    _, place = world.moved()
    world.say(place, "one", "0001")
    waiting = world.queue.waiting[0]
    world.turn()
    world.runs.waiting.clear()  # it died between the write and the queue,
    world.queue.waiting.append(waiting)  # so that its message becomes visible again
    waiting.visible_at = began = world.clock.now()

    world.turns()

    assert world.platform.said(place)[1:] == ["reply to 5"]
    assert world.clock.now() == began


def test_a_wake_up_delivers_what_is_over_before_it_offers(world: World) -> None:
    _, place = world.moved()
    world.say(place, "one", "0001")
    world.turn()
    world.agents()
    world.say(place, "two", "0002")
    world.platform.next["send"].append(NotSent("down"))
    world.turn()
    assert world.platform.said(place)[1:] == []
    assert world.current().turn is None, "no turn is offered before the reply to the words before is delivered"

    world.turns()

    assert world.platform.said(place)[1:] == ["reply to 5", "reply to 7"]


def test_several_turns_that_are_over_are_delivered_in_order(world: World) -> None:
    _, place = world.moved()
    for number in range(3):  # offered by hand: a place does not offer a turn before the last reply is delivered
        row = InboxRow(place, f"000{number}", "ada-there", f"word {number}", world.clock.now(), USER)
        world.store.inbox.put(row)
        world.wait(1)
        offer_words(world.services, world.current(), [row])
        world.agents()
    world.queue.waiting[:-1] = []
    assert len(world.store.turns.unsettled("s-1")) == 3

    world.turn()

    assert world.platform.said(place)[1:] == ["reply to 5", "reply to 7", "reply to 9"]
    assert world.store.turns.unsettled("s-1") == []


def test_of_two_users_at_a_place_each_is_treated_alone(world: World) -> None:
    _, place = world.moved()
    bobs = InboxRow(place, "0002", "bob-there", "mine too?", world.clock.now(), "bob")

    def both_write() -> str:
        world.store.inbox.put(bobs)
        world.say(place, "two", "0003")
        return "answer to one"

    world.agent.next.append(both_write)
    world.say(place, "one", "0001")
    world.turns()

    assert user_words(world) == ["one", "two"]
    assert world.platform.said(place)[1:] == ["answer to one", "reply to 7"]
    assert world.store.inbox.new(place, limit=5) == []


def test_words_of_a_terminal_are_offered_per_epoch(world: World) -> None:
    """A row of an older epoch and one of this epoch are never answered by one turn."""
    session = world.session()
    for epoch, text in ((7, "old"), (0, "new")):
        world.store.inbox.put(InboxRow(session.cli, f"t-{epoch}", USER, text, world.clock.now(), USER, epoch=epoch))
    world.queue.send(WakeUp(session.cli, "s-1"), dedupe="x")

    world.turns()

    assert [message["content"] for message in world.agent.given[0]][2:] == ["new"]
    assert "was not run" in world.transcript()[-1]["content"]
