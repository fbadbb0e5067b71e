"""What every wire protocol is given, and how a call meets an armed fault."""

import asyncio
import socket
import struct
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from local.chats.simulator.credentials import Credentials
from local.chats.simulator.deliveries import Deliveries
from local.chats.simulator.faults import Fault, Faults, Kind, Operation
from local.chats.simulator.store import Store
from local.chats.simulator.world import Platform, World

KEPT_CALLS = 2000
Refusals = Mapping[Kind, Callable[[Fault], web.Response]]


@dataclass(frozen=True)
class MadeCall:
    """One call that a bot made: Telegram's or Slack's method with its arguments, Discord's verb and path with its body."""

    platform: Platform
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Stage:
    """The parts of one simulator that its protocols share."""

    world: World
    credentials: Credentials
    store: Store
    faults: Faults
    deliveries: Deliveries
    clock: Callable[[], float]
    commands: dict[str, str | None]  # Discord's registered slash commands; the application may replace them
    webhook: Callable[[Platform], str | None]  # where a platform's events go now, if anywhere
    base_url: Callable[[], str]
    faults_changed: Callable[[], None]
    calls: deque[MadeCall] = field(default_factory=lambda: deque(maxlen=KEPT_CALLS))

    def record(self, platform: Platform, name: str, arguments: Mapping[str, Any]) -> None:
        self.calls.append(MadeCall(platform, name, arguments))

    async def perform(
        self,
        request: web.Request,
        platform: Platform,
        operation: Operation,
        act: Callable[[], Awaitable[web.Response]],
        refusals: Refusals,
    ) -> web.Response:
        """Does `act`, unless a fault is armed for it: then it is late, lost on the way there or back, or refused."""
        fault = self.faults.take(platform, operation)
        if fault is None:
            return await act()
        self.faults_changed()
        if fault.kind in refusals:
            return refusals[fault.kind](fault)
        if fault.kind == "reset":
            return _cut(request)
        if fault.kind == "accept_then_reset":
            await act()
            return _cut(request)
        await asyncio.sleep(fault.seconds)
        return await act()


def _cut(request: web.Request) -> web.Response:
    """Ends the connection with a TCP reset; the response that is returned reaches nobody."""
    transport = request.transport
    if transport is not None:
        connection = transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
    return web.Response()
