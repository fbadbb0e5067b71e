"""Pairing on every platform, over its own protocol and under the roles of the functions."""

import pytest

from local.chats import CHATS
from local.chats.spec import LocalChat
from local.service import LocalService
from tests.support.api_user import add_user
from tests.support.waiting import eventually

PRIVATE = [(chat, each.id) for chat in CHATS for each in chat.chats if each.people == ("stranger",)]


@pytest.mark.parametrize(("chat", "home"), PRIVATE, ids=[chat.name for chat, _ in PRIVATE])
def test_a_paired_account_receives_handoffs_and_is_heard(service: LocalService, chat: LocalChat, home: str) -> None:
    user, person = add_user(service), chat.people["stranger"]
    made = user.http.post("/links", json={"platform": chat.name}).json()
    try:
        service.simulator.say(chat.name, home, made["text"], user="stranger")
        linked = eventually(
            lambda: [one for one in user.http.get("/links").json()["links"] if one["state"] == "linked"]
        )
        assert (linked[0]["account"], linked[0]["home"]) == (person, home)

        session_id = user.create_session()
        done = user.hand_off(session_id, chat.name)
        assert (done["state"], done["error"]) == ("completed", None)
        thread = done["session"]["owner"].split(":")[2:]
        service.simulator.say(chat.name, home, "from the couch", thread=thread[0] if thread else None, user="stranger")
        eventually(lambda: "from the couch" in user.contents(session_id))
    finally:
        user.http.delete(f"/links/{chat.name}").raise_for_status()

    service.simulator.say(chat.name, home, "still there?", user="stranger")
    assert service.store.accounts.user_of(chat.name, person) is None
