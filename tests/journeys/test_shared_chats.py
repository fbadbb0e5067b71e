"""Two users in the same chats: neither moves, blocks or reads the other's sessions."""

import hashlib
import uuid
from typing import Any

import pytest

from tests.support.api_user import ApiUser
from tests.support.chat_thread import shared_thread
from tests.support.platform_cases import PLATFORMS, SHARED, SHARED_CHATS
from tests.support.waiting import eventually


def session_at(user: ApiUser, route: str) -> dict[str, Any] | None:
    """The user's session at this place."""
    return next((session for session in user.sessions() if session["owner"] == route), None)


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
