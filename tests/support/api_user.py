"""A user of the HTTP API, for tests of the whole service."""

import itertools
import uuid
from typing import Any

import httpx

from local.chats import CHATS
from local.service import LocalService
from shared.domain.tokens import FIRST, Scope
from shared.use_cases.people.authenticate import hash_of, new_token
from tests.support.http_contract import check
from tests.support.platform_cases import DEFAULT_PLATFORM, PLATFORMS, THREADED
from tests.support.servers import NO_TLS
from tests.support.waiting import eventually

Json = dict[str, Any]


class ApiUser:
    """One user with a token. Handoffs go to `DEFAULT_PLATFORM` unless a platform is given."""

    def __init__(self, service: LocalService, user_id: str = "owner") -> None:
        self.service = service
        headers = {"Authorization": f"Bearer {service.tokens[user_id]}"}
        hooks = {"response": [check]}
        self._began: dict[str, dict[tuple[str, str], int]] = {}
        self.http = httpx.Client(base_url=service.url, headers=headers, timeout=30, event_hooks=hooks, verify=NO_TLS)

    def create_session(self, count: int = 4, title: str | None = None) -> str:
        """A new session with `count` messages; returns its id."""
        if title:
            self._began[title] = self._messages_now()
        session_id = f"s-{uuid.uuid4().hex[:12]}"
        self.http.put(f"/sessions/{session_id}", json={"title": title} if title else {}).raise_for_status()
        roles = itertools.cycle(["user", "assistant"])
        messages = [{"role": next(roles), "content": f"message {number}"} for number in range(count)]
        if messages:
            body = {"epoch": 0, "after": 0, "messages": messages}
            self.http.post(f"/sessions/{session_id}/messages", json=body).raise_for_status()
        return session_id

    def request_handoff(
        self, session_id: str, platform: str = DEFAULT_PLATFORM, key: str | None = None, **more: Any
    ) -> httpx.Response:
        """Without threads, the session of an earlier test may live in the chat: it is parked, unless `more` says so."""
        if platform in PLATFORMS and platform not in THREADED:
            more = {"replace": True, **more}
        body = {"session_id": session_id, "platform": platform, "epoch": 0, **more}
        return self.http.post("/handoffs", json=body, headers={"Idempotency-Key": key or uuid.uuid4().hex})

    def hand_off(self, session_id: str, platform: str = DEFAULT_PLATFORM, **more: Any) -> Json:
        """Request a handoff and wait until it is completed, failed or cancelled."""
        answer = self.request_handoff(session_id, platform, **more)
        assert answer.status_code == 202, answer.text
        return self.wait_for_handoff(answer.json()["id"])

    def wait_for_handoff(self, handoff_id: str, *, within: float = 20.0) -> Json:
        def done() -> Json | None:
            view = self.handoff(handoff_id)
            return view if view["done"] else None

        return eventually(done, within=within, show=lambda: self.handoff(handoff_id))

    def handoff(self, handoff_id: str) -> Json:
        return self._get(f"/handoffs/{handoff_id}")

    def session(self, session_id: str) -> Json:
        return self._get(f"/sessions/{session_id}")

    def sessions(self) -> list[Json]:
        found: list[Json] = self._get("/sessions?limit=200")["sessions"]
        return found

    def homes(self) -> dict[str, Any]:
        """The home chat on each platform."""
        return {platform["name"]: platform["home"] for platform in self._get("/platforms")["platforms"]}

    def transcript(self, session_id: str) -> list[Json]:
        messages: list[Json] = self._get(f"/sessions/{session_id}/messages")["messages"]
        return messages

    def contents(self, session_id: str) -> list[str]:
        """The contents of the transcript's messages."""
        return [str(message["content"]) for message in self.transcript(session_id)]

    def threads(self, title: str, platform: str = DEFAULT_PLATFORM) -> list[Json]:
        """The platform's threads whose title contains `title`, each with its chat's id.

        Without threads, a chat counts as one, from the creation of the session with this title on.
        """
        chats = self.service.simulator.state()["platforms"][platform]["chats"]
        if platform in PLATFORMS and platform not in THREADED:
            return [found for chat in chats if (found := self._since(title, platform, chat))]
        return [
            {**thread, "chat": chat["id"]} for chat in chats for thread in chat["threads"] if title in thread["title"]
        ]

    def _since(self, title: str, platform: str, chat: Json) -> Json | None:
        """What a chat without threads holds since then; None if the bot has said nothing there."""
        began = next((counts for known, counts in self._began.items() if title in known), {})
        messages = chat["messages"][began.get((platform, chat["id"]), 0) :]
        if not any(message["from"] == "bot" for message in messages):
            return None
        return {"id": chat["id"], "chat": chat["id"], "title": title, "messages": messages}

    def _messages_now(self) -> dict[tuple[str, str], int]:
        try:
            platforms = self.service.simulator.state()["platforms"]
        except LookupError:  # a service with real bots simulates no chats
            return {}
        return {
            (platform, chat["id"]): len(chat["messages"])
            for platform in platforms
            for chat in platforms[platform]["chats"]
        }

    def _get(self, path: str) -> Json:
        view: Json = self.http.get(path).raise_for_status().json()
        return view


def add_user(service: LocalService, user_id: str = "", *, scopes: frozenset[Scope] = FIRST) -> ApiUser:
    """A new user with a token, without homes or accounts on any platform."""
    user_id = user_id or f"u{uuid.uuid4().hex[:8]}"
    service.tokens[user_id] = new_token(user_id)
    service.store.accounts.add_token(user_id, hash_of(service.tokens[user_id]), scopes=scopes)
    return ApiUser(service, user_id)


def add_neighbour(service: LocalService) -> ApiUser:
    """A second user, who is the simulator's `stranger` in the shared chats."""
    user = add_user(service, "neighbour")
    for chat in CHATS:
        service.store.accounts.add_identity("neighbour", chat.name, chat.people["stranger"])
    return user
