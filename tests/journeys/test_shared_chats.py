"""Two users in the same chats: neither can read, move, stop or replace the other's sessions."""

import hashlib
import uuid
from typing import Any

import pytest

from local.chats import CHATS
from local.service import LocalService
from tests.shared.platforms.telegram.case import CASE as TELEGRAM
from tests.shared.platforms.telegram.case import FORUM, update
from tests.support.api_user import ApiUser, add_user
from tests.support.chat_thread import shared_thread
from tests.support.platform_cases import HOMES, PLATFORMS, SHARED, SHARED_CHATS
from tests.support.problems import problem_code
from tests.support.snapshots import settled_snapshot, snapshot
from tests.support.waiting import eventually

PLAIN_GROUP = "-1002"
PEOPLE = {chat.name: chat.people for chat in CHATS}


def session_at(user: ApiUser, route: str) -> dict[str, Any] | None:
    """The user's session at this place."""
    return next((session for session in user.sessions() if session["owner"] == route), None)


def post_update(user: ApiUser, event: dict[str, Any]) -> None:
    headers = TELEGRAM.webhooks[TELEGRAM.name].sign(user.service.simulator.secrets, b"", 0)
    user.http.post(f"/webhooks/{TELEGRAM.name}", json=event, headers=headers).raise_for_status()


@pytest.mark.parametrize("platform", SHARED)
def test_the_neighbours_messages_reach_no_session(owner: ApiUser, neighbour: ApiUser, platform: str) -> None:
    thread = shared_thread(owner, platform)
    before = {session["id"] for session in neighbour.sessions()}

    for number in range(4):
        thread.say(f"theirs {number}", user="stranger")
        thread.say(f"mine {number}")
    eventually(lambda: thread.is_answered("mine 3"))

    said = [text for text in thread.contents() if text.startswith(("mine", "theirs"))]
    assert said == [f"mine {number}" for number in range(4)]
    assert {session["id"] for session in neighbour.sessions()} == before


@pytest.mark.parametrize("platform", SHARED)
def test_the_neighbours_commands_do_not_move_my_session(owner: ApiUser, neighbour: ApiUser, platform: str) -> None:
    thread = shared_thread(owner, platform)
    theirs = neighbour.create_session(title=f"theirs {uuid.uuid4().hex[:6]}")
    before = {session["id"] for session in neighbour.sessions()}

    answers = {
        "/new": "Another user",
        f"/resume {theirs}": "Another user",
        f"/resume {thread.session_id}": "You have no session",
        f"/resume {thread.title}": "You have no session",
        "/status": "No session lives here",
    }
    for command, answer in answers.items():
        seen = len(thread.bot_texts())
        thread.say(command, user="stranger")
        eventually(lambda seen=seen, answer=answer: answer in "".join(thread.bot_texts()[seen:]))  # type: ignore[misc]

    session = thread.session()
    assert (session["owner"], session["epoch"]) == (thread.route, 1)
    assert neighbour.session(theirs)["owner"] == "cli"
    assert {session["id"] for session in neighbour.sessions()} == before
    thread.say("still mine")
    thread.wait_for("still mine")


def test_the_neighbours_stop_does_not_stop_my_turn(owner: ApiUser) -> None:
    thread = shared_thread(owner)

    thread.say("rehearse: slow 2")
    eventually(lambda: thread.session()["turn_running"])
    thread.say("/stop", user="stranger")

    eventually(lambda: thread.is_answered("rehearse: slow 2"))


def test_a_shared_chat_can_be_the_home_of_both(owner: ApiUser, neighbour: ApiUser) -> None:
    platform = PLATFORMS[1]
    mine = owner.homes()
    thread = shared_thread(owner, platform)

    thread.say("/sethome", user="stranger")
    thread.wait_for("your home on")

    assert neighbour.homes()[platform] == {"chat": SHARED_CHATS[platform]}
    assert owner.homes() == mine


def test_replace_parks_only_my_own_session(owner: ApiUser, neighbour: ApiUser) -> None:
    mine = owner.create_session()
    assert owner.hand_off(mine, TELEGRAM.name, target=PLAIN_GROUP)["session"]["owner"] == f"telegram:{PLAIN_GROUP}"

    tried = neighbour.hand_off(neighbour.create_session(), TELEGRAM.name, target=PLAIN_GROUP, replace=True)

    assert (tried["state"], tried["error"]["code"]) == ("failed", "place_busy")
    assert "replace" not in tried["error"]["message"]
    assert owner.session(mine)["owner"] == f"telegram:{PLAIN_GROUP}"
    another = owner.create_session()
    assert owner.hand_off(another, TELEGRAM.name, target=PLAIN_GROUP, replace=True)["state"] == "completed"
    assert owner.session(mine)["owner"] == "cli"


def test_another_users_private_chat_is_no_target(owner: ApiUser, neighbour: ApiUser, town: LocalService) -> None:
    theirs, private = neighbour.create_session(), HOMES["telegram"]
    before = settled_snapshot(town)

    assert problem_code(neighbour.request_handoff(theirs, "telegram", target=private)) == "place_busy"
    assert problem_code(neighbour.http.put("/platforms/telegram/home", json={"chat": private})) == "place_busy"
    assert problem_code(neighbour.request_handoff(theirs, "slack", target=PEOPLE["slack"]["owner"])) == "place_busy"

    assert snapshot(town) == before
    assert owner.http.put("/platforms/telegram/home", json={"chat": private}).status_code == 200


def test_a_predicted_session_id_does_not_block_my_home(owner: ApiUser, neighbour: ApiUser) -> None:
    """The ids of sessions that begin in a chat can be computed, and clients choose the ids of their sessions."""
    town, chat = owner.service, "D0OWNER"
    owner.http.put("/platforms/slack/home", json={"chat": chat}).raise_for_status()
    for guess in (f"slack:{chat}\nhome", f"slack:{chat}\nowner\nhome"):
        taken = hashlib.sha256(guess.encode()).hexdigest()[:32]
        neighbour.http.put(f"/sessions/{taken}", json={}).raise_for_status()

    town.simulator.say("slack", chat, "anybody home?")

    mine = eventually(lambda: session_at(owner, f"slack:{chat}"))
    eventually(lambda: "anybody home?" in owner.contents(mine["id"]))
    assert neighbour.session(taken)["owner"] == "cli"


def test_equal_message_numbers_in_two_chats_are_two_events(owner: ApiUser, neighbour: ApiUser) -> None:
    """Telegram numbers messages per chat."""
    number = uuid.uuid4().int % 10**8 + 10**8
    mine, theirs = PEOPLE["telegram"]["owner"], PEOPLE["telegram"]["stranger"]
    for person in (mine, theirs):
        post_update(owner, update(number, "/new", person=person))

    eventually(lambda: session_at(owner, f"telegram:{mine}"))
    eventually(lambda: session_at(neighbour, f"telegram:{theirs}"))
    assert session_at(owner, f"telegram:{theirs}") is None


def test_a_place_that_a_session_left_is_free(owner: ApiUser, neighbour: ApiUser) -> None:
    """Its route still points to the session that left; only that session's user is told where it is."""
    platform = PLATFORMS[1]
    chat = SHARED_CHATS[platform]
    neighbour.http.put(f"/platforms/{platform}/home", json={"chat": chat}).raise_for_status()
    owner.service.simulator.say(platform, chat, "/new")
    mine = eventually(lambda: session_at(owner, f"{platform}:{chat}"))
    owner.http.post(f"/sessions/{mine['id']}/resume", json={"epoch": mine["epoch"]}).raise_for_status()

    owner.service.simulator.say(platform, chat, "my turn", user="stranger")

    theirs = eventually(lambda: session_at(neighbour, f"{platform}:{chat}"))
    eventually(lambda: "my turn" in neighbour.contents(theirs["id"]))
    assert "my turn" not in owner.contents(mine["id"])


def test_an_unknown_person_changes_nothing(town: LocalService) -> None:
    user, before = add_user(town), settled_snapshot(town)
    chat = {"id": int(FORUM), "type": "supergroup"}
    for number, text in enumerate(("hello", "/new", "/resume", "/sethome", "/stop", "/status"), start=10**9):
        post_update(user, update(number, text, person="666", chat=chat))

    assert settled_snapshot(town) == before
