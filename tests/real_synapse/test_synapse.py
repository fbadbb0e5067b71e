"""Handoffs on a real homeserver: each thing that is said is answered once."""

import uuid
from typing import Any

import httpx
import pytest

from shared.domain.routes import Place
from shared.ports.platforms import Part
from tests.real_synapse.conftest import Deployment
from tests.support.problems import problem_code
from tests.support.waiting import eventually

pytestmark = [pytest.mark.synapse, pytest.mark.xdist_group("synapse")]  # one homeserver for all
LONG = 40.0


class Room:
    """A new room of the person, to which the bot was invited."""

    def __init__(self, at: Deployment, *, direct: bool = True) -> None:
        self.at = at
        self.id = at.person.create_room(at.bot, direct=direct)
        eventually(lambda: at.bot in at.person.members(self.id), within=LONG)

    def said(self, root: str | None = None) -> list[str]:
        """What the bot said in the room, or in a thread."""
        return self.at.person.texts(self.id, self.at.bot, root)

    def hand_off(self) -> tuple[str, str]:
        """Move a session here: its id, and the root of its thread."""
        title = f"synapse {uuid.uuid4().hex[:6]}"
        session = self.at.user.create_session(title=title)
        done = self.at.user.hand_off(session, "matrix", target=self.id)
        assert (done["state"], done["error"]) == ("completed", None), done
        (root,) = [event["event_id"] for event in self.at.person.events(self.id) if title in event["content"]["body"]]
        eventually(lambda: [text for text in self.said(root) if "Confirmed" in text], within=LONG)
        return session, root

    def replies(self, root: str) -> list[str]:
        return [text for text in self.said(root) if "Confirmed" not in text]

    def wait_for_replies(self, root: str, count: int) -> list[str]:
        eventually(lambda: len(self.replies(root)) >= count, within=LONG, show=lambda: self.replies(root))
        return self.replies(root)


def is_answering(at: Deployment, session: str) -> bool:
    found = at.server.store.sessions.get(session)
    return found is not None and found.turn is not None


def test_a_session_is_handed_off_and_answered_once(at: Deployment) -> None:
    room = Room(at)
    session, root = room.hand_off()

    for number, words in enumerate(("and now?", "and then?"), start=1):
        at.person.say(room.id, words, root)
        assert words in room.wait_for_replies(root, number)[-1]

    assert len(room.replies(root)) == 2
    contents = at.user.contents(session)
    assert (contents.count("and now?"), contents.count("and then?")) == (1, 1)
    assert room.said() == [text for text in room.said() if "synapse" in text]  # in the room, only the thread's root


def test_a_burst_of_ten_is_answered_in_order_and_once(at: Deployment) -> None:
    room = Room(at)
    session, root = room.hand_off()
    words = [f"word {number}" for number in range(10)]

    for word in words:
        at.person.say(room.id, word, root)

    eventually(lambda: set(words) <= set(at.user.contents(session)), within=LONG)
    said = [message["content"] for message in at.user.transcript(session) if message["role"] == "user"]
    assert [text for text in said if text in words] == words
    turns = [message for message in at.user.transcript(session)[5:] if message["role"] == "assistant"]
    eventually(lambda: len(room.replies(root)) == len(turns) - 1, within=LONG, show=lambda: room.replies(root))


def test_commands_work_with_an_exclamation_mark(at_app_service: Deployment) -> None:
    at = at_app_service
    room = Room(at)
    session, root = room.hand_off()

    at.person.say(room.id, "!help", root)

    eventually(lambda: [text for text in room.replies(root) if "/sethome" in text], within=LONG)
    assert len(room.replies(root)) == 1
    assert "!help" not in at.user.contents(session)


def test_an_edit_replaces_the_text_and_its_html(at_app_service: Deployment) -> None:
    at = at_app_service
    room = Room(at)
    platform, place = at.server.engine.services.platforms.get("matrix"), Place("matrix", room.id)
    message = platform.send(place, Part("**first**"), key=uuid.uuid4().hex)
    for text in ("`second`", "**first**", "`second`"):
        platform.edit(place, message, Part(text))

    def shown() -> Any:
        event = next(event for event in at.person.events(room.id) if event["event_id"] == message)
        replaced = event["unsigned"].get("m.relations", {}).get("m.replace", {}).get("content", {})
        return replaced.get("m.new_content")

    assert eventually(lambda: (shown() or {}).get("formatted_body") == "<p><code>second</code></p>", within=LONG)
    assert shown()["m.mentions"] == {}


def test_a_person_who_edits_is_not_answered_again(at_app_service: Deployment) -> None:
    at = at_app_service
    room = Room(at)
    session, root = room.hand_off()
    said = at.person.say(room.id, "whta?", root)
    eventually(lambda: room.replies(root), within=LONG)

    relation = {"m.relates_to": {"rel_type": "m.replace", "event_id": said}, "m.new_content": {"body": "what?"}}
    at.person.say(room.id, "* what?", None, **relation)
    at.person.say(room.id, "go on", root)

    eventually(lambda: "go on" in at.user.contents(session), within=LONG)
    eventually(lambda: len(room.replies(root)) == 2, within=LONG, show=lambda: room.replies(root))
    assert not [text for text in at.user.contents(session) if "what?" in text]


def test_a_restart_of_the_server_loses_and_repeats_nothing(at_app_service: Deployment) -> None:
    at = at_app_service
    room = Room(at)
    session, root = room.hand_off()
    place = Place("matrix", room.id, root)
    platform = at.server.engine.services.platforms.get("matrix")
    found = platform.send(place, Part("a notice"), key="the key")

    at.person.say(room.id, "rehearse: slow 1", root)
    eventually(lambda: is_answering(at, session), within=LONG)
    at.synapse.kill()
    eventually(lambda: "rehearse: slow 1" in at.user.contents(session), within=LONG)
    at.synapse.start()

    # The server has forgotten the transaction, so the message is found by its key.
    assert platform.find_message(place, key="the key") == found
    eventually(lambda: [text for text in room.replies(root) if "slow 1" in text], within=LONG)
    at.person.say(room.id, "still there?", root)
    eventually(lambda: [text for text in room.replies(root) if "still there?" in text], within=LONG)
    assert len(room.replies(root)) == 3
    assert at.user.contents(session).count("rehearse: slow 1") == 1


def test_a_deleted_root_ends_the_thread_and_the_person_is_told(at_app_service: Deployment) -> None:
    at = at_app_service
    room = Room(at)
    session, root = room.hand_off()

    at.person.redact(room.id, root)
    at.person.say(room.id, "hello?", root)

    eventually(lambda: [text for text in room.said() if f"/resume {session}" in text], within=LONG)
    assert room.replies(root) == []
    assert "hello?" in at.user.contents(session)  # the session is saved
    at.person.say(room.id, f"!resume {session}")
    eventually(lambda: at.user.session(session)["owner"] == Place("matrix", room.id).route, within=LONG)


def test_a_room_without_an_invitation_is_refused(at: Deployment) -> None:
    closed, public = at.person.create_room(), at.person.create_room(direct=False)

    for room in (closed, public):
        done = at.user.hand_off(at.user.create_session(), "matrix", target=room)
        home = at.user.http.put("/platforms/matrix/home", json={"chat": room})

        assert (done["state"], done["error"]["code"]) == ("failed", "chat_not_found"), done
        assert "Invite it" in done["error"]["message"]
        assert problem_code(home) == "chat_refused"
        assert at.person.members(room) == {at.person.id}
        assert at.person.texts(room, at.bot) == []


def test_an_invitation_of_a_stranger_is_not_accepted(at: Deployment) -> None:
    stranger = at.synapse.register(f"sam{uuid.uuid4().hex[:6]}")
    room = stranger.create_room(at.bot)
    mine = Room(at)  # events come in order: the stranger's was handled before

    assert stranger.members(room) == {stranger.id}
    assert at.bot in at.person.members(mine.id)


def test_what_was_said_before_the_invitation_is_not_heard(at: Deployment) -> None:
    room = at.person.create_room()
    for word in ("!help", "!sethome"):
        at.person.say(room, word)
    at.person.invite(room, at.bot)
    eventually(lambda: at.bot in at.person.members(room), within=LONG)

    at.person.say(room, "!status")

    (said,) = eventually(lambda: at.person.texts(room, at.bot), within=LONG)
    assert "No session lives here" in said


def test_what_is_said_before_the_bot_has_joined_is_heard(at_sync: Deployment) -> None:
    """Clients create a chat with its first message, and send that at once."""
    at = at_sync
    room = at.person.create_room(at.bot)
    at.person.say(room, "!status")

    eventually(lambda: [text for text in at.person.texts(room, at.bot) if "No session lives" in text], within=LONG)


def test_an_invitation_to_a_room_that_all_can_read_is_accepted(at: Deployment) -> None:
    room = at.person.create_room(at.bot, direct=False, world_readable=True)

    eventually(lambda: at.bot in at.person.members(room), within=LONG)


def test_an_encrypted_room_is_refused_plainly(at: Deployment) -> None:
    room = at.person.create_room(at.bot, encrypted=True)

    said = eventually(lambda: at.person.texts(room, at.bot), within=LONG)

    assert len(said) == 1
    assert "cannot read encrypted messages" in said[0]
    eventually(lambda: at.person.members(room) == {at.person.id}, within=LONG)


def test_large_messages_do_not_hold_back_what_follows(at_app_service: Deployment) -> None:
    """A transaction of 24 large messages is over the usual limit of a body."""
    at = at_app_service
    room = Room(at)
    session, root = room.hand_off()

    for number in range(24):
        at.person.say(room.id, f"{number} " + "x" * 60_000, msgtype="m.notice")
    at.person.say(room.id, "do you hear me?", root)

    eventually(lambda: "do you hear me?" in at.user.contents(session), within=LONG)


def test_a_transaction_over_the_limit_is_dropped_with_200(at_app_service: Deployment) -> None:
    url = f"{at_app_service.server.url}/webhooks/matrix/_matrix/app/v1/transactions/x"

    answer = httpx.put(url, content=b" " * (8 * 1024 * 1024 + 1), timeout=30)

    assert (answer.status_code, answer.json()) == (200, {})


def test_the_doctor_knows_each_way_in(at: Deployment) -> None:
    room = Room(at)
    at.user.http.put("/platforms/matrix/home", json={"chat": room.id}).raise_for_status()

    checks = [check for check in at.user.http.get("/doctor").json()["checks"] if check["platform"] == "matrix"]

    found = {check["name"]: check["ok"] for check in checks}
    assert [check for check in checks if check["ok"] is False] == []
    assert {name for name in ("bot", "secrets", "home", "thread", "identity") if found[name]} == found.keys() - {
        "webhook"
    }
    assert found["webhook"] is (True if at.bot.startswith("@pusher:") else None)
