"""Webhooks that the platform did not send just now: rejected or ignored, without a write or a wake-up."""

import json
import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from functions.webhook.handler import build
from local.chats import CHATS
from local.service import LocalService
from shared.bootstrap import build_services
from shared.settings import Settings
from tests.support.api_user import ApiUser
from tests.support.engines import FUNCTIONS
from tests.support.platform_cases import CASES, DEFAULT_PLATFORM
from tests.support.waiting import eventually

pytestmark = pytest.mark.parametrize("faulty", [FUNCTIONS], indirect=True, scope="session")
EVENT = Path(__file__).parents[1] / "events" / "http_telegram_webhook.json"
WEBHOOKS = {name: webhook for case in CASES.values() for name, webhook in case.webhooks.items()}
WITH_TIMESTAMP = [name for name, webhook in WEBHOOKS.items() if webhook.timestamp]


def body(way: str, text: str = "let me in") -> bytes:
    number = uuid.uuid4().int % 10**8 + 10**8
    return json.dumps(WEBHOOKS[way].message(number, text)).encode()


class Endpoint:
    """The webhook endpoint, and whether an event has had an effect."""

    def __init__(self, user: ApiUser) -> None:
        self.user, self.service = user, user.service
        self._before = self._state()

    def post(self, way: str, raw: bytes, headers: Mapping[str, str], *, path: str | None = None) -> int:
        webhook = WEBHOOKS[way]
        sent = [(name.encode(), value.encode()) for name, value in {"Authorization": "", **headers}.items()]
        return self.user.http.request(webhook.method, path or webhook.path, content=raw, headers=sent).status_code

    def signed(self, way: str, raw: bytes, *, age: int = 0) -> tuple[bytes, Mapping[str, str]]:
        return WEBHOOKS[way].signed(self.service.simulator.secrets, raw, int(time.time()) - age)

    def is_unchanged(self) -> bool:
        """No inbox row and no wake-up is new; wake-ups of earlier tests may be gone."""
        (rows, waiting), (rows_before, waiting_before) = self._state(), self._before
        return rows == rows_before and waiting <= waiting_before

    def rows(self) -> list[str]:
        table = self.service.stack.resources["SessionsTable"]
        pages = self.service.engine.client("dynamodb").get_paginator("scan").paginate(TableName=table)
        found = [item["pk"]["S"] + item["sk"]["S"] for page in pages for item in page["Items"]]
        return sorted(key for key in found if key.startswith("INBOX#"))

    def _state(self) -> tuple[list[str], int]:
        url = self.service.stack.outputs["TurnsQueueUrl"]
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        counts = self.service.engine.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)
        return self.rows(), sum(int(count) for count in counts["Attributes"].values())


@pytest.fixture
def endpoint(user: ApiUser) -> Endpoint:
    return Endpoint(user)


@pytest.mark.parametrize("way", WEBHOOKS)
def test_an_unsigned_event_is_rejected(endpoint: Endpoint, way: str) -> None:
    assert endpoint.post(way, body(way), {}) == 401
    assert endpoint.is_unchanged()


@pytest.mark.parametrize("way", WEBHOOKS)
def test_an_event_signed_with_another_secret_is_rejected(endpoint: Endpoint, way: str) -> None:
    other = {name: value for chat in CHATS for name, value in chat.new_secrets().items()}
    assert endpoint.post(way, *WEBHOOKS[way].signed(other, body(way), int(time.time()))) == 401
    assert endpoint.is_unchanged()


@pytest.mark.parametrize("way", WITH_TIMESTAMP)
def test_an_event_changed_after_signing_is_rejected(endpoint: Endpoint, way: str) -> None:
    raw, headers = endpoint.signed(way, body(way))
    assert endpoint.post(way, raw.replace(b"let me in", b"let us in"), headers) == 401
    assert endpoint.post(way, raw + b" ", headers) == 401
    assert endpoint.is_unchanged()


@pytest.mark.parametrize("age", [-400, 400], ids=["from the future", "stale"])
@pytest.mark.parametrize("way", WITH_TIMESTAMP)
def test_an_old_signature_is_rejected(endpoint: Endpoint, way: str, age: int) -> None:
    assert endpoint.post(way, *endpoint.signed(way, body(way), age=age)) == 401
    assert endpoint.is_unchanged()


@pytest.mark.parametrize("way", WEBHOOKS)
@pytest.mark.parametrize("garbage", ["", "ü", "v0=", "-1", "9" * 400], ids=repr)
def test_malformed_signature_headers_are_rejected(endpoint: Endpoint, way: str, garbage: str) -> None:
    raw, headers = endpoint.signed(way, body(way))
    for name in headers:
        assert endpoint.post(way, raw, {**headers, name: garbage}) == 401
    assert endpoint.is_unchanged()


@pytest.mark.parametrize("way", WEBHOOKS)
@pytest.mark.parametrize(
    "raw", [b"", b"\xff\xfe", b"[]", b"null", b"{", b'"text"', b"{}" * 3, b"[" * 5000], ids=lambda raw: repr(raw[:8])
)
def test_a_signed_malformed_body_is_ignored(endpoint: Endpoint, way: str, raw: bytes) -> None:
    assert endpoint.post(way, *endpoint.signed(way, raw)) in (200, 401)
    assert endpoint.is_unchanged()


@pytest.mark.parametrize("way", WEBHOOKS)
def test_an_event_delivered_three_times_is_stored_once(endpoint: Endpoint, way: str) -> None:
    raw = body(way, f"said once {uuid.uuid4().hex}")
    before = endpoint.rows()

    for _ in range(3):
        assert endpoint.post(way, *endpoint.signed(way, raw)) == 200

    eventually(lambda: len(endpoint.rows()) > len(before))
    assert len(endpoint.rows()) == len(before) + 1


@pytest.mark.parametrize("platform", ["pigeon", f"{DEFAULT_PLATFORM} ", DEFAULT_PLATFORM.upper()])
def test_an_unknown_platform_is_rejected(endpoint: Endpoint, platform: str) -> None:
    way = next(iter(CASES[DEFAULT_PLATFORM].webhooks))
    assert endpoint.post(way, *endpoint.signed(way, body(way)), path=f"/webhooks/{platform}") == 401
    assert endpoint.is_unchanged()


@pytest.mark.parametrize("header", ["", "anything", "None"])
def test_without_a_secret_every_event_is_rejected(service: LocalService, endpoint: Endpoint, header: str) -> None:
    settings = Settings.from_environment(service.stack.functions["WebhookFunction"].environment)
    bare = build_services(replace(settings, secrets_prefix="/not/set"), client=service.engine.client)
    event = json.loads(EVENT.read_text())
    event["headers"]["x-telegram-bot-api-secret-token"] = header

    answer = build(bare)(event, None)

    assert answer["statusCode"] == 401
    assert endpoint.is_unchanged()
