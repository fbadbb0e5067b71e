"""A whole service in this process, and clients whose every response is checked against docs/openapi.json."""

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest

from local.chats import CHATS
from local.service import LocalService
from shared.domain.offers import Offer
from shared.domain.orders import BRING, Order
from shared.domain.routes import Place
from shared.domain.sessions import RunsOn, Turn
from shared.domain.tokens import FIRST
from shared.platforms import PLATFORMS
from shared.platforms.spec import PlatformSpec
from shared.store.inbox import InboxRow
from shared.use_cases.people.authenticate import hash_of, new_token
from tests.support.http_contract import check
from tests.support.servers import NO_TLS
from tests.support.waiting import eventually

SUPPORTED = [spec for spec in PLATFORMS if spec.adapter is not None]
CHAT = SUPPORTED[0].name
FORUM = next(chat.id for chat in CHATS[0].chats if CHATS[0].kinds[chat.kind].is_forum)
UNCONFIGURED = [spec for spec in SUPPORTED if spec.window is None][-1]
WINDOWED = next(chat for chat in CHATS if chat.spec.window is not None)
UNSUPPORTED = "carrier"
BUSY = Turn("turn", is_claimed=True, lease_until=2**47)
ONE: list[dict[str, Any]] = [{"role": "user", "content": "hi"}]


class ServiceWithUnsupported(LocalService):
    """Lists one more platform, which has no adapter."""

    def _specs(self) -> list[PlatformSpec]:
        return [*super()._specs(), PlatformSpec(UNSUPPORTED, "Carrier", threads=False)]


@pytest.fixture(scope="session")
def service() -> Iterator[LocalService]:
    with ServiceWithUnsupported(mode="in_process") as running:
        prefix = running.stack.outputs["SecretsPrefix"]
        for secret in UNCONFIGURED.secrets:
            running.engine.client("ssm").delete_parameter(Name=f"{prefix}/{secret}")
        yield running


class Api:
    """A user of the service, and sessions in any state."""

    def __init__(self, service: LocalService, user_id: str) -> None:
        self.service = service
        self.user_id = user_id
        self.http = httpx.Client(
            base_url=service.url,
            headers={"Authorization": f"Bearer {service.tokens[user_id]}"},
            timeout=30,
            verify=NO_TLS,
            event_hooks={"response": [check]},
        )

    def session(self, messages: int = 1, **changes: Any) -> str:
        """A stored session; `changes` are written behind the API's back."""
        session_id = f"s-{uuid.uuid4().hex[:12]}"
        self.http.put(f"/sessions/{session_id}", json={"title": "Parser"})
        if messages:
            body = {"epoch": 0, "after": 0, "messages": ONE * messages}
            self.http.post(f"/sessions/{session_id}/messages", json=body)
        self.change(session_id, **changes)
        return session_id

    def change(self, session_id: str, **changes: Any) -> None:
        """Write attributes of a session behind the API's back."""
        if changes:
            stored = self.service.store.sessions.get(session_id)
            assert stored is not None
            self.service.store.sessions.replace(stored, replace(stored, **changes))

    def busy_session(self) -> str:
        """A session with a turn that is running for a long time."""
        return self.session(turn=BUSY)

    def runner(self) -> str:
        """The id of a new runner."""
        runner_id = f"r-{uuid.uuid4().hex[:12]}"
        self.http.put(f"/runners/{runner_id}", json={"name": "laptop", "protocol": 1}).raise_for_status()
        return runner_id

    def machine_turn(self) -> tuple[str, str]:
        """The ids of a session whose turn `turn` waits for a runner, and of that runner."""
        runs_on = RunsOn(self.runner(), "codex", "n-1")
        session_id = self.session(runs_on=runs_on)
        session = self.service.store.sessions.get(session_id)
        assert session is not None
        row = InboxRow(session.cli, "row-1", self.user_id, "hi", 1, self.user_id)
        offer = Offer("turn", session_id, self.user_id, session.cli, session.epoch, 1, rows=("row-1",), runs_on=runs_on)
        self.service.store.turns.offer(session, offer, accepted=row)
        return session_id, runs_on.runner

    def order(self, kind: str = "other", place: Place | None = None) -> tuple[str, str]:
        """The ids of an order that waits for a runner, and of that runner."""
        runner, place = self.runner(), place or Place(CHAT, "nowhere", uuid.uuid4().hex[:8])
        row = InboxRow(place, uuid.uuid4().hex, self.user_id, "hi", 1, self.user_id)
        assert self.service.store.inbox.put(row)
        order = Order("order", self.user_id, runner, kind, "", place, row.event_id, int(time.time() * 1000))
        self.service.store.orders.create(order, row, None)
        return order.id, runner

    def moving_order(self, place: Place | None = None) -> dict[str, str]:
        """The ids of a taken order that moves a session to a place, of its runner, and of a session that runs there."""
        order, runner = self.order(BRING, place or Place(CHAT, FORUM, uuid.uuid4().hex[:8]))
        self.http.post(f"/runners/{runner}/orders/{order}/take", json={"claim_id": "c-1"}).raise_for_status()
        return {"order": order, "runner": runner, "id": self.session(runs_on=RunsOn(runner, "codex", "n-1"))}

    def request_handoff(self, session_id: str, **more: Any) -> httpx.Response:
        body = {"session_id": session_id, "platform": CHAT, "epoch": 0, **more}
        return self.http.post("/handoffs", json=body, headers={"Idempotency-Key": uuid.uuid4().hex})

    @contextmanager
    def waiting_handoff(self) -> Iterator[dict[str, Any]]:
        """A handoff that the platform's rate limit holds back. Handoffs of earlier tests may meet the limit too."""
        self.service.simulator.arm(CHAT, "rate_limit", 100, seconds=600, on="open_thread")
        yield self.request_handoff(self.session(), target=FORUM).json()
        self.service.simulator.arm(CHAT, "rate_limit", 0)

    def completed_handoff(self) -> dict[str, Any]:
        view = self.ended_handoff(self.request_handoff(self.session()).json()["id"])
        assert view["error"] is None
        return view

    def ended_handoff(self, handoff_id: str) -> dict[str, Any]:
        def done() -> dict[str, Any] | None:
            view: dict[str, Any] = self.http.get(f"/handoffs/{handoff_id}").json()
            return view if view["done"] else None

        return eventually(done)


@pytest.fixture(scope="session")
def limited_service() -> Iterator[LocalService]:
    """A service that allows each user one open handoff, two turns an hour, 1 MB of transcripts and 1 MB of files."""
    limits = {"MaxOpenHandoffs": "1", "MaxTurnsPerHour": "2", "MaxStoredMegabytes": "1", "MaxFilesMegabytes": "1"}
    with LocalService(mode="in_process", parameters=limits) as running:
        yield running


def new_user(service: LocalService) -> Api:
    """A user who has a token and nothing else."""
    user_id = f"u{uuid.uuid4().hex[:8]}"
    service.tokens[user_id] = new_token(user_id)
    service.store.accounts.add_token(user_id, hash_of(service.tokens[user_id]), scopes=FIRST)
    return Api(service, user_id)


@pytest.fixture
def api(service: LocalService) -> Api:
    """The seeded owner, who has a home on every platform."""
    return Api(service, "owner")
