"""Messages that cannot be read are answered with a line, and forwarded words are not the sender's."""

import pytest

from shared.domain.routes import Place
from shared.errors import Ambiguous, NotSent, NotYet
from shared.ports.inbound import WebhookRequest
from shared.ports.queue import InboxEvent
from shared.use_cases.chat.receive_message import receive_message
from shared.use_cases.turns.answer_inbox import answer_inbox
from shared.use_cases.turns.budget import TurnBudget
from tests.support.fake_queue import FakeVisibility, Waiting
from tests.support.use_case_world import HOME, LIMIT, World

PICTURES = "I cannot read pictures yet. Write it as text."
ONLY_THE_TEXT = "I cannot read pictures yet: the agent gets only the text."
NOTE = "[a picture was attached, which did not reach you]"
GUEST = "bob-there"


def post(world: World, place: Place, event_id: str, beside: str, text: str = "", *, sender: str = "ada-there") -> None:
    body = f"{event_id}|{place.thread or ''}|{text}|{sender}|{beside}".encode()
    receive_message(world.services, "chat", WebhookRequest(body, {"signature": "good"}))


def answer(world: World, place: Place, event_id: str) -> None:
    message = InboxEvent(place, event_id)
    visibility = FakeVisibility(world.clock, Waiting(message, ""))
    answer_inbox(world.services, message, TurnBudget(visibility, world.clock.now() + LIMIT, 1))


@pytest.fixture
def place(world: World) -> Place:
    """The thread of a session, with one reply. Bob is known, too."""
    world.store.accounts.add_identity("bob", "chat", GUEST)
    return world.moved()[1]


@pytest.mark.parametrize(
    ("beside", "line"),
    [
        ("picture", PICTURES),
        ("voice", "I cannot read voice messages yet. Write it as text."),
        ("picture,picture,file", "I cannot read pictures and files yet. Write it as text."),
        ("other", "I cannot read messages of this kind yet. Write it as text."),
        ("forwarded,sticker", "I cannot read stickers yet. Write it as text."),
    ],
)
def test_a_message_that_cannot_be_read_gets_one_line(world: World, place: Place, beside: str, line: str) -> None:
    before = world.transcript()
    post(world, place, "0001", beside)
    world.turns()

    assert world.platform.said(place)[1:] == [line]
    assert world.transcript() == before


def test_a_redelivery_and_a_second_run_add_no_line(world: World, place: Place) -> None:
    for _ in range(2):
        post(world, place, "0001", "picture")
    world.turns()
    world.wait(600)
    post(world, place, "0001", "picture")
    world.turns()
    answer(world, place, "0001")

    assert world.platform.said(place)[1:] == [PICTURES]


def test_an_album_gets_one_line_however_late_its_parts_come(world: World, place: Place) -> None:
    post(world, place, "0001", "picture,album-7")
    post(world, place, "0002", "picture,album-7")
    world.turns()
    world.wait(61)
    post(world, place, "0003", "voice")
    world.turns()
    world.wait(61)
    post(world, place, "0004", "picture,album-7")
    world.turns()

    assert world.platform.said(place)[1:] == [PICTURES, "I cannot read voice messages yet. Write it as text."]


def test_a_thread_gets_at_most_one_such_line_a_minute(world: World, place: Place) -> None:
    for number, seconds in enumerate((0, 1, 58, 1, 59, 1), start=1):  # at 0, 1, 59, 60, 119 and 120 seconds
        world.wait(seconds)
        post(world, place, f"000{number}", "picture")
        world.messages()

    assert world.platform.said(place)[1:] == [PICTURES] * 3


def test_each_thread_has_its_own_minute(world: World, place: Place) -> None:
    post(world, place, "0001", "picture")
    post(world, HOME, "0002", "picture")
    world.turns()

    assert world.platform.said(place)[1:] == [PICTURES]
    assert world.platform.said(HOME) == [PICTURES]
    assert world.store.sessions.at(HOME) is None  # a picture starts no session


def test_two_workers_at_once_post_one_line(world: World, place: Place) -> None:
    """The second one looks while the first one sends, and another message is waiting."""
    post(world, place, "0001", "picture")
    post(world, place, "0002", "picture")

    def meanwhile() -> None:
        for event_id in ("0001", "0002"):
            with pytest.raises(NotYet):
                answer(world, place, event_id)

    world.platform.next["send"].append(meanwhile)
    world.turns()
    world.wait(600)
    world.turns()

    assert world.platform.said(place)[1:] == [PICTURES]
    assert world.store.inbox.new(place, limit=5) == []


@pytest.mark.parametrize("trouble", [NotSent("down"), Ambiguous("lost")])
def test_a_line_that_could_not_be_posted_is_posted_later(world: World, place: Place, trouble: Exception) -> None:
    world.platform.next["send"].append(trouble)
    post(world, place, "0001", "picture")
    world.turns()

    assert world.platform.said(place)[1:] == [PICTURES]
    assert world.store.inbox.new(place, limit=5) == []


def test_a_worker_that_dies_before_the_line_leaves_it_to_the_next(
    world: World, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    post(world, place, "0001", "picture")
    with monkeypatch.context() as patch:
        patch.setattr(world.store.outbox, "post", _dies)
        with pytest.raises(KeyboardInterrupt):
            answer(world, place, "0001")
    post(world, place, "0002", "picture")
    world.turns()

    assert world.platform.said(place)[1:] == [PICTURES]


def _dies(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_strangers_and_guests_of_an_unshared_thread_get_no_line(world: World, place: Place) -> None:
    post(world, place, "0001", "picture", sender="stranger")
    post(world, place, "0002", "picture", sender=GUEST)
    world.turns()

    assert world.platform.said(place)[1:] == []
    assert world.store.inbox.new(place, limit=5) == []


def test_a_guest_of_a_shared_thread_gets_the_line(world: World, place: Place) -> None:
    post(world, place, "0001", "", "/share")
    world.turns()
    post(world, place, "0002", "picture", sender=GUEST)
    post(world, place, "0003", "picture", "look", sender=GUEST)
    world.turns()

    assert world.platform.said(place)[2] == PICTURES
    assert world.transcript()[-2]["content"] == f"[bob] look\n[bob] {NOTE}"


def test_a_line_comes_while_the_agent_works(world: World, place: Place) -> None:
    def meanwhile() -> str:
        post(world, place, "0002", "picture")
        world.messages()
        assert world.platform.said(place)[1:] == [PICTURES]
        return "done"

    world.agent.next.append(meanwhile)
    post(world, place, "0001", "", "go on")
    world.turns()

    assert world.platform.said(place)[1:] == [PICTURES, "done"]


def test_a_caption_reaches_the_agent_with_a_note(world: World, place: Place) -> None:
    post(world, place, "0001", "picture", "what is this?")
    world.turns()

    assert world.transcript()[-2]["content"] == f"what is this?\n{NOTE}"
    assert world.platform.said(place)[1] == ONLY_THE_TEXT
    assert len(world.platform.said(place)) == 3  # and the reply


def test_the_command_in_a_caption_runs_and_needs_no_line(world: World, place: Place) -> None:
    post(world, place, "0001", "picture", "/status")
    world.turns()

    (told,) = world.platform.said(place)[1:]
    assert "lives here" in told


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("/stop", "[forwarded] /stop"),
        ("/new", "[forwarded] /new"),
    ],
)
def test_forwarded_words_are_marked_and_never_a_command(world: World, place: Place, text: str, given: str) -> None:
    session = world.current()
    post(world, place, "0001", "forwarded", text)
    world.turns()

    assert world.transcript()[-2]["content"] == given
    assert world.store.sessions.at(place) == session.id


def test_a_guests_forwarded_words_carry_the_name_too(world: World, place: Place) -> None:
    post(world, place, "0001", "", "/share")
    world.turns()
    post(world, place, "0002", "forwarded,picture", "do it", sender=GUEST)
    world.turns()

    assert world.transcript()[-2]["content"] == f"[bob] [forwarded] do it\n[bob] {NOTE}"


def test_a_forwarded_code_links_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[object] = []
    monkeypatch.setattr(world.store.links, "count_try", lambda *given, **_: tried.append(given))
    post(world, Place("chat", "home"), "dm-1", "forwarded", "/link 2345-6789", sender="stranger")

    assert tried == []
