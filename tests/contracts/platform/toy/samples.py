"""Transactions of the toy, with events of every kind."""

from collections.abc import Mapping
from typing import Any

from tests.contracts.platform.toy import CHAT
from tests.support.hostile_webhooks import SAID, Samples

TOKEN = "the-webhook-secret"  # stands for it


def sign(_secrets: Mapping[str, str], _raw: bytes, _now: int) -> Mapping[str, str]:
    return {}


def seal(secrets: Mapping[str, str], raw: bytes) -> bytes:
    return raw.replace(TOKEN.encode(), secrets["toy/webhook_secret"].encode())


def transactions(number: int) -> list[dict[str, Any]]:
    said = {
        "kind": "message",
        "id": str(number),
        "chat": "lounge",
        "from": CHAT.people["owner"],
        "text": SAID,
    }
    threaded = {**said, "thread": "t1"}
    invite = {"kind": "invite", "chat": "studio", "from": CHAT.people["stranger"]}
    press = {"kind": "press", "id": str(number), "chat": "lounge", "from": CHAT.people["owner"], "private": False}
    press |= {"button": "go", "message": "7"}
    batches: list[list[dict[str, Any]]] = [
        [said],
        [threaded],
        [invite],
        [{**said, "from": "bot"}],
        [said, invite],
        [press],
        [{**said, "attachments": ["poll"], "forwarded": True}],
        [{**said, "files": [{"id": "5", "kind": "picture", "name": "plan.png", "type": "image/png", "size": 67}]}],
        [],
    ]
    return [{"token": TOKEN, "events": events} for events in batches]


SAMPLES = (Samples(CHAT.name, sign, transactions, method="PUT", rest="/transactions/1", seal=seal),)
