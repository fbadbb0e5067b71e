"""How events reach the bot: transactions to its application service, or `/sync` once a client has polled it."""

import asyncio
import itertools
import json
from typing import Any

from aiohttp import web

from local.chats.matrix.wire.errors import invalid
from local.chats.simulator.backend import Backend
from local.chats.simulator.deliveries import Policy, doubling
from local.chats.simulator.protocol import Handshake, ask

JSON = dict[str, Any]
# A transaction is repeated for ever, with pauses that double, and holds back all later ones.
POLICY = Policy(timeout=60.0, retries=lambda: doubling(2, 512), in_order=True)
_PATH = "/_matrix/app/v1"


class Publishing:
    """All events in their order; a position is the number of events before it."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._events: list[JSON] = []
        self._transactions = itertools.count(1)
        self._changed = asyncio.Event()
        self._repeated: list[JSON] = []
        self._is_polled = False

    def publish(self, event: JSON) -> None:
        self._events.append(event)
        self.wake()
        if not self._is_polled:
            self._send(event)

    def wake(self) -> None:
        """Let all open polls answer."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def sync(self, request: web.Request) -> JSON:
        """`GET /sync`. Without `since`, only where the next poll begins."""
        self._is_polled = True
        since = request.query.get("since", "")
        if not since:
            return self._answer([])
        if not since.removeprefix("s").isdigit():
            raise invalid("Invalid stream token", "M_INVALID_PARAM")
        start = min(int(since.removeprefix("s")), len(self._events))
        if start == len(self._events) and not self._repeated:
            changed, seconds = self._changed, int(request.query.get("timeout", "0")) / 1000
            try:
                await asyncio.wait_for(changed.wait(), seconds)
            except TimeoutError:
                return self._answer([])
        found = [*self._repeated, *self._events[start:]]
        self._repeated = found if found and self._backend.take_redelivery() else []
        return self._answer(found)

    def _answer(self, events: list[JSON]) -> JSON:
        rooms: dict[str, JSON] = {}
        for event in events:
            timeline = rooms.setdefault(event["room_id"], {"timeline": {"events": [], "limited": False}})["timeline"]
            timeline["events"].append({name: value for name, value in event.items() if name != "room_id"})
        return {"next_batch": f"s{len(self._events)}", "rooms": {"join": rooms, "invite": {}, "leave": {}}}

    def _send(self, event: JSON) -> None:
        number = next(self._transactions)

        def url() -> str | None:
            webhook = self._backend.webhook()
            return f"{webhook}{_PATH}/transactions/{number}" if webhook else None

        body = json.dumps({"events": [event]}, ensure_ascii=False).encode()
        self._backend.deliver(
            str(number), body, lambda *_: self._authorization(), POLICY, lane="transactions", url=url, method="PUT"
        )

    async def ping(self) -> Handshake:
        """The ping that an application service asks its homeserver for."""
        if (url := self._backend.webhook()) is None:
            return Handshake(ok=False, detail="there is no webhook URL yet")
        status, _ = await ask(f"{url}{_PATH}/ping", b'{"transaction_id": "1"}', self._authorization())
        return Handshake(ok=status == 200, detail=f"the ping was answered with {status}")

    def _authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._backend.secret('webhook_secret')}"}
