"""Files of messages in chats: each reaches the agent once, in order, byte for byte; what does not come is said."""

import hashlib
from collections.abc import Sequence
from typing import Any
from unittest import mock

import pytest

from shared.domain.attachments import Attachment, cannot_read
from shared.domain.messages import Message
from shared.domain.routes import Place
from shared.errors import NotSent
from shared.ports.inbound import WebhookRequest
from shared.ports.queue import Fetch, Ready, TurnMessage
from shared.ports.tables import Table
from shared.store.bundle import store_on
from shared.use_cases.chat.receive_message import receive_message
from shared.use_cases.files.fetch_files import TRIES, fetch_files
from shared.use_cases.files.wait_for_files import LONGEST
from tests.support.machine import Machine
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import USER, World

PNG = b"\x89PNG\r\n\x1a\n and pixels"


@pytest.fixture
def world() -> World:
    return World(store_on(MemoryTables()))


@pytest.fixture
def thread(world: World) -> Place:
    return world.moved()[1]


def post(world: World, place: Place, event_id: str, text: str, *beside: str, sender: str = "ada-there") -> None:
    """The platform posts a message; `beside` as FakePlatform.parse reads it."""
    line = f"{event_id}|{place.thread or ''}|{text}|{sender}|{','.join(beside)}"
    receive_message(world.services, "chat", WebhookRequest(line.encode(), {"signature": "good"}))


def asked(world: World) -> list[Message]:
    """What people have said in the thread."""
    return [message for message in world.transcript()[2:] if message["role"] == "user" and "internal" not in message]


def named(*contents: tuple[str, str, bytes]) -> list[dict[str, object]]:
    return [
        {"id": digest, "name": name, "type": media_type, "size": len(content), "sha256": digest}
        for name, media_type, content in contents
        for digest in [hashlib.sha256(content).hexdigest()]
    ]


def stored(world: World) -> list[bytes]:
    return list(world.files.stored.values())


def test_a_picture_comes_with_its_caption(world: World, thread: Place) -> None:
    world.platform.files["a.png"] = PNG
    post(world, thread, "0001", "What is wrong here?", "file:picture:a.png")
    world.turns()
    (message,) = asked(world)
    assert message["content"] == "What is wrong here?\n[attached: a.png (image/png, 19 bytes)]"
    assert message["files"] == named(("a.png", "image/png", PNG))
    assert stored(world) == [PNG]
    assert world.platform.said(thread)[-1].startswith("reply to")


def test_a_file_without_text_is_a_message(world: World, thread: Place) -> None:
    world.platform.files["run.log"] = b"line"
    post(world, thread, "0001", "", "file:file:run.log")
    world.turns()
    (message,) = asked(world)
    assert message["content"] == "[attached: run.log (application/octet-stream, 4 bytes)]"


def test_words_behind_a_file_wait_for_it(world: World, thread: Place) -> None:
    world.platform.files["a.png"] = PNG
    world.platform.next["fetch_file"].extend([NotSent("down"), NotSent("down")])
    post(world, thread, "0001", "first", "file:picture:a.png")
    post(world, thread, "0002", "second")
    world.turns()
    assert [str(message["content"]).partition("\n")[0] for message in asked(world)] == ["first", "second"]
    assert stored(world) == [PNG]


def test_words_before_a_file_do_not_wait(world: World, thread: Place) -> None:
    world.platform.next["fetch_file"].append(NotSent("down"))
    post(world, thread, "0001", "first")
    post(world, thread, "0002", "second", "file:picture:a.png")
    world.messages()
    world.agents()
    assert [message["content"] for message in asked(world)] == ["first"]


def test_a_command_waits_for_no_file(world: World, thread: Place) -> None:
    world.platform.next["fetch_file"].append(NotSent("down"))
    post(world, thread, "0001", "first", "file:picture:a.png")
    world.messages()
    post(world, thread, "0002", "/status")
    world.messages()
    assert "lives here" in world.platform.said(thread)[-1]
    assert asked(world) == []


def album(world: World, thread: Place, pause: float) -> Sequence[bytes]:
    contents = [PNG + str(number).encode() for number in range(3)]
    for number, content in enumerate(contents):
        world.platform.files[f"{number}.png"] = content
        text = "all three" if number == 0 else ""
        post(world, thread, f"000{number}", text, f"file:picture:{number}.png", "album-a1")
        world.messages()
        world.agents()
        world.wait(pause)
    return contents


def test_an_album_is_one_turn(world: World, thread: Place) -> None:
    before = len(world.agent.given)
    contents = album(world, thread, 0.7)
    world.turns()
    assert [message["files"][0]["size"] for message in asked(world)] == [20, 20, 20]
    assert stored(world) == contents
    assert len(world.agent.given) == before + 1


def test_an_album_that_does_not_end_is_not_waited_for(world: World, thread: Place) -> None:
    before = len(world.agent.given)
    for number in range(9):
        world.platform.files[f"{number}.png"] = PNG
        post(world, thread, f"000{number}", "", f"file:picture:{number}.png", "album-a1")
        world.messages()
        world.agents()
        world.wait(0.8)
    world.turns()
    assert len(asked(world)) == 9
    assert len(world.agent.given) > before + 1


@pytest.mark.parametrize("sender", ["bob-there", "mallory"])
def test_a_file_of_somebody_who_is_not_heard_is_not_fetched(world: World, thread: Place, sender: str) -> None:
    world.store.accounts.add_identity("bob", "chat", "bob-there")
    world.platform.files["a.png"] = PNG
    post(world, thread, "0001", "look", "file:picture:a.png", sender=sender)
    world.turns()
    assert (stored(world), world.store.files.of("s-1"), asked(world)) == ([], [], [])


def test_a_guests_file_belongs_to_the_owners_session(world: World, thread: Place) -> None:
    world.store.accounts.add_identity("bob", "chat", "bob-there")
    post(world, thread, "0001", "/share")
    world.turns()
    world.platform.files["a.png"] = PNG
    post(world, thread, "0002", "look", "file:picture:a.png", sender="bob-there")
    world.turns()
    (item,) = world.store.files.of("s-1")
    assert (item.user_id, stored(world)) == (USER, [PNG])


def test_what_cannot_be_fetched_is_said(world: World, thread: Place) -> None:
    post(world, thread, "0001", "look", "file:picture:a.png")
    world.turns()
    (message,) = asked(world)
    assert "files" not in message
    assert message["content"] == ("look\n[a.png was attached, which did not reach you: it is not there any more]")
    assert "a.png did not reach the agent: it is not there any more." in world.platform.said(thread)


def test_what_is_too_large_is_said(world: World, thread: Place) -> None:
    world.with_settings(file_bytes=1_000_000)
    world.platform.files["a.zip"] = b"x" * 1_000_001
    post(world, thread, "0001", "look", "file:file:a.zip")
    world.turns()
    assert "a.zip did not reach the agent: it is larger than 1 MB." in world.platform.said(thread)
    assert world.files.stored == {}


def test_a_page_that_is_called_a_picture_is_no_picture(world: World, thread: Place) -> None:
    world.platform.files["a.png"] = b"<html>log in</html>"
    post(world, thread, "0001", "look", "file:picture:a.png")
    world.turns()
    assert asked(world)[0]["files"][0]["type"] == "application/octet-stream"


def test_a_platform_that_does_not_answer_is_asked_three_times(world: World, thread: Place) -> None:
    world.platform.next["fetch_file"].extend([NotSent("down")] * 10)
    post(world, thread, "0001", "look", "file:picture:a.png")
    world.turns()
    assert world.platform.asked.count("fetch_file") == TRIES
    assert "the platform did not send it" in str(asked(world)[0]["content"])


def test_files_that_nobody_reads_are_given_up(world: World, thread: Place) -> None:
    post(world, thread, "0001", "look", "file:picture:a.png")
    began = world.clock.now()
    while world.turn() is not None or world.clock.now() < began + LONGEST + 10_000:
        world.runs.waiting = [one for one in world.runs.waiting if not isinstance(one[0], Fetch)]  # each is lost
        world.wait(1)
        world.agents()
    assert "it could not be read in time" in str(asked(world)[0]["content"])


def test_a_request_that_was_lost_is_sent_again(world: World, thread: Place) -> None:
    world.platform.files["a.png"] = PNG
    post(world, thread, "0001", "look", "file:picture:a.png")
    world.messages()
    world.runs.waiting.clear()
    world.wait(6)
    world.messages()
    world.agents()
    assert stored(world) == [PNG]


def test_a_repeated_fetch_changes_nothing(world: World, thread: Place) -> None:
    world.platform.files["a.png"] = PNG
    post(world, thread, "0001", "look", "file:picture:a.png")
    world.messages()
    fetch = next(run for run, _ in world.runs.waiting if isinstance(run, Fetch))
    fetch_files(world.services, fetch)
    fetch_files(world.services, fetch)
    world.turns()
    assert world.platform.asked.count("fetch_file") == 1
    assert len(asked(world)) == 1


def bury_ready(world: World) -> None:
    """The queue gives up on the messages that wait for files."""
    for waiting in [one for one in world.queue.waiting if isinstance(one.message, Ready)]:
        world.queue.waiting.remove(waiting)
        world.dead.bury(waiting.message)
    world.wait(60)


def test_a_message_whose_waiting_became_a_dead_letter_is_not_lost(world: World, thread: Place) -> None:
    """Nobody reads its file either."""
    post(world, thread, "0001", "look", "file:picture:a.png")
    post(world, thread, "0002", "next")
    world.messages()
    world.runs.waiting.clear()
    bury_ready(world)

    world.sweep()
    world.turns()

    assert len([text for text in world.platform.said(thread) if "could not answer" in text]) == 1
    assert [message["content"] for message in asked(world)] == ["next"]
    assert world.platform.said(thread)[-1].startswith("reply to")


def test_a_dead_letter_of_a_message_that_was_answered_tells_nothing(world: World, thread: Place) -> None:
    world.platform.files["a.png"] = PNG
    post(world, thread, "0001", "look", "file:picture:a.png")
    world.messages()
    bury_ready(world)
    world.turns()

    world.sweep()
    world.turns()

    assert len(asked(world)) == 1
    assert not [text for text in world.platform.said(thread) if "could not answer" in text]


def test_a_dead_letter_behind_a_working_turn_tells_nothing(world: World, thread: Place) -> None:
    """The end of the turn looks at the place, and waits anew."""
    world.platform.files["a.png"] = PNG
    post(world, thread, "0001", "first")
    world.messages()
    turns = list(world.runs.waiting)
    post(world, thread, "0002", "look", "file:picture:a.png")
    world.messages()
    world.runs.waiting = turns
    world.queue.waiting.clear()
    world.dead.bury(Ready(thread, "0002"))
    world.wait(60)

    world.sweep()
    world.turns()

    assert [str(message["content"]).partition("\n")[0] for message in asked(world)] == ["first", "look"]
    assert stored(world) == [PNG]


def test_files_that_are_read_while_the_place_is_looked_at_are_seen(world: World, thread: Place) -> None:
    """And their reader dies before it says that it is done."""
    world.platform.files["a.png"] = PNG
    post(world, thread, "0001", "look", "file:picture:a.png")
    world.messages()
    fetch = next(run for run, _ in world.runs.waiting if isinstance(run, Fetch))
    world.wait(1)
    real, looks = world.queue.send, list[TurnMessage]()

    def read_behind_the_look(message: TurnMessage, **options: Any) -> None:
        """The look at the place ends with a new wait for the files."""
        real(message, **options)
        if isinstance(message, Ready) and not looks:
            looks.append(message)
            waiting = list(world.queue.waiting)
            fetch_files(world.services, fetch)
            world.queue.waiting[:] = waiting

    with mock.patch.object(world.queue, "send", read_behind_the_look):
        world.turn()
    world.runs.waiting.clear()
    world.turns()

    assert looks
    assert len(asked(world)) == 1
    assert stored(world) == [PNG]


def test_eleven_files_are_ten_and_a_sentence(world: World, thread: Place) -> None:
    names = [f"{number}.txt" for number in range(11)]
    world.platform.files |= {name: name.encode() for name in names}
    post(world, thread, "0001", "look", *(f"file:file:{name}" for name in names))
    world.turns()
    assert len(asked(world)[0]["files"]) == 10
    assert "10.txt did not reach the agent: a message has at most 10 files." in world.platform.said(thread)


def test_a_voice_message_is_not_read(world: World, thread: Place) -> None:
    post(world, thread, "0001", "", "file:voice:v1")
    world.turns()
    assert world.platform.said(thread)[-1] == cannot_read([Attachment("voice")], has_text=False)
    assert "fetch_file" not in world.platform.asked


def test_a_picture_in_an_empty_chat_starts_a_session(world: World) -> None:
    world.platform.files["a.png"] = PNG
    post(world, Place("chat", "home"), "0001", "look", "file:picture:a.png")
    world.turns()
    session = next(iter(world.store.sessions.list(USER, limit=1).sessions))
    assert world.store.files.of(session.id)[0].is_stored
    assert [message["files"] for message in world.transcript(session.id) if "files" in message]


def test_bytes_are_in_no_item_and_in_no_message(world: World, thread: Place) -> None:
    content = PNG + b"\x5a" * 1_000_000
    world.platform.files["a.png"] = content
    sent: list[object] = []
    post(world, thread, "0001", "look", "file:picture:a.png")
    while world.queue.waiting or world.runs.waiting:
        sent += [*(one.message for one in world.queue.waiting), *(run for run, _ in world.runs.waiting)]
        world.agents()
        if world.turn() is None and (due := world.next_at()) is None:
            break
        if due := world.next_at():
            world.clock.time = max(world.clock.time, due)
    tables = world.store.inbox._tables
    items = [item for table in Table for item in tables.scan(table)]
    assert stored(world) == [content]
    assert max(len(repr(item)) for item in items) < 20_000
    assert max(len(repr(one)) for one in sent) < 2_000


def test_an_album_is_steered_into_a_working_turn_as_one(world: World) -> None:
    machine = Machine(world)
    place = machine.moved()
    post(world, place, "0001", "And?")
    world.messages()
    machine.start()
    pictures = []
    for number in range(3):
        pictures.append(PNG + str(number).encode())
        world.platform.files[f"{number}.png"] = pictures[-1]
        post(world, place, f"000{number + 2}", "", f"file:picture:{number}.png", "album-a1")
    world.messages()
    world.agents()
    assert machine.report().steered == []
    world.wait(2)
    world.messages()
    words = machine.report().steered
    assert [word.id for word in words] == ["0002", "0003", "0004"]
    assert [file.id for word in words for file in word.files] == [hashlib.sha256(one).hexdigest() for one in pictures]


def test_words_are_said_again_with_the_files_that_are_stored(world: World, thread: Place) -> None:
    world.platform.files["a.png"] = PNG
    post(world, thread, "0001", "What is wrong here?", "file:picture:a.png")
    world.turns()
    del world.platform.files["a.png"]
    post(world, thread, "0002", "/retry")
    world.turns()
    first, again = asked(world)
    assert [again[name] for name in ("content", "files")] == [first[name] for name in ("content", "files")]
    assert "Said again: “What is wrong here?” with `a.png`" in world.platform.said(thread)


def test_a_file_that_is_kept_no_more_is_said_to_be_missing(world: World, thread: Place) -> None:
    world.platform.files["a.png"] = PNG
    post(world, thread, "0001", "", "file:picture:a.png")
    world.turns()
    (kept,) = world.store.files.of(world.current().id)
    assert world.store.files.leave(kept, again_at=0)
    post(world, thread, "0002", "/retry")
    world.turns()
    told = "a.png did not reach the agent: it is not kept any more; send it again."
    assert told in world.platform.said(thread)
    assert asked(world)[-1]["content"].startswith("[a.png was attached, which did not reach you: ")
    assert "files" not in asked(world)[-1]
