"""The simulator's services to a platform's protocol, with armed faults applied to calls."""

import asyncio
import math
import socket
import struct
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from local.chats.simulator.deliveries import Deliveries, Event, Policy, Sign
from local.chats.simulator.faults import DOWNLOADS, Fault, Faults, Kind, Operation
from local.chats.simulator.files import Wrap, serve
from local.chats.simulator.people import Person, people_on
from local.chats.simulator.store import Chat, Store
from local.chats.spec import LocalChat, SeededChat

FaultResponses = Mapping[Kind, Callable[[Fault], web.Response]]


@dataclass(frozen=True)
class MadeCall:
    """One call of a bot: the method with its arguments, or HTTP method and path with the body."""

    platform: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Backend:
    """One platform's view of the simulator."""

    platform: LocalChat
    secrets: Mapping[str, str]
    store: Store
    faults: Faults
    deliveries: Deliveries
    calls: deque[MadeCall]
    clock: Callable[[], float]
    base_url: Callable[[], str]
    service_url: Callable[[], str | None]
    faults_changed: Callable[[], None]
    people: tuple[Person, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "people", people_on(self.platform.people))

    @property
    def name(self) -> str:
        return self.platform.name

    @property
    def options(self) -> Any:
        """The platform's own settings; the protocol knows their type."""
        return self.platform.options

    def secret(self, name: str) -> str:
        """A secret of this platform, such as `bot_token`."""
        return self.secrets[f"{self.name}/{name}"]

    def webhook(self) -> str | None:
        """Where the platform's events go, if a URL is set."""
        url = self.service_url()
        return f"{url.rstrip('/')}/webhooks/{self.name}" if url else None

    def person(self, key: str) -> Person:
        return next(person for person in self.people if person.key == key)

    def person_with_id(self, user_id: str) -> Person | None:
        return next((person for person in self.people if person.id == user_id), None)

    def chats(self) -> list[Chat]:
        return self.store.chats(self.name)

    def chat(self, chat_id: str) -> Chat:
        """Raises NotFound."""
        return self.store.chat(self.name, chat_id)

    def add_chat(self, chat: SeededChat) -> Chat:
        return self.store.add_chat(self.name, chat)

    def take_redelivery(self) -> bool:
        """Whether an armed fault asks to deliver the last event once more."""
        return self.faults.take_redelivery(self.name)

    def deliver(self, event_id: str, body: bytes, sign: Sign, policy: Policy, *, lane: str | None, **more: Any) -> None:
        """Send an event to the webhook; `more` are further fields of `Event`."""
        event = Event(self.name, event_id, body, sign, policy, **{"lane": lane, "url": self.webhook, **more})
        self.deliveries.send(event)

    async def download(
        self, request: web.Request, file_id: str, media_type: str = "", *, wrap: Wrap | None = None
    ) -> web.StreamResponse:
        """Answer a bot's download of a file, or apply the fault that is armed for downloads."""

        async def act(fault: Fault | None = None) -> web.StreamResponse:
            return await serve(request, self.store.files.content(file_id), media_type, fault, wrap)

        self.record("download", {"file": file_id})
        fault = self.faults.take(self.name, "download")
        if fault is None:
            return await act()
        self.faults_changed()
        if fault.kind in DOWNLOADS:
            return await act(fault)
        if fault.kind in ("reset", "accept_then_reset"):
            return _reset(request)
        if fault.kind == "slow":
            await asyncio.sleep(fault.seconds)
            return await act()
        status = {"rate_limit": 429, "forbidden": 403}.get(fault.kind, 500)
        return web.Response(status=status, headers={"Retry-After": str(math.ceil(fault.seconds))})

    def record(self, name: str, arguments: Mapping[str, Any]) -> None:
        self.calls.append(MadeCall(self.name, name, arguments))

    async def perform(
        self,
        request: web.Request,
        operation: Operation,
        act: Callable[[], Awaitable[web.Response]],
        responses: FaultResponses,
    ) -> web.Response:
        """Run `act`, or apply the fault that is armed for it. `responses` are the platform's own error answers."""
        fault = self.faults.take(self.name, operation)
        if fault is None:
            return await act()
        self.faults_changed()
        if fault.kind in responses:
            return responses[fault.kind](fault)
        if fault.kind == "reset":
            return _reset(request)
        if fault.kind == "accept_then_reset":
            await act()
            return _reset(request)
        await asyncio.sleep(fault.seconds)
        return await act()


def _reset(request: web.Request) -> web.Response:
    """Close the connection with a TCP reset; the returned response is never sent."""
    transport = request.transport
    if transport is not None:
        connection = transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
    return web.Response()
