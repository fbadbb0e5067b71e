"""Webhooks: verified, stored once, and queued even after a crash or a redelivery."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from shared.domain.routes import Place
from shared.errors import NotSent, PlatformError, RateLimited, Rejected, Unauthenticated
from shared.ports.inbound import Answer, WebhookRequest
from shared.ports.queue import TurnMessage
from shared.use_cases.chat.receive_message import RECEIVED, receive_message
from tests.support.use_case_world import HOME, World

GOOD = {"signature": "good"}


def post(world: World, event_id: str, thread: str, text: str, *, headers: dict[str, str] | None = None) -> None:
    receive_message(world.services, "chat", WebhookRequest(f"{event_id}|{thread}|{text}".encode(), headers or GOOD))


def test_what_is_not_verified_leaves_nothing(world: World) -> None:
    with pytest.raises(Unauthenticated):
        post(world, "0001", "t1", "hi", headers={"signature": "bad"})
    assert world.store.inbox.new(Place("chat", "home", "t1"), limit=5) == []
    assert world.queue.waiting == []


def test_a_redelivery_of_an_answered_row_queues_nothing(world: World) -> None:
    _, place = world.moved()
    for _ in range(3):
        post(world, "0001", str(place.thread), "once")
    assert len(world.queue.waiting) == 1
    world.turns()

    world.wait(600)  # the queue has forgotten it by now; the row has not
    post(world, "0001", str(place.thread), "once")

    assert world.queue.waiting == []
    assert [message["content"] for message in world.transcript()].count("once") == 1


def test_every_message_of_a_webhook_is_stored_and_answered(world: World) -> None:
    _, place = world.moved()
    body = f"0001|{place.thread}|one\n0002|{place.thread}|two".encode()

    receive_message(world.services, "chat", WebhookRequest(body, GOOD))
    world.turns()

    assert [message["content"] for message in world.transcript()[4:6]] == ["one", "two"]


@pytest.mark.parametrize(("sender", "joined"), [("ada-there", [HOME]), ("stranger", [])])
def test_only_an_invitation_of_a_known_person_is_accepted(world: World, sender: str, joined: list[Place]) -> None:
    receive_message(world.services, "chat", WebhookRequest(f"invited||{sender}".encode(), GOOD))

    assert world.platform.joined == joined


@pytest.mark.parametrize(("addressee", "joined"), [("bot", [HOME]), ("another", [])])
def test_an_invitation_of_another_account_is_ignored(world: World, addressee: str, joined: list[Place]) -> None:
    receive_message(world.services, "chat", WebhookRequest(f"invited||ada-there|{addressee}".encode(), GOOD))

    assert world.platform.joined == joined


def test_a_message_that_is_only_named_is_fetched_and_answered_once(world: World) -> None:
    _, place = world.moved()
    world.platform.announced["m7"] = f"0001|{place.thread}|named"

    for body in ("announced||m7|ada-there", "announced||m7", "announced||unknown|ada-there"):
        receive_message(world.services, "chat", WebhookRequest(body.encode(), GOOD))
    world.turns()

    assert [message["content"] for message in world.transcript()].count("named") == 1
    assert world.platform.said(place)[1:] == ["reply to 5"]


def test_a_named_message_of_a_stranger_is_not_fetched(world: World) -> None:
    _, place = world.moved()
    world.platform.announced["m7"] = f"0001|{place.thread}|hi|stranger"

    receive_message(world.services, "chat", WebhookRequest(b"announced||m7|stranger", GOOD))
    assert "fetch" not in world.platform.asked
    receive_message(world.services, "chat", WebhookRequest(b"announced||m7", GOOD))

    assert world.queue.waiting == []


def test_a_fetch_that_fails_is_asked_for_again(world: World) -> None:
    """The webhook fails, so the platform names the message again; one that it refuses for good is left out."""
    _, place = world.moved()
    world.platform.announced["m7"] = f"0001|{place.thread}|hi"
    world.platform.next["fetch"].extend([NotSent("down"), Rejected("it is gone")])

    with pytest.raises(NotSent):
        receive_message(world.services, "chat", WebhookRequest(b"announced||m7|ada-there", GOOD))
    receive_message(world.services, "chat", WebhookRequest(b"announced||m7|ada-there", GOOD))

    assert world.queue.waiting == []


@pytest.mark.parametrize("trouble", [Rejected("the room is encrypted"), NotSent("down"), RateLimited(60)])
def test_a_failed_invitation_does_not_block_the_webhook(world: World, trouble: PlatformError) -> None:
    _, place = world.moved()
    world.platform.next["join"].append(trouble)
    body = f"invited||ada-there\n0001|{place.thread}|hi".encode()

    receive_message(world.services, "chat", WebhookRequest(body, GOOD))
    world.turns()

    assert world.platform.said(place)[1:] == ["reply to 5"]


@pytest.mark.parametrize(("sender", "told"), [("ada-there", ["This is no longer asked."]), ("stranger", [])])
def test_only_a_press_of_a_known_person_is_acknowledged(world: World, sender: str, told: list[str]) -> None:
    receive_message(world.services, "chat", WebhookRequest(f"pressed-1|t1|allow:1|m1|{sender}".encode(), GOOD))

    assert world.platform.acknowledged == [(sender, text) for text in told]


@pytest.mark.parametrize(("sender", "answer"), [("ada-there", Answer({"shown": "Done"})), ("stranger", RECEIVED)])
def test_a_press_may_be_answered_in_the_response(world: World, sender: str, answer: Answer) -> None:
    world.platform.press_answer = Answer({"shown": "Done"})
    body = f"pressed-1|t1|allow:1|m1|{sender}".encode()

    assert receive_message(world.services, "chat", WebhookRequest(body, GOOD)) == answer
    assert world.queue.waiting == []


def test_a_row_whose_wake_up_was_lost_is_woken_by_the_redelivery(world: World) -> None:
    """The function died between the row and the queue; the platform got no answer and sends it again."""
    _, place = world.moved()

    class Broken:
        def send(self, message: TurnMessage, *, dedupe: str, line: str | None = None) -> None:
            raise ConnectionError(message, dedupe, line)

    broken = replace(world.services, queue=Broken())
    with pytest.raises(ConnectionError):
        receive_message(broken, "chat", WebhookRequest(f"0001|{place.thread}|hi".encode(), GOOD))

    post(world, "0001", str(place.thread), "hi")
    world.turns()

    assert world.platform.said(place)[1:] == ["reply to 5"]


def test_messages_during_a_turn_are_answered_together(world: World) -> None:
    _, place = world.moved()

    def write_more() -> str:
        post(world, "0002", str(place.thread), "two")
        post(world, "0003", str(place.thread), "three")
        return "answer to one"

    world.agent.next.append(write_more)
    post(world, "0001", str(place.thread), "one")
    world.turns()

    assert world.platform.said(place)[1:] == ["answer to one", "reply to 8"]
    assert [message["content"] for message in world.transcript()[4:]] == [
        "one",
        "answer to one",
        "two",
        "three",
        "reply to 8",
    ]


def test_a_thread_waits_for_a_handoff_then_gets_an_answer(world: World) -> None:
    world.session()
    handoff = world.ask()
    answers: list[str] = []

    def speak_early() -> None:
        post(world, "0001", "t1", "am I early?")
        world.turn()
        answers.extend(world.platform.said(Place("chat", "home", "t1")))

    world.platform.next["open_thread"].append(speak_early)
    world.process(handoff)
    world.turns()

    assert answers == []
    assert "am I early?" in [message["content"] for message in world.transcript()]


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (lambda world: world.session(), "No session lives here"),
        (lambda world: world.moved(), "No session lives here"),
    ],
    ids=["nothing was handed over", "another thread has one"],
)
def test_an_unknown_thread_never_begins_a_session(world: World, prepare: Callable[[World], object], words: str) -> None:
    prepare(world)
    elsewhere = Place("chat", "home", "t99")
    post(world, "0001", "t99", "hello?")
    world.turns()

    (told,) = world.platform.said(elsewhere)
    assert words in told
    assert world.store.sessions.at(elsewhere) is None


def test_the_home_chat_gets_a_session_and_keeps_it(world: World) -> None:
    post(world, "0001", "", "hello")
    world.turns()
    first = world.store.sessions.at(HOME)
    post(world, "0002", "", "still me")
    world.turns()

    assert first is not None
    assert world.store.sessions.at(HOME) == first
    assert world.platform.said(HOME) == ["reply to 1", "reply to 3"]
