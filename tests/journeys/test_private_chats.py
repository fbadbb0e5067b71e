"""Two users, every private chat of every platform: no request of one touches a private chat of the other."""

from typing import Any

import pytest

from local.chats import CHATS
from local.chats.spec import SeededChat
from local.service import LocalService
from shared.domain.routes import Place
from tests.contracts.platform.places import spellings
from tests.support.api_user import ApiUser
from tests.support.problems import problem_code
from tests.support.snapshots import settled_snapshot, snapshot
from tests.support.waiting import eventually

PRIVATE = {
    f"{chat.name} {seeded.kind}": (chat.name, seeded)
    for chat in CHATS
    for seeded in chat.chats
    if seeded.people == ("owner",)
}
PEOPLE = {chat.name: chat.people for chat in CHATS}
every_private_chat = pytest.mark.parametrize("kind", PRIVATE)


def messages(town: LocalService, platform: str, chat_id: str) -> Any:
    """All that is said and opened in the chat."""
    chats = town.simulator.state()["platforms"][platform]["chats"]
    return next((chat["messages"], chat["threads"]) for chat in chats if chat["id"] == chat_id)


def names(platform: str, private: SeededChat) -> list[str]:
    """The ids of the chat and of its person, and every other way to write them."""
    person = PEOPLE[platform]["owner"]
    spelt = [text for text in spellings(private, person) if text.strip() and "#" not in text]
    return [private.id, person, *spelt]


@every_private_chat
def test_another_users_private_chat_is_no_home(owner: ApiUser, neighbour: ApiUser, kind: str) -> None:
    platform, private = PRIVATE[kind]
    before, said = settled_snapshot(owner.service), messages(owner.service, platform, private.id)

    for text in names(platform, private):
        if text.strip() != text:
            continue  # the API removes spaces around an id
        answer = neighbour.http.put(f"/platforms/{platform}/home", json={"chat": text})
        assert problem_code(answer) in ("place_busy", "invalid_request", "chat_refused"), text

    assert snapshot(owner.service) == before
    assert messages(owner.service, platform, private.id) == said


@every_private_chat
def test_another_users_private_chat_is_no_target(owner: ApiUser, neighbour: ApiUser, kind: str) -> None:
    platform, private = PRIVATE[kind]
    said = messages(owner.service, platform, private.id)

    for text in names(platform, private):
        answer = neighbour.request_handoff(neighbour.create_session(), platform, target=text, replace=True)
        if answer.status_code == 202:
            done = neighbour.wait_for_handoff(answer.json()["id"])
            assert done["state"] == "failed", text
            assert done["error"]["code"] in ("place_busy", "chat_not_found"), text
        else:
            assert problem_code(answer) in ("place_busy", "invalid_request"), text

    assert messages(owner.service, platform, private.id) == said


@every_private_chat
def test_a_home_that_became_anothers_private_chat_is_void(owner: ApiUser, neighbour: ApiUser, kind: str) -> None:
    """Homes were stored before, or by an operator: neither a handoff nor the diagnosis uses such a home."""
    platform, private = PRIVATE[kind]
    owner.service.store.accounts.set_home("neighbour", Place(platform, private.id))
    said = messages(owner.service, platform, private.id)
    calls = len(owner.service.simulator.calls)

    done = neighbour.hand_off(neighbour.create_session(), platform)
    checks = neighbour.http.get("/doctor").json()["checks"]

    assert (done["state"], done["error"]["code"]) == ("failed", "place_busy")
    (home,) = [check for check in checks if (check["platform"], check["name"]) == (platform, "home")]
    assert home["ok"] is False
    assert "another user" in home["detail"]
    assert messages(owner.service, platform, private.id) == said
    made = [call.name.lower() for call in owner.service.simulator.calls[calls:] if call.platform == platform]
    assert not [name for name in made if "history" in name or "messages" in name or "sendmessage" in name]


@every_private_chat
def test_a_person_is_not_locked_out_of_the_own_private_chat(owner: ApiUser, neighbour: ApiUser, kind: str) -> None:
    """Another user's session may live there since the account changed hands: the person's next message evicts it."""
    platform, private = PRIVATE[kind]
    place, town = Place(platform, private.id), owner.service
    for mine in [session for session in owner.sessions() if session["owner"] == place.route]:  # of other tests
        owner.http.post(f"/sessions/{mine['id']}/resume", json={"epoch": mine["epoch"]}).raise_for_status()
    squatter = neighbour.create_session()
    store = town.store
    session = store.sessions.get(squatter)
    assert session is not None
    store.moves.to_chat(session, place, "https://chat.test", now=session.updated_at)
    own = owner.create_session()

    town.simulator.say(platform, private.id, f"/resume {own}")

    eventually(lambda: owner.session(own)["owner"] == place.route)
    assert neighbour.session(squatter)["owner"] == "cli"
    town.simulator.say(platform, private.id, "do you hear me?")
    eventually(lambda: "do you hear me?" in owner.contents(own))
    assert "do you hear me?" not in neighbour.contents(squatter)


@every_private_chat
def test_my_own_private_chat_is_home_and_target(owner: ApiUser, kind: str) -> None:
    platform, private = PRIVATE[kind]

    for text in (private.id, PEOPLE[platform]["owner"]):
        answer = owner.http.put(f"/platforms/{platform}/home", json={"chat": text})
        if answer.status_code == 200:
            assert answer.json() == {"platform": platform, "chat": private.id}
    done = owner.hand_off(owner.create_session(), platform, replace=True)

    assert done["state"] == "completed"
    assert done["session"]["owner"].startswith(Place(platform, private.id).route)
