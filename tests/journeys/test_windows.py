"""Platforms that let a bot write only for some time after the person did, and those that report what they accepted."""

import pytest

from local.chats import CHATS
from local.chats.spec import LocalChat
from local.service import LocalService
from shared.domain.routes import Place
from tests.support.api_user import ApiUser
from tests.support.chat_thread import ChatThread
from tests.support.platform_cases import PLATFORMS, adapter
from tests.support.problems import problem_code
from tests.support.waiting import eventually

WINDOWED = [chat for chat in CHATS if chat.spec.window is not None]
REPORTING = [name for name in PLATFORMS if adapter(name).capabilities.receipts]


@pytest.mark.parametrize("chat", WINDOWED, ids=lambda chat: chat.name)
def test_a_person_has_to_write_first(town: LocalService, neighbour: ApiUser, chat: LocalChat) -> None:
    """The neighbour has never written to the bot."""
    person, session_id = chat.people["stranger"], neighbour.create_session()
    town.store.accounts.set_home("neighbour", Place(chat.name, person))

    refused = neighbour.request_handoff(session_id, chat.name)
    (check,) = [c for c in neighbour.http.get("/doctor").json()["checks"] if c["name"] == "window"]

    assert problem_code(refused) == "write_first"
    assert "Send it /status" in refused.json()["detail"]
    assert (check["ok"], check["platform"]) == (False, chat.name)
    assert neighbour.session(session_id)["active_handoff"] is None

    town.simulator.say(chat.name, person, "/status", user="stranger")
    eventually(lambda: town.store.accounts.heard_at(chat.name, person))

    assert neighbour.hand_off(session_id, chat.name)["state"] == "completed"


@pytest.mark.parametrize("platform", REPORTING)
def test_a_report_repairs_a_send_without_an_answer(user: ApiUser, platform: str) -> None:
    """It comes at once, so neither the claim of the lost send is waited for, nor is anything repeated."""
    thread = ChatThread(user, platform)
    for text in ("one", "two"):
        user.service.simulator.arm(platform, "accept_then_reset", on="send")
        thread.say(text)
        thread.wait_for(text)
        thread.say(f"after {text}")
        thread.wait_for(f"after {text}", within=15)

    assert len(thread.replies()) == 4
