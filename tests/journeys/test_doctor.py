"""`GET /doctor` checks everything that a handoff needs, with a role that can write nothing."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from tests.support.api_user import ApiUser
from tests.support.platform_cases import CASES, PLATFORMS, THREADED
from tests.support.waiting import eventually

Check = dict[str, Any]


def checks(user: ApiUser) -> list[Check]:
    answer = user.http.get("/doctor")
    assert answer.status_code == 200, answer.text
    found: list[Check] = answer.json()["checks"]
    assert all(set(check) == {"name", "platform", "ok", "detail", "fix"} for check in found)
    return found


def results(user: ApiUser, platform: str | None) -> dict[str, bool | None]:
    return {check["name"]: check["ok"] for check in checks(user) if check["platform"] == platform}


@pytest.fixture
def user(user: ApiUser) -> Iterator[ApiUser]:
    yield user
    for platform in PLATFORMS:
        for kind in ("reset", "rate_limit"):
            user.service.simulator.arm(platform, kind, count=0)


def test_a_local_run_has_no_fault(user: ApiUser) -> None:
    found = checks(user)

    assert [check for check in found if check["ok"] is False] == []
    # Without an API that tells the webhook's URL, that check says how to look it up.
    unknown = [(check["platform"], check["name"]) for check in found if check["ok"] is None]
    assert set(unknown) == {(case.name, "webhook") for case in CASES.values() if not case.tells_webhook}
    for platform in PLATFORMS:
        named = {check["name"] for check in found if check["platform"] == platform}
        assert {"bot", "secrets", "webhook", "home", "identity"} <= named
        assert ("thread" in named) == (platform in THREADED)
    assert results(user, None) == {"agent": True, "files": True, "handoffs": True, "voice": True}


def test_it_returns_the_time(user: ApiUser) -> None:
    returned = datetime.fromisoformat(user.http.get("/doctor").json()["now"])

    assert abs((datetime.now(UTC) - returned).total_seconds()) < 30


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_platform_that_is_down_does_not_hide_the_others(user: ApiUser, platform: str) -> None:
    user.service.simulator.arm(platform, "reset", count=50, on="read")

    assert results(user, platform) == {"bot": False, "identity": True}
    for other in set(PLATFORMS) - {platform}:
        assert results(user, other)["bot"] is True


def test_rejected_deliveries_show_in_the_webhook_check(user: ApiUser) -> None:
    """Telegram posts with another secret than the service expects, and gets a 401."""
    simulator = user.service.simulator
    secrets, url = simulator.secrets, f"{user.service.url}/webhooks/telegram"
    api = f"{simulator.api_url('telegram')}{secrets['telegram/bot_token']}"
    httpx.post(f"{api}/setWebhook", json={"url": url, "secret_token": "another"}).raise_for_status()
    try:
        simulator.say("telegram", "7002", "Does anybody hear me?", user="stranger")
        webhook = _wait_for_webhook(user, ok=False)
        assert "401 Unauthorized (1 waiting)" in webhook["detail"]
        assert webhook["fix"] == "handoff setup telegram"
    finally:
        again = {"url": url, "secret_token": secrets["telegram/webhook_secret"]}
        httpx.post(f"{api}/setWebhook", json=again).raise_for_status()
    _wait_for_webhook(user, ok=True)


def _wait_for_webhook(user: ApiUser, *, ok: bool) -> Check:
    def look() -> Check | None:
        (webhook,) = [c for c in checks(user) if (c["platform"], c["name"]) == ("telegram", "webhook")]
        return webhook if webhook["ok"] is ok else None

    return eventually(look)
