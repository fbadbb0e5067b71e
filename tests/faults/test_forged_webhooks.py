"""Webhooks that are not what a platform sent just now: refused or ignored, with no row written and nobody woken."""

import hashlib
import hmac
import json
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from nacl.signing import SigningKey

from functions.webhook.handler import build
from local.chats import CHATS
from local.service import LocalService
from shared.bootstrap import build_services
from shared.platforms.discord.signatures import relay_headers
from shared.settings import Settings
from tests.support.desk import Desk, until

EVENT = Path(__file__).parents[1] / "events" / "http_telegram_webhook.json"
Headers = Mapping[str, str]
Signer = Callable[[Mapping[str, str], bytes, int], Headers]


def telegram(given: Mapping[str, str], _: bytes, __: int) -> Headers:
    return {"X-Telegram-Bot-Api-Secret-Token": given["telegram/webhook_secret"]}


def slack(given: Mapping[str, str], raw: bytes, now: int) -> Headers:
    base = b"v0:" + str(now).encode() + b":" + raw
    digest = hmac.new(given["slack/signing_secret"].encode(), base, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": str(now), "X-Slack-Signature": f"v0={digest}"}


def discord(given: Mapping[str, str], raw: bytes, now: int) -> Headers:
    signed = SigningKey(bytes.fromhex(given["discord/signing_seed"])).sign(str(now).encode() + raw)
    return {"X-Signature-Ed25519": signed.signature.hex(), "X-Signature-Timestamp": str(now)}


def relay(given: Mapping[str, str], raw: bytes, now: int) -> Headers:
    return relay_headers(given["discord/relay_secret"], raw, now=now * 1000)


SIGNERS: dict[str, tuple[str, Signer]] = {
    "telegram": ("telegram", telegram),
    "slack": ("slack", slack),
    "discord": ("discord", discord),
    "discord's relay": ("discord", relay),
}
WITH_TIME = [name for name in SIGNERS if name != "telegram"]


def message(way: str, text: str) -> dict[str, Any]:
    """A message of the owner in the home chat, as each platform would send it."""
    number = uuid.uuid4().int % 10**8 + 10**8
    snowflake = str(7_000_000_000_000_000_000 + number)
    person = {"id": "7001000000000000001", "username": "olivia"}
    said: dict[str, dict[str, Any]] = {
        "telegram": {
            "update_id": number,
            "message": {
                "message_id": number,
                "date": 1,
                "chat": {"id": 7001, "type": "private"},
                "from": {"id": 7001, "is_bot": False, "first_name": "O"},
                "text": text,
            },
        },
        "slack": {
            "type": "event_callback",
            "event": {"type": "message", "channel": "D0OWNER", "user": "U7001", "ts": f"{number}.000100", "text": text},
        },
        "discord": {
            "type": 2,
            "id": snowflake,
            "channel_id": "6003000000000000003",
            "user": person,
            "data": {"name": "say", "options": [{"name": "text", "value": text}]},
        },
        "discord's relay": {
            "t": "MESSAGE_CREATE",
            "d": {"id": snowflake, "channel_id": "6003000000000000003", "author": person, "type": 0, "content": text},
        },
    }
    return said[way]


class Door:
    """The webhook's address, and whether anything behind it has changed."""

    def __init__(self, desk: Desk) -> None:
        self.desk, self.service = desk, desk.service
        self._before = self._inside()

    def post(self, platform: str, raw: bytes, headers: Headers) -> int:
        answer = self.desk.http.post(f"/webhooks/{platform}", content=raw, headers={**headers, "Authorization": ""})
        return answer.status_code

    def signed(self, way: str, raw: bytes, *, age: int = 0) -> tuple[str, Headers]:
        platform, sign = SIGNERS[way]
        return platform, sign(self.service.simulator.secrets, raw, int(time.time()) - age)

    def nothing_happened(self) -> bool:
        """No row is new and nobody was woken; what others left in the queue may be gone meanwhile."""
        (rows, waiting), (rows_before, waiting_before) = self._inside(), self._before
        return rows == rows_before and waiting <= waiting_before

    def rows(self) -> list[str]:
        table = self.service.stack.resources["SessionsTable"]
        pages = self.service.engine.client("dynamodb").get_paginator("scan").paginate(TableName=table)
        found = [item["pk"]["S"] + item["sk"]["S"] for page in pages for item in page["Items"]]
        return sorted(key for key in found if key.startswith("INBOX#"))

    def _inside(self) -> tuple[list[str], int]:
        url = self.service.stack.outputs["TurnsQueueUrl"]
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        counts = self.service.engine.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)
        return self.rows(), sum(int(count) for count in counts["Attributes"].values())


@pytest.fixture
def door(desk: Desk) -> Door:
    return Door(desk)


def body(way: str, text: str = "let me in") -> bytes:
    return json.dumps(message(way, text)).encode()


@pytest.mark.parametrize("way", SIGNERS)
def test_what_is_not_signed_is_refused(door: Door, way: str) -> None:
    assert door.post(SIGNERS[way][0], body(way), {}) == 401
    assert door.nothing_happened()


@pytest.mark.parametrize("way", SIGNERS)
def test_what_is_signed_with_another_secret_is_refused(door: Door, way: str) -> None:
    platform, sign = SIGNERS[way]
    raw = body(way)
    other_secrets = {name: value for chat in CHATS for name, value in chat.new_secrets().items()}
    assert door.post(platform, raw, sign(other_secrets, raw, int(time.time()))) == 401
    assert door.nothing_happened()


@pytest.mark.parametrize("way", WITH_TIME)
def test_what_was_changed_after_it_was_signed_is_refused(door: Door, way: str) -> None:
    raw = body(way)
    platform, headers = door.signed(way, raw)
    assert door.post(platform, raw.replace(b"let me in", b"let us in"), headers) == 401
    assert door.post(platform, raw + b" ", headers) == 401
    assert door.nothing_happened()


@pytest.mark.parametrize("age", [-400, 400], ids=["from the future", "stale"])
@pytest.mark.parametrize("way", WITH_TIME)
def test_what_was_not_signed_just_now_is_refused(door: Door, way: str, age: int) -> None:
    raw = body(way)
    platform, headers = door.signed(way, raw, age=age)
    assert door.post(platform, raw, headers) == 401
    assert door.nothing_happened()


@pytest.mark.parametrize("way", SIGNERS)
@pytest.mark.parametrize("garbage", ["", "ü", "v0=", "-1", "9" * 400], ids=repr)
def test_headers_that_make_no_sense_are_refused(door: Door, way: str, garbage: str) -> None:
    raw = body(way)
    platform, headers = door.signed(way, raw)
    for name in headers:
        answer = door.desk.http.post(
            f"/webhooks/{platform}",
            content=raw,
            headers=[(key.encode(), (garbage if key == name else value).encode()) for key, value in headers.items()],
        )
        assert answer.status_code == 401
    assert door.nothing_happened()


@pytest.mark.parametrize("way", SIGNERS)
@pytest.mark.parametrize(
    "raw", [b"", b"\xff\xfe", b"[]", b"null", b"{", b'"text"', b"{}" * 3, b"[" * 5000], ids=lambda raw: repr(raw[:8])
)
def test_bytes_that_make_no_sense_are_ignored_however_well_they_are_signed(door: Door, way: str, raw: bytes) -> None:
    platform, headers = door.signed(way, raw)
    assert door.post(platform, raw, headers) in (200, 401)
    assert door.nothing_happened()


@pytest.mark.parametrize("way", SIGNERS)
def test_what_is_said_twice_is_written_once(door: Door, way: str) -> None:
    raw = body(way, f"said once {uuid.uuid4().hex}")
    before = door.rows()

    for _ in range(3):
        platform, headers = door.signed(way, raw)
        assert door.post(platform, raw, headers) == 200

    until(lambda: len(door.rows()) > len(before))
    assert len(door.rows()) == len(before) + 1


@pytest.mark.parametrize("platform", ["matrix", "nosuch", "telegram ", "TELEGRAM"])
def test_a_platform_that_is_not_there_is_refused(door: Door, platform: str) -> None:
    raw = body("telegram")
    assert door.post(platform, raw, door.signed("telegram", raw)[1]) == 401
    assert door.nothing_happened()


@pytest.mark.parametrize("header", ["", "anything", "None"])
def test_a_platform_without_a_secret_refuses_everything(fragile: LocalService, door: Door, header: str) -> None:
    settings = Settings.from_environment(fragile.stack.functions["WebhookFunction"].environment)
    bare = build_services(replace(settings, secrets_prefix="/nobody/set/these"), client=fragile.engine.client)
    event = json.loads(EVENT.read_text())
    event["headers"]["x-telegram-bot-api-secret-token"] = header

    answer = build(bare)(event, None)

    assert answer["statusCode"] == 401
    assert door.nothing_happened()
