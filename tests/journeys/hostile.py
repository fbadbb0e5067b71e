"""Two users who share chats, and a look at everything that is written, for tests that try to break in."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import httpx

from local.service import LocalService
from shared.use_cases.people.authenticate import hash_of, new_token
from tests.support.desk import Desk, until

SHARED_CHATS = {"telegram": "-1001000000001", "slack": "C0HOME", "discord": "6001000000000000001"}
CODES = {
    400: {"malformed_json"},
    401: {"unauthenticated"},
    404: {"unknown_session", "unknown_handoff", "not_found"},
    409: {
        *("moved", "out_of_sequence", "handoff_in_flight", "session_busy", "session_suspended"),
        *("place_busy", "too_late", "conflict"),
    },
    413: {"body_too_large"},
    422: {
        *("invalid_request", "unknown_platform", "platform_not_supported", "platform_not_configured"),
        *("no_home", "idempotency_key_reused"),
    },
}
"""Every refusal that docs/http.md knows."""


def code_of(answer: httpx.Response) -> str:
    """The code of a refusal, which must be a documented problem; the API's own 404 for an unknown route is `no_route`."""
    if answer.status_code == 404 and answer.json() == {"message": "Not Found"}:
        return "no_route"
    assert answer.headers["content-type"] == "application/problem+json", (answer.status_code, answer.text[:300])
    problem = answer.json()
    assert problem["status"] == answer.status_code
    assert problem["code"] in CODES[answer.status_code], problem
    assert problem["detail"]
    return str(problem["code"])


def add_user(service: LocalService, name: str = "") -> Desk:
    """A user of their own with a token; nobody on any platform."""
    user_id = name or f"u{uuid.uuid4().hex[:8]}"
    service.tokens[user_id] = new_token(user_id)
    service.store.accounts.add_token(user_id, hash_of(service.tokens[user_id]))
    return Desk(service, user_id)


def add_neighbour(service: LocalService) -> Desk:
    """A second allowed user, who is the simulator's `stranger` in the shared chats."""
    desk = add_user(service, "neighbour")
    for chat in service.chats:
        service.store.accounts.add_identity("neighbour", chat.name, chat.people["stranger"])
    return desk


def written(service: LocalService) -> dict[str, str]:
    """Both tables, item by item."""
    client = service.engine.client("dynamodb")
    names = (service.stack.resources["SessionsTable"], service.stack.resources["HandoffsTable"])
    return {
        json.dumps([item.get(key) for key in ("pk", "sk", "handoff_id")]): json.dumps(
            item, sort_keys=True, default=repr
        )
        for name in names
        for item in _items(client, name)
    }


def settled(service: LocalService) -> dict[str, str]:
    """Both tables once nobody writes any more: two looks in a row that are the same."""
    before: dict[str, str] = {}

    def same() -> dict[str, str] | None:
        nonlocal before
        earlier, before = before, written(service)
        return before if before == earlier else None

    return until(same)


def _items(client: Any, table: str) -> Iterator[dict[str, Any]]:
    for page in client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True):
        yield from page["Items"]


class Thread:
    """A session of the owner, handed over into a chat that others are in too."""

    def __init__(self, desk: Desk, platform: str, **more: Any) -> None:
        self.desk, self.platform, self.title = desk, platform, f"{platform} {uuid.uuid4().hex[:8]}"
        self.session_id = desk.session(title=self.title)
        done = desk.hand_over(self.session_id, platform, target=SHARED_CHATS[platform], **more)
        assert done["state"] == "completed", done
        (thread,) = desk.threads(self.title, platform)
        self.chat, self.id, self.owner = thread["chat"], thread["id"], done["session"]["owner"]

    def say(self, text: str, user: str = "owner") -> None:
        self.desk.service.simulator.say(self.platform, self.chat, text, thread=self.id, user=user)  # type: ignore[arg-type]  # one of the three

    def heard(self) -> list[str]:
        """What the bot has said there."""
        (thread,) = self.desk.threads(self.title, self.platform)
        return [message["text"] for message in thread["messages"] if message["from"] == "bot"]

    def wait_for(self, words: str) -> str:
        return until(lambda: next((text for text in self.heard() if words in text), None))

    def count(self, words: str) -> int:
        return sum(words in text for text in self.heard())

    def words(self) -> list[str]:
        return [str(message["content"]) for message in self.desk.transcript(self.session_id)]
