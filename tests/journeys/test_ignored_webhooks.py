"""Signed webhooks without a message of a known person: answered with 200 and ignored."""

import json
import time
from typing import Any

import httpx
import pytest

from local.chats import CHATS
from tests.support.api_user import ApiUser
from tests.support.platform_cases import CASES, DEFAULT_PLATFORM, PLATFORMS
from tests.support.problems import problem_code
from tests.support.snapshots import settled_snapshot, snapshot

LIMITS = {chat.name: chat.spec.body_limit for chat in CHATS}
REFUSING = [chat.name for chat in CHATS if not chat.spec.drops_oversized]


def post(user: ApiUser, platform: str, raw: bytes) -> httpx.Response:
    webhook = next(iter(CASES[platform].webhooks.values()))
    sealed, headers = webhook.signed(user.service.simulator.secrets, raw, int(time.time()))
    return user.http.request(webhook.method, webhook.path, content=sealed, headers=dict(headers))


@pytest.mark.parametrize("platform", PLATFORMS)
def test_events_without_a_person_are_ignored(user: ApiUser, platform: str) -> None:
    before = settled_snapshot(user.service)
    for event, body in CASES[platform].ignored.items():
        assert post(user, platform, json.dumps(body).encode()).status_code == 200, event

    assert {key for key in snapshot(user.service) if "INBOX#" in key} == {key for key in before if "INBOX#" in key}


@pytest.mark.parametrize("platform", [*PLATFORMS, "pigeon"])
@pytest.mark.parametrize(
    "body", [{"type": "url_verification", "challenge": "tell"}, {"type": 1}, {"update_id": 1}, {}], ids=repr
)
def test_an_unsigned_handshake_gets_no_answer(user: ApiUser, platform: str, body: dict[str, Any]) -> None:
    """The response is the same for every name, so it does not tell which platforms are configured."""
    answer = user.http.post(f"/webhooks/{platform}", json=body)

    assert problem_code(answer) == "unauthenticated"
    assert "tell" not in answer.text
    assert answer.json() == user.http.post(f"/webhooks/{DEFAULT_PLATFORM}", json={}).json()


@pytest.mark.parametrize("platform", REFUSING)
def test_a_webhook_over_the_limit_is_rejected(user: ApiUser, platform: str) -> None:
    assert problem_code(post(user, platform, b" " * (LIMITS[platform] + 1))) == "body_too_large"


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize("rest", ["", "/below"])
def test_every_method_and_path_is_verified(user: ApiUser, method: str, rest: str) -> None:
    answer = user.http.request(method, f"/webhooks/{DEFAULT_PLATFORM}{rest}", content=b"{}")

    assert problem_code(answer) == "unauthenticated"
