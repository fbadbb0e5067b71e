"""The diagnosis of a Telegram bot, from scripted answers."""

from collections.abc import Mapping
from typing import Any

import pytest

from shared.domain.routes import Place
from shared.platforms.telegram.adapter import Telegram
from shared.ports.platforms import Finding
from shared.settings import Settings
from tests.shared.platforms.scripted_answers import scripted
from tests.support.secrets import FakeSecrets

NOW = 1_800_000_000_000
OURS = "https://handoff.example/webhooks/telegram"
PRIVATE, GROUP = Place("telegram", "7"), Place("telegram", "-1001")
ME = {"id": 42, "is_bot": True, "first_name": "H", "username": "handoff_bot", "can_read_all_group_messages": False}
FULL = {"accent_color_id": 0, "max_reaction_count": 11, "accepted_gift_types": dict.fromkeys(
    ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription", "gifts_from_channels"), False
)}  # fmt: skip
IN_PRIVATE = {"id": 7, "type": "private", "first_name": "Anna", **FULL}
FORUM = {"id": -1001, "type": "supergroup", "title": "Team", "is_forum": True, **FULL}
HOOK = {"url": OURS, "has_custom_certificate": False, "pending_update_count": 0}
RIGHTS = (
    *("can_be_edited", "is_anonymous", "can_manage_chat", "can_delete_messages", "can_manage_video_chats"),
    *("can_restrict_members", "can_promote_members", "can_change_info", "can_invite_users", "can_post_stories"),
    *("can_edit_stories", "can_delete_stories", "can_pin_messages", "can_manage_topics"),
)


def member(status: str, **more: Any) -> dict[str, Any]:
    rights = dict.fromkeys(RIGHTS, False) if status == "administrator" else {}
    return {"status": status, "user": ME, **rights, **more}


def look(home: Place | None = None, *, ours: str = OURS, public: bool = False, **answers: Any) -> dict[str, Finding]:
    given = {"getMe": ME, "getWebhookInfo": HOOK, "getChat": IN_PRIVATE, **answers}
    script: Mapping[str, Any] = {method: {"ok": True, "result": result} for method, result in given.items() if result}
    with scripted(script) as url:
        settings = Settings(
            "h",
            "s",
            "q",
            platform_urls={"telegram": {"api": f"{url}/bot"}},
            public_url="https://handoff.example" if public else "",
        )
        bot = Telegram(settings, FakeSecrets({"telegram/bot_token": "42:token", "telegram/webhook_secret": "secret"}))
        found = bot.diagnose(home, webhook_url=ours, now=NOW, seconds=10)
    return {finding.name: finding for finding in found}


@pytest.mark.parametrize(("enabled", "ok"), [(True, True), (False, False)])
def test_a_private_chat_has_topics_where_threaded_mode_is_on(enabled: bool, ok: bool) -> None:
    found = look(PRIVATE, getMe={**ME, "has_topics_enabled": enabled})

    assert (found["home"].ok, found["thread"].ok) == (True, ok)
    assert ok or "Threaded Mode" in str(found["thread"].fix)
    assert "messages" not in found


@pytest.mark.parametrize(
    ("chat", "who", "thread", "hears"),
    [
        (FORUM, member("administrator", can_manage_topics=True), True, True),
        (FORUM, member("creator", is_anonymous=False), True, True),
        (FORUM, member("administrator"), False, True),
        (FORUM, member("member"), False, False),
        ({**FORUM, "is_forum": False}, member("member"), False, False),
        ({**FORUM, "is_forum": False}, member("administrator", can_manage_topics=True), False, True),
    ],
)
def test_a_group_needs_topics_and_an_administrator(
    chat: dict[str, Any], who: dict[str, Any], thread: bool, hears: bool
) -> None:
    found = look(GROUP, getChat=chat, getChatMember=who)

    assert (found["home"].ok, found["thread"].ok, found["messages"].ok) == (True, thread, hears)


def test_without_privacy_mode_a_member_receives_all_messages() -> None:
    found = look(
        GROUP, getMe={**ME, "can_read_all_group_messages": True}, getChat=FORUM, getChatMember=member("member")
    )

    assert found["messages"].ok is True


@pytest.mark.parametrize("who", [member("left"), member("kicked", until_date=0)])
def test_a_group_that_the_bot_left_is_reported(who: dict[str, Any]) -> None:
    found = look(GROUP, getChat=FORUM, getChatMember=who)

    assert found["home"].ok is False
    assert "not in Team" in found["home"].detail
    assert "thread" not in found


def failing(seconds_ago: int, waiting: int) -> dict[str, Any]:
    error = "Wrong response from the webhook: 401 Unauthorized"
    at = NOW // 1000 - seconds_ago
    return {**HOOK, "pending_update_count": waiting, "last_error_date": at, "last_error_message": error}


@pytest.mark.parametrize(
    ("info", "ours", "public", "ok", "says"),
    [
        (HOOK, OURS, True, True, OURS),
        ({**HOOK, "url": ""}, OURS, True, False, "No webhook is set"),
        ({**HOOK, "url": "", "pending_update_count": 3}, OURS, True, False, "3 waiting"),
        ({**HOOK, "url": ""}, "http://127.0.0.1:8787/webhooks/telegram", False, None, "relay"),
        ({**HOOK, "url": "https://other.example/hook"}, OURS, False, False, "other.example"),
        ({**HOOK, "url": "https://abc.execute-api.example/webhooks/telegram"}, OURS, False, None, "handoff.example"),
        ({**HOOK, "url": "https://abc.execute-api.example/webhooks/telegram"}, OURS, True, False, "abc.execute-api"),
        (failing(60, 2), OURS, True, False, "401 Unauthorized (2 waiting)"),
        (failing(60, 0), OURS, True, True, OURS),
        (failing(86_400, 2), OURS, True, True, OURS),
        ({**HOOK, "allowed_updates": ["callback_query"]}, OURS, True, False, "not messages"),
        ({**HOOK, "allowed_updates": ["message"]}, OURS, True, True, OURS),
    ],
)
def test_the_webhook_is_checked(info: dict[str, Any], ours: str, public: bool, ok: bool | None, says: str) -> None:
    webhook = look(ours=ours, public=public, getWebhookInfo=info)["webhook"]

    assert webhook.ok is ok
    assert says in webhook.detail
    assert ok or webhook.fix


def test_a_failed_check_does_not_stop_the_others() -> None:
    found = look(PRIVATE, getMe={**ME, "has_topics_enabled": True}, getWebhookInfo=None)

    assert found["webhook"].ok is not True
    assert found["thread"].ok is True


@pytest.mark.parametrize("allowed", [None, [], ["message", "callback_query"]])
def test_presses_arrive_where_they_are_allowed(allowed: list[str] | None) -> None:
    info = HOOK if allowed is None else {**HOOK, "allowed_updates": allowed}

    assert "buttons" not in look(ours=OURS, public=True, getWebhookInfo=info)


@pytest.mark.parametrize("allowed", [["message"], ["message", "edited_message"]])
def test_presses_that_are_not_posted_are_found(allowed: list[str]) -> None:
    found = look(ours=OURS, public=True, getWebhookInfo={**HOOK, "allowed_updates": allowed})

    assert found["webhook"].ok is True
    assert found["buttons"].ok is False
    assert found["buttons"].fix == "handoff setup telegram"
