"""A person at a terminal and what they can see, for tests that walk a whole journey."""

import itertools
import json
import time
import uuid
from collections.abc import Callable
from typing import Any, TypeVar

import httpx

from local.service import LocalService

PATIENCE = 20.0
T = TypeVar("T")


class Desk:
    """One user at a terminal, speaking the HTTP contract."""

    def __init__(self, service: LocalService, user: str = "owner") -> None:
        self.service = service
        headers = {"Authorization": f"Bearer {service.tokens[user]}"}
        self.http = httpx.Client(base_url=service.url, headers=headers, timeout=30)

    def session(self, count: int = 4, title: str | None = None) -> str:
        """A new session with `count` messages."""
        session_id = f"s-{uuid.uuid4().hex[:12]}"
        self.http.put(f"/sessions/{session_id}", json={"title": title} if title else {}).raise_for_status()
        roles = itertools.cycle(["user", "assistant"])
        messages = [{"role": next(roles), "content": f"message {number}"} for number in range(count)]
        if messages:
            body = {"epoch": 0, "after": 0, "messages": messages}
            self.http.post(f"/sessions/{session_id}/messages", json=body).raise_for_status()
        return session_id

    def request(
        self, session_id: str, platform: str = "telegram", key: str | None = None, **more: Any
    ) -> httpx.Response:
        body = {"session_id": session_id, "platform": platform, "epoch": 0, **more}
        return self.http.post("/handoffs", json=body, headers={"Idempotency-Key": key or uuid.uuid4().hex})

    def hand_over(self, session_id: str, platform: str = "telegram", **more: Any) -> dict[str, Any]:
        """Ask for a handoff and wait for its end."""
        answer = self.request(session_id, platform, **more)
        assert answer.status_code == 202, answer.text
        return self.wait(answer.json()["id"])

    def wait(self, handoff_id: str) -> dict[str, Any]:
        return until(lambda: _when(self.handoff(handoff_id), lambda view: view["done"]))

    def handoff(self, handoff_id: str) -> dict[str, Any]:
        view: dict[str, Any] = self.http.get(f"/handoffs/{handoff_id}").raise_for_status().json()
        return view

    def see(self, session_id: str) -> dict[str, Any]:
        view: dict[str, Any] = self.http.get(f"/sessions/{session_id}").raise_for_status().json()
        return view

    def transcript(self, session_id: str) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = (
            self.http.get(f"/sessions/{session_id}/messages").raise_for_status().json()["messages"]
        )
        return messages

    def threads(self, title: str, platform: str = "telegram") -> list[dict[str, Any]]:
        """The threads whose title has these words, each with its chat's id."""
        chats = self.service.simulator.state()["platforms"][platform]["chats"]
        return [
            {**thread, "chat": chat["id"]} for chat in chats for thread in chat["threads"] if title in thread["title"]
        ]


def _when(view: dict[str, Any], holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any] | None:
    return view if holds(view) else None


def until(look: Callable[[], T | None], patience: float = PATIENCE) -> T:
    """Look again and again until there is something to see."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if seen := look():
            return seen
        time.sleep(0.01)  # a look costs a request; without a breath the service would starve
    raise AssertionError(f"not seen within {patience:.0f} s: {json.dumps(str(look()))}")
