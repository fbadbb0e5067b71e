"""Two allowed users in the same chats: neither touches, stops, parks or reads what is the other's."""

import hashlib
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from local.service import LocalService
from tests.journeys.hostile import SHARED_CHATS, Thread, add_neighbour, add_user, code_of, settled, written
from tests.support.desk import Desk, until

PLATFORMS = list(SHARED_CHATS)


@pytest.fixture(scope="module")
def town() -> Iterator[LocalService]:
    with LocalService(mode="in_process") as running:
        add_neighbour(running)
        yield running


@pytest.fixture
def owner(town: LocalService) -> Desk:
    return Desk(town)


@pytest.fixture
def neighbour(town: LocalService) -> Desk:
    return Desk(town, "neighbour")


def living_at(desk: Desk, route: str) -> dict[str, Any] | None:
    """The session of this person that lives at a place."""
    sessions: list[dict[str, Any]] = desk.http.get("/sessions?limit=200").json()["sessions"]
    return next((session for session in sessions if session["owner"] == route), None)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_neighbours_words_in_my_thread_reach_neither_session_and_cost_me_none(owner: Desk, platform: str) -> None:
    thread = Thread(owner, platform)

    for number in range(4):
        thread.say(f"theirs {number}", user="stranger")
        thread.say(f"mine {number}")
    until(lambda: "mine 3" in thread.words())

    said = [words for words in thread.words() if words.startswith(("mine", "theirs"))]
    assert said == [f"mine {number}" for number in range(4)]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_neighbours_commands_in_my_thread_leave_my_session_where_it_is(
    owner: Desk, neighbour: Desk, platform: str
) -> None:
    thread = Thread(owner, platform)
    theirs = neighbour.session(title=f"theirs {uuid.uuid4().hex[:6]}")
    before = {session["id"] for session in neighbour.http.get("/sessions").json()["sessions"]}

    said = {
        "/new": "Somebody else",
        f"/resume {theirs}": "Somebody else",
        f"/resume {thread.session_id}": "No session is called",
        f"/resume {thread.title}": "No session is called",
        "/status": "No session lives here",
    }
    for command, words in said.items():
        seen = thread.count(words)
        thread.say(command, user="stranger")
        until(lambda words=words, seen=seen: thread.count(words) > seen)  # type: ignore[misc]  # bound as defaults

    session = owner.see(thread.session_id)
    assert (session["owner"], session["epoch"]) == (thread.owner, 1)
    assert neighbour.see(theirs)["owner"] == "cli"
    assert {session["id"] for session in neighbour.http.get("/sessions").json()["sessions"]} == before
    thread.say("still mine")
    thread.wait_for("still mine")


def test_a_neighbours_stop_does_not_stop_my_turn(owner: Desk) -> None:
    thread = Thread(owner, "telegram")

    thread.say("rehearse: slow 2")
    until(lambda: owner.see(thread.session_id)["turn_running"])
    thread.say("/stop", user="stranger")

    until(lambda: "rehearse: slow 2" in thread.words())


def test_a_neighbour_may_make_a_shared_chat_their_home_and_mine_stays(owner: Desk, neighbour: Desk) -> None:
    thread = Thread(owner, "slack")

    thread.say("/sethome", user="stranger")
    thread.wait_for("your home on slack")

    homes = {p["name"]: p["home"] for p in neighbour.http.get("/platforms").json()["platforms"]}
    assert homes["slack"] == {"chat": SHARED_CHATS["slack"]}
    assert {p["name"]: p["home"] for p in owner.http.get("/platforms").json()["platforms"]}["telegram"] == {
        "chat": "7001"
    }


def test_replace_never_parks_somebody_elses_session(owner: Desk, neighbour: Desk) -> None:
    plain_group = "-1002"
    mine = owner.session()
    assert owner.hand_over(mine, target=plain_group)["session"]["owner"] == "telegram:-1002"

    tried = neighbour.hand_over(neighbour.session(), target=plain_group, replace=True)

    assert (tried["state"], tried["error"]["code"]) == ("failed", "place_busy")
    assert "replace" not in tried["error"]["message"]
    assert owner.see(mine)["owner"] == "telegram:-1002"
    another = owner.session()
    assert owner.hand_over(another, target=plain_group, replace=True)["state"] == "completed"
    assert owner.see(mine)["owner"] == "cli"


def test_somebody_elses_private_chat_is_neither_target_nor_home(
    owner: Desk, neighbour: Desk, town: LocalService
) -> None:
    theirs = neighbour.session()
    before = settled(town)

    assert code_of(neighbour.request(theirs, target="7001")) == "place_busy"
    assert code_of(neighbour.http.put("/platforms/telegram/home", json={"chat": "7001"})) == "place_busy"
    assert code_of(neighbour.request(theirs, "slack", target="U7001")) == "place_busy"

    assert written(town) == before
    assert owner.http.put("/platforms/telegram/home", json={"chat": "7001"}).status_code == 200


def test_an_id_that_somebody_took_beforehand_does_not_close_my_home(owner: Desk, neighbour: Desk) -> None:
    """The ids of sessions that begin in a chat can be foretold, and clients choose the ids of theirs."""
    town, chat = owner.service, "D0OWNER"
    owner.http.put("/platforms/slack/home", json={"chat": chat}).raise_for_status()
    for guess in (f"slack:{chat}\nhome", f"slack:{chat}\nowner\nhome"):
        taken = hashlib.sha256(guess.encode()).hexdigest()[:32]
        neighbour.http.put(f"/sessions/{taken}", json={}).raise_for_status()

    town.simulator.say("slack", chat, "anybody home?")

    mine = until(lambda: living_at(owner, f"slack:{chat}"))
    until(lambda: "anybody home?" in str(owner.transcript(mine["id"])))
    assert neighbour.see(taken)["owner"] == "cli"


def test_new_gives_each_chat_a_session_of_its_own_even_for_the_same_message_number(owner: Desk) -> None:
    """Telegram counts messages per chat: two chats have a message of the same number."""
    secret = owner.service.simulator.secrets["telegram/webhook_secret"]
    number = uuid.uuid4().int % 10**8 + 10**8
    for person, chat in ((7001, 7001), (7002, 7002)):
        message = {
            "message_id": number,
            "date": 1,
            "chat": {"id": chat, "type": "private"},
            "from": {"id": person, "is_bot": False, "first_name": "P"},
            "text": "/new",
        }
        owner.http.post(
            "/webhooks/telegram",
            json={"update_id": number, "message": message},
            headers={"X-Telegram-Bot-Api-Secret-Token": secret},
        ).raise_for_status()

    until(lambda: living_at(owner, "telegram:7001"))
    until(lambda: living_at(Desk(owner.service, "neighbour"), "telegram:7002"))
    assert living_at(owner, "telegram:7002") is None


def test_a_place_that_somebody_left_is_no_ones(owner: Desk, neighbour: Desk) -> None:
    """Its route still points to the session that left: that is told to its own person only."""
    chat = SHARED_CHATS["slack"]
    neighbour.http.put("/platforms/slack/home", json={"chat": chat}).raise_for_status()
    owner.service.simulator.say("slack", chat, "/new")
    mine = until(lambda: living_at(owner, f"slack:{chat}"))
    owner.http.post(f"/sessions/{mine['id']}/resume", json={"epoch": mine["epoch"]}).raise_for_status()

    owner.service.simulator.say("slack", chat, "my turn", user="stranger")

    theirs = until(lambda: living_at(neighbour, f"slack:{chat}"))
    until(lambda: "my turn" in str(neighbour.transcript(theirs["id"])))
    assert "my turn" not in str(owner.transcript(mine["id"]))


def test_a_stranger_moves_nothing_wherever_they_type(town: LocalService) -> None:
    """Nobody with this id is known: no row, no session, no answer."""
    desk, before = add_user(town), settled(town)
    secret = town.simulator.secrets["telegram/webhook_secret"]
    for number, text in enumerate(("hello", "/new", "/resume", "/sethome", "/stop", "/status"), start=10**9):
        message = {
            "message_id": number,
            "date": 1,
            "chat": {"id": -1001000000001, "type": "supergroup"},
            "from": {"id": 666, "is_bot": False, "first_name": "M"},
            "text": text,
        }
        answer = desk.http.post(
            "/webhooks/telegram",
            json={"update_id": number, "message": message},
            headers={"X-Telegram-Bot-Api-Secret-Token": secret},
        )
        assert answer.status_code == 200

    known = {key for key in written(town) if "USER#" not in key}
    assert known == {key for key in before if "USER#" not in key}
