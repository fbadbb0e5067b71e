"""The diagnosis of a Slack app, from scripted answers."""

from typing import Any

import pytest

from shared.domain.routes import Place
from shared.platforms.slack.adapter import Slack
from shared.ports.platforms import Finding
from shared.settings import Settings
from tests.shared.platforms.scripted_answers import scripted
from tests.support.secrets import FakeSecrets

OURS = "https://handoff.example/webhooks/slack"
CHANNEL, PERSON = Place("slack", "C100"), Place("slack", "U100")
READ = "channels:history,groups:history,im:history,channels:read,groups:read,im:read,mpim:read"
ENOUGH = f"chat:write,{READ},im:write,files:read,files:write"
WHO = {"ok": True, "user": "handoff", "team": "Team", "user_id": "U9001", "url": "https://team.slack.com/"}
HISTORY: dict[str, Any] = {"ok": True, "messages": [], "has_more": False}


def refused(error: str, **more: str) -> dict[str, Any]:
    return {"ok": False, "error": error, **more}


def look(home: Place | None = CHANNEL, scopes: str | None = ENOUGH, **answers: Any) -> dict[str, Finding]:
    named = {name.replace("_", "."): answer for name, answer in answers.items()}
    script = {"auth.test": WHO, "conversations.history": HISTORY, **named}
    with scripted(script, {"X-OAuth-Scopes": scopes} if scopes is not None else None) as url:
        settings = Settings("h", "s", "q", platform_urls={"slack": {"api": f"{url}/api/"}})
        app = Slack(settings, FakeSecrets({"slack/bot_token": "xoxb-1", "slack/signing_secret": "secret"}))
        found = app.diagnose(home, webhook_url=OURS, now=0, seconds=10)
    return {finding.name: finding for finding in found}


def test_a_channel_with_the_bot_and_all_scopes_has_no_problems() -> None:
    found = look()

    assert {name: finding.ok for name, finding in found.items()} == {
        "bot": True,
        "secrets": True,
        "webhook": None,
        "scopes": True,
        "files": True,
        "home": True,
        "thread": True,
    }
    assert "@handoff" in found["bot"].detail
    assert OURS in str(found["webhook"].fix)


def test_an_app_that_was_made_before_files_is_told_what_it_lacks() -> None:
    found = look(scopes=f"chat:write,{READ},files:read")

    assert (found["scopes"].ok, found["files"].ok) == (True, False)
    assert "files:write" in found["files"].detail
    assert "files:read" not in found["files"].detail


@pytest.mark.parametrize(
    ("home", "scopes", "lacking"),
    [
        (CHANNEL, "chat:write", READ.replace(",", ", ")),
        (CHANNEL, READ, "chat:write"),
        (PERSON, f"chat:write,{READ}", "im:write"),
        (CHANNEL, "", "chat:write, channels:history"),
    ],
)
def test_missing_scopes_are_named(home: Place, scopes: str, lacking: str) -> None:
    found = look(home, scopes, conversations_open={"ok": True, "channel": {"id": "D100"}})

    assert found["scopes"].ok is False
    assert lacking in found["scopes"].detail
    assert found["thread"].ok is ("chat:write" in scopes)


def test_unknown_scopes_are_not_guessed() -> None:
    assert look(scopes=None)["scopes"].ok is None


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (refused("not_in_channel"), "not in this Slack channel"),
        (refused("channel_not_found"), "channel_not_found"),
        (refused("missing_scope", needed="channels:history"), "lacks a scope"),
    ],
)
def test_an_unusable_channel_is_reported(answer: dict[str, Any], says: str) -> None:
    found = look(conversations_history=answer)

    assert found["home"].ok is False
    assert says in found["home"].detail
    assert "/invite" in str(found["home"].fix)
    assert "thread" not in found


@pytest.mark.parametrize("answer", [refused("channel_not_found"), {"ok": True}, {"ok": True, "channel": None}])
def test_unopened_direct_messages_are_not_a_problem(answer: dict[str, Any]) -> None:
    found = look(PERSON, conversations_open=answer)

    assert found["home"].ok is None
    assert "first handoff" in str(found["home"].fix)


def test_open_direct_messages_are_checked() -> None:
    found = look(PERSON, conversations_open={"ok": True, "channel": {"id": "D100"}})

    assert (found["home"].ok, found["home"].detail) == (True, "The bot is in D100.")


@pytest.mark.parametrize("error", ["invalid_auth", "account_inactive", "token_revoked"])
def test_a_revoked_token_is_reported_with_a_fix(error: str) -> None:
    found = look(auth_test=refused(error))

    assert list(found) == ["bot"]
    assert found["bot"].ok is False
    assert "handoff setup slack" in str(found["bot"].fix)
