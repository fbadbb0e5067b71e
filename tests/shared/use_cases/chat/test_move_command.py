"""`/handoff PLATFORM` in a thread: one handoff per command, a link or the reason in the old thread, words that wait."""

from dataclasses import replace

import pytest

from shared.domain.handoffs import Handoff, State
from shared.domain.limits import Limits
from shared.domain.routes import Place
from shared.domain.sessions import Executor
from shared.errors import AgentFailed, NotSent, Rejected
from shared.ports.inbound import WebhookRequest
from shared.store.bundle import store_on
from shared.use_cases.chat.receive_message import receive_message
from shared.use_cases.handoffs.cancel_handoff import cancel_handoff
from shared.use_cases.handoffs.request_handoff import HandoffRequest, request_handoff
from shared.use_cases.sessions.resume_session import resume_session
from tests.support.fake_platform import FakePlatforms
from tests.support.machine import Machine, arrive
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import DEADLINE, HOME, USER, World


@pytest.fixture
def place(world: World) -> Place:
    """The thread of a session that was handed over: four messages, epoch 1."""
    place = world.moved()[1]
    world.runs.waiting.clear()
    return place


def told(world: World, place: Place) -> list[str]:
    """What stands in the old thread after the confirmation."""
    return world.platform.said(place)[1:]


def requested(world: World) -> list[Handoff]:
    """The handoffs that chats asked for."""
    found = world.store.handoffs.list(USER, session_id=None, state=None, limit=20)
    return [handoff for handoff in found if handoff.command is not None]


def asked(world: World, place: Place, text: str = "/handoff chat", event_id: str = "0002") -> Handoff:
    """A pending handoff that was asked for in the thread."""
    arrive(world, place, event_id, text)
    world.messages()
    (handoff,) = requested(world)
    assert handoff.state is State.PENDING
    return handoff


def finish(world: World, handoff: Handoff) -> Handoff:
    world.process(handoff)
    world.turns()
    return world.latest(handoff)


def test_the_session_moves_and_the_old_thread_has_the_link(world: World, place: Place) -> None:
    handoff = finish(world, asked(world, place))

    session = world.current()
    assert (handoff.state, handoff.error, handoff.origin) == (State.COMPLETED, None, place)
    assert handoff.thread is not None
    assert (session.owner, session.epoch, session.active_handoff) == (handoff.thread.place, 2, None)
    assert session.owner != place
    first, last = told(world, place)
    assert "Moving this session to chat" in first
    assert handoff.thread.url in last
    assert "/resume s-1" in last
    assert world.platform.said(session.owner) == ["reply to 5"], "the kickoff has the whole conversation"


def test_the_agent_is_told_where_it_came_from_and_the_first_words(world: World, place: Place) -> None:
    finish(world, asked(world, place, "/handoff CHAT now write  the tests"))

    prompt = str(world.transcript()[4]["content"])
    assert "handed off from a chat chat to this chat chat" in prompt
    assert prompt.endswith("\n\nnow write  the tests")


def test_words_after_the_move_are_answered_with_where_it_lives(world: World, place: Place) -> None:
    handoff = finish(world, asked(world, place))
    arrive(world, place, "0003", "are you here?")
    world.turns()

    assert handoff.thread is not None
    assert handoff.thread.url in told(world, place)[-1]
    assert "now lives in" in told(world, place)[-1]
    assert len(world.transcript()) == 6


def test_words_while_it_is_pending_wait_for_the_end(world: World, place: Place) -> None:
    handoff = asked(world, place)
    arrive(world, place, "0001", "delivered late")
    arrive(world, place, "0003", "are you here?")
    world.messages()
    assert world.current().turn is None, "nothing is begun that the move would cut off"
    assert len(told(world, place)) == 1

    finish(world, handoff)

    assert "now lives in" in told(world, place)[-1]
    assert world.store.inbox.new(place, limit=5) == []


def test_words_wait_for_a_handoff_of_a_terminal_too(world: World, place: Place) -> None:
    handoff = world.ask(key="from the terminal", epoch=1)
    arrive(world, place, "0001", "are you here?")
    world.messages()
    assert world.current().turn is None

    world.process(handoff)
    world.turns()

    assert world.latest(handoff).state is State.COMPLETED
    texts = told(world, place)
    assert sum("This session moved to chat: https://" in text for text in texts) == 1
    assert sum("now lives in" in text for text in texts) == 1


def test_a_redelivered_command_makes_no_second_handoff(world: World, place: Place) -> None:
    handoff = asked(world, place)
    for _ in range(3):
        world.queue.forget()
        arrive(world, place, "0002", "/handoff chat")
        world.wait(3)
        world.messages()
    finish(world, handoff)
    world.queue.forget()
    arrive(world, place, "0002", "/handoff chat")
    world.turns()

    assert requested(world) == [world.latest(handoff)]
    assert len(told(world, place)) == 2
    assert len(world.platform.threads) == 2


def test_a_command_that_died_before_it_answered_finds_its_handoff(world: World, place: Place) -> None:
    """The handoff was written and is completed before the command runs again."""
    arrive(world, place, "0002", "/handoff chat")
    world.platform.next["send"].append(NotSent("down"))
    world.turn()
    (handoff,) = requested(world)

    finish(world, handoff)

    assert len(requested(world)) == 1
    assert ["Moving" in told(world, place)[0], "moved to" in told(world, place)[1]] == [True, True]
    assert world.store.inbox.new(place, limit=5) == []


def test_the_end_is_told_even_if_its_hint_is_lost(world: World, place: Place) -> None:
    handoff = asked(world, place)
    world.process(handoff)
    world.agents()
    world.messages()
    world.queue.waiting = [one for one in world.queue.waiting if not one.line.startswith("ended")]
    world.turns()

    assert world.latest(handoff).state is State.COMPLETED
    assert "moved to chat" in told(world, place)[-1]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("/handoff", "`/handoff chat`"),
        ("/handoff   ", "Say where this session shall go"),
        ("/handoff pigeons", "'pigeons' is not a known platform. Choose one of: chat"),
        ("/handoff chat " + "x" * 4001, "at most 4000 characters"),
    ],
)
def test_a_command_that_names_no_place_is_answered(world: World, place: Place, text: str, answer: str) -> None:
    before = world.current()
    arrive(world, place, "0002", text)
    world.turns()

    (said,) = told(world, place)
    assert answer in said
    assert (requested(world), world.current()) == ([], before)
    arrive(world, place, "0003", "go on")
    world.turns()
    assert told(world, place)[-1] == "reply to 5"


def test_without_a_home_there_it_says_what_to_do(world: World, place: Place) -> None:
    world.store.accounts.forget(USER)
    world.store.accounts.add_identity(USER, "chat", "ada-there")
    arrive(world, place, "0002", "/handoff chat")
    arrive(world, place, "0003", "/handoff")
    world.turns()

    named, plain = told(world, place)
    assert "You have no home on chat" in named
    assert "/sethome" in named
    assert "/sethome" in plain
    assert requested(world) == []


@pytest.mark.parametrize("home", [True, False])
def test_where_no_session_of_the_sender_lives_nothing_moves(world: World, *, home: bool) -> None:
    world.session()
    place = HOME if home else Place("chat", "home", "t9")
    body = f"0001|{place.thread or ''}|/handoff chat".encode()
    receive_message(world.services, "chat", WebhookRequest(body, {"signature": "good"}))
    world.turns()

    assert requested(world) == []
    (said,) = world.platform.said(place)
    assert "/resume" in said


def test_in_the_old_thread_it_says_where_the_session_is(world: World, place: Place) -> None:
    finish(world, asked(world, place))
    arrive(world, place, "0003", "/handoff chat")
    world.turns()

    assert len(requested(world)) == 1
    assert "now lives in" in told(world, place)[-1]


def test_while_the_agent_works_it_is_busy_and_stop_is_offered(world: World, place: Place) -> None:
    def work() -> str:
        arrive(world, place, "0002", "/handoff chat")
        world.messages()
        return "done"

    world.agent.next.append(work)
    arrive(world, place, "0001", "one")
    world.turns()

    busy, reply = told(world, place)
    assert "/stop" in busy
    assert reply == "done"
    assert requested(world) == []


def test_an_offered_turn_is_withdrawn_and_its_words_are_closed(world: World, place: Place) -> None:
    arrive(world, place, "0001", "one")
    world.turn()
    assert world.current().turn is not None

    finish(world, asked(world, place))

    assert "What you said before it was not answered" in told(world, place)[0]
    assert len(told(world, place)) == 2
    assert [message["content"] for message in world.transcript()].count("one") == 0
    assert world.store.turns.unsettled("s-1") == []


def test_a_turn_of_a_dead_executor_is_withdrawn(world: World, place: Place) -> None:
    arrive(world, place, "0001", "one")
    world.turn()
    session = world.current()
    (row,) = world.store.inbox.new(place, limit=5)
    world.store.turns.claim(session, [row], claim_id="dead", now=world.clock.now(), lease_until=world.clock.now())

    assert finish(world, asked(world, place)).state is State.COMPLETED
    assert world.current().resume_pending is None


def test_a_turn_that_a_machine_has_not_taken_is_withdrawn(world: World) -> None:
    machine = Machine(world)
    machine.session()
    world.process(world.ask())
    machine.claim()
    machine.begin()
    machine.result("here")
    world.messages()
    place = world.current().owner
    world.runs.waiting.clear()
    arrive(world, place, "0001", "one")
    world.turn()
    assert world.current().turn is not None

    handoff = asked(world, place)
    world.process(handoff)
    turn = world.current().turn
    assert turn is not None
    assert turn.by is Executor.MACHINE, "the kickoff is the machine's too"
    machine.claim()
    machine.begin()
    machine.result("here again")
    world.messages()

    assert world.latest(handoff).state is State.COMPLETED
    assert "moved to chat" in told(world, place)[-1]


def test_a_second_command_while_one_is_pending_is_refused(world: World, place: Place) -> None:
    handoff = asked(world, place)
    arrive(world, place, "0003", "/handoff chat")
    world.messages()

    assert "already" in told(world, place)[-1]
    assert requested(world) == [handoff]
    finish(world, handoff)
    assert "moved to chat" in told(world, place)[-1]


def test_stop_cancels_a_move_that_is_pending(world: World, place: Place) -> None:
    handoff = asked(world, place)
    arrive(world, place, "0003", "/stop")
    world.turns()
    world.process(handoff)

    assert world.latest(handoff).state is State.CANCELLED
    texts = told(world, place)[1:]
    assert sorted("was cancelled" in text for text in texts) == [False, True]
    assert any("still here" in text for text in texts)
    session = world.current()
    assert (session.owner, session.epoch, session.active_handoff) == (place, 1, None)
    arrive(world, place, "0004", "go on")
    world.turns()
    assert told(world, place)[-1] == "reply to 5"


def test_stop_before_the_command_ran_asks_for_nothing(world: World, place: Place) -> None:
    arrive(world, place, "0002", "/handoff chat")
    arrive(world, place, "0003", "/stop")
    world.turns()

    assert requested(world) == []
    assert world.current().active_handoff is None
    (said,) = told(world, place)
    assert "Stopped" in said


def test_a_late_copy_of_stop_cancels_no_later_move(world: World, place: Place) -> None:
    arrive(world, place, "0001", "/stop")
    world.turns()
    handoff = asked(world, place)
    world.wait(600)
    row = world.store.inbox.get(place, "0001")
    assert row is not None
    arrive(world, place, "0001", "/stop")
    world.messages()

    assert world.latest(handoff).is_open


def test_stop_after_the_move_says_that_it_is_too_late(world: World, place: Place) -> None:
    handoff = asked(world, place)
    world.process(handoff)
    arrive(world, place, "0003", "/stop")
    world.messages()

    assert "too late" in told(world, place)[-1]
    world.turns()
    assert world.latest(handoff).state is State.COMPLETED
    assert "moved to chat" in told(world, place)[-1]


def test_a_terminal_can_cancel_it_and_the_thread_is_told(world: World, place: Place) -> None:
    handoff = asked(world, place)
    arrive(world, place, "0003", "and now?")
    cancel_handoff(world.services, USER, handoff.id)
    world.turns()

    _, outcome, reply = told(world, place)
    assert "was cancelled" in outcome
    assert "still here" in outcome
    assert reply == "reply to 5", "what waited is answered"


def test_a_resume_in_the_terminal_ends_it_and_the_thread_is_told(world: World, place: Place) -> None:
    handoff = asked(world, place)
    resume_session(world.services, USER, "s-1", epoch=1)
    world.turns()

    assert world.latest(handoff).state is State.CANCELLED
    assert any("The move to chat was cancelled" in text and "/resume s-1" in text for text in told(world, place))


def test_a_move_that_fails_before_it_leaves_the_session_here(world: World, place: Place) -> None:
    handoff = asked(world, place)
    world.platform.next["resolve_chat"].append(Rejected("the bot was removed from the chat"))
    finish(world, handoff)

    assert world.latest(handoff).state is State.FAILED
    session = world.current()
    assert (session.owner, session.epoch) == (place, 1)
    assert "failed: the bot was removed from the chat. This session is still here" in told(world, place)[-1]


def test_a_kickoff_that_fails_brings_the_session_back(world: World, place: Place) -> None:
    handoff = asked(world, place)
    world.agent.next.append(AgentFailed("no such model"))
    arrive(world, place, "0003", "and now?")
    finish(world, handoff)

    assert world.latest(handoff).state is State.FAILED
    session = world.current()
    assert (session.owner, session.epoch, session.active_handoff) == (place, 3, None)
    assert session.link == world.platform.link(place)
    _, outcome, reply = told(world, place)
    assert "failed: no such model. This session is still here" in outcome
    assert reply == "reply to 5", "what waited is answered where it was said"


def test_a_confirmation_that_is_rejected_brings_the_session_back(world: World, place: Place) -> None:
    handoff = asked(world, place)
    world.process(handoff)
    world.agents()
    world.platform.gone.add(world.current().owner)
    world.turns()

    assert world.latest(handoff).state is State.FAILED
    assert (world.current().owner, world.current().epoch) == (place, 3)
    assert "could not be posted" in told(world, place)[-1]


@pytest.mark.parametrize("bound", [False, True])
def test_a_move_that_expires_brings_the_session_back(world: World, place: Place, *, bound: bool) -> None:
    handoff = asked(world, place)
    if bound:
        world.process(handoff)
        world.runs.waiting.clear()
    world.wait(DEADLINE / 1000 + 1)
    world.sweep()
    world.turns()

    assert world.latest(handoff).state is State.FAILED
    assert (world.current().owner, world.current().epoch) == (place, 3 if bound else 1)
    assert "not done in time" in told(world, place)[-1]


def test_an_old_thread_that_is_gone_stops_nothing(world: World, place: Place) -> None:
    handoff = asked(world, place)
    world.platform.gone.add(place)

    assert finish(world, handoff).state is State.COMPLETED
    assert world.store.inbox.new(place, limit=5) == []
    assert world.queue.waiting == []


def test_a_suspended_session_is_not_moved(world: World, place: Place) -> None:
    session = world.current()
    world.store.sessions.replace(session, replace(session, suspended=True))
    arrive(world, place, "0002", "/handoff chat")
    world.turns()

    assert requested(world) == []
    assert "/resume s-1" in told(world, place)[-1]


def test_a_limit_is_told() -> None:
    world = World(store_on(MemoryTables(), Limits(turns_per_hour=1)))
    place = world.moved()[1]
    arrive(world, place, "0002", "/handoff chat")
    world.turns()

    assert requested(world) == []
    assert "Nothing was moved" in told(world, place)[-1]


def test_a_request_over_http_cannot_take_the_key_of_a_command(world: World, place: Place) -> None:
    """Keys of requests have no line breaks; one that has all the rest is another request."""
    request = HandoffRequest("s-1", "chat", 1)
    first = request_handoff(world.services, USER, request, idempotency_key=f"chat {place.route} 0002").handoff
    cancel_handoff(world.services, USER, first.id)

    assert asked(world, place).id != first.id


def test_words_behind_a_command_that_stop_has_closed_are_answered(world: World, place: Place) -> None:
    arrive(world, place, "0001", "/handoff chat")
    arrive(world, place, "0003", "after both")
    place_line = [one for one in world.queue.waiting if one.line == place.route]
    command_line = [one for one in world.queue.waiting if one not in place_line]
    world.queue.waiting = place_line
    world.messages()
    arrive(world, place, "0002", "/stop")
    world.queue.waiting += command_line
    world.turns()

    assert requested(world) == []
    assert told(world, place)[-1] == "reply to 5"


class WithoutThreads(FakePlatforms):
    def has_threads(self, name: str) -> bool:  # noqa: ARG002  # a fake takes what its port passes
        return False


def test_where_there_are_no_threads_the_chat_takes_it(world: World, place: Place) -> None:
    """The user's session that lives there goes back to its terminal, as with `/resume` typed there."""
    world.services = replace(world.services, platforms=WithoutThreads(world.platform))
    assert asked(world, place).replace


def test_a_chat_without_threads_is_not_moved_to_itself(world: World, place: Place) -> None:
    world.store.accounts.set_home(USER, place)
    world.services = replace(world.services, platforms=WithoutThreads(world.platform))
    arrive(world, place, "0002", "/handoff chat")
    world.turns()

    assert requested(world) == []
    assert "already lives here" in told(world, place)[-1]
