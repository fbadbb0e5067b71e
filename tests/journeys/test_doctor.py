"""`GET /doctor`: one look at everything that a handoff needs, under a role that can write nothing."""

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from shared.use_cases.people.authenticate import hash_of, new_token
from tests.support.desk import Desk, until

PLATFORMS = ("telegram", "slack", "discord")
Check = dict[str, Any]


def checks(desk: Desk) -> list[Check]:
    answer = desk.http.get("/doctor")
    assert answer.status_code == 200, answer.text
    found: list[Check] = answer.json()["checks"]
    assert all(set(check) == {"name", "platform", "ok", "detail", "fix"} for check in found)
    return found


def verdicts(desk: Desk, platform: str | None) -> dict[str, bool | None]:
    return {check["name"]: check["ok"] for check in checks(desk) if check["platform"] == platform}


@pytest.fixture
def desk(desk: Desk) -> Iterator[Desk]:
    yield desk
    for platform in PLATFORMS:
        for kind in ("reset", "rate_limit"):
            desk.service.simulator.arm(platform, kind, count=0)


def test_for_its_owner_a_local_run_has_no_fault(desk: Desk) -> None:
    found = checks(desk)

    assert [check for check in found if check["ok"] is False] == []
    # Slack alone tells nobody where it posts to: that comes with how to see it.
    assert [(check["platform"], check["name"]) for check in found if check["ok"] is None] == [("slack", "webhook")]
    for platform in PLATFORMS:
        named = {check["name"] for check in found if check["platform"] == platform}
        assert {"bot", "secrets", "webhook", "home", "thread", "identity"} <= named
    assert verdicts(desk, None) == {"agent": True, "handoffs": True}


def test_it_tells_the_time(desk: Desk) -> None:
    told = datetime.fromisoformat(desk.http.get("/doctor").json()["now"])

    assert abs((datetime.now(UTC) - told).total_seconds()) < 30


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_platform_that_is_down_is_a_finding_and_the_others_are_looked_at(desk: Desk, platform: str) -> None:
    desk.service.simulator.arm(platform, "reset", count=50, on="read")  # one of its names

    assert verdicts(desk, platform) == {"bot": False, "identity": True}
    for other in set(PLATFORMS) - {platform}:
        assert verdicts(desk, other)["bot"] is True


def test_messages_that_do_not_arrive_show_in_the_webhook(desk: Desk) -> None:
    """Somebody has set another secret for the webhook: Telegram posts, and is refused."""
    simulator = desk.service.simulator
    token, url = simulator.secrets["telegram/bot_token"], f"{desk.service.url}/webhooks/telegram"
    api = f"{simulator.api_url('telegram')}{token}"
    httpx.post(f"{api}/setWebhook", json={"url": url, "secret_token": "another"}).raise_for_status()
    try:
        simulator.say("telegram", "7002", "Does anybody hear me?", user="stranger")
        webhook = _until_webhook_is(desk, ok=False)
        assert "401 Unauthorized (1 waiting)" in webhook["detail"]
        assert "setWebhook" in webhook["fix"]
    finally:
        again = {"url": url, "secret_token": simulator.secrets["telegram/webhook_secret"]}
        httpx.post(f"{api}/setWebhook", json=again).raise_for_status()
    _until_webhook_is(desk, ok=True)


def test_somebody_without_an_identity_is_told_that_nobody_listens(desk: Desk) -> None:
    for platform in PLATFORMS:
        found = verdicts(Desk(desk.service, "other"), platform)
        assert (found["home"], found["identity"]) == (True, False)


def test_somebody_without_a_home_is_told_how_to_set_one(desk: Desk) -> None:
    user_id = f"u{uuid.uuid4().hex[:8]}"
    desk.service.tokens[user_id] = new_token(user_id)
    desk.service.store.accounts.add_token(user_id, hash_of(desk.service.tokens[user_id]))

    homes = [check for check in checks(Desk(desk.service, user_id)) if check["name"] == "home"]

    assert [(check["platform"], check["ok"]) for check in homes] == [(platform, False) for platform in PLATFORMS]
    assert "handoff config home telegram" in homes[0]["fix"]


def test_it_is_for_people_with_a_token(desk: Desk) -> None:
    assert httpx.get(f"{desk.service.url}/doctor").status_code == 401


def _until_webhook_is(desk: Desk, *, ok: bool) -> Check:
    def look() -> Check | None:
        (webhook,) = [c for c in checks(desk) if (c["platform"], c["name"]) == ("telegram", "webhook")]
        return webhook if webhook["ok"] is ok else None

    return until(look)
