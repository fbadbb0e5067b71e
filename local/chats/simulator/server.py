"""Puts the parts of a simulator together and serves them on one port."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

from aiohttp import web

from local.chats.discord.wire import Discord
from local.chats.simulator import page
from local.chats.simulator.control import Control, Wire
from local.chats.simulator.credentials import Credentials
from local.chats.simulator.deliveries import Deliveries
from local.chats.simulator.faults import Faults
from local.chats.simulator.handshake import Handshake
from local.chats.simulator.live import Live
from local.chats.simulator.stage import Stage
from local.chats.simulator.store import Store
from local.chats.simulator.world import Platform, World
from local.chats.slack.wire import Slack
from local.chats.telegram.wire import Telegram

WIRES: Mapping[Platform, Callable[[Stage], Wire]] = {"telegram": Telegram, "slack": Slack, "discord": Discord}
MAX_BODY = 8 * 2**20


@dataclass(frozen=True)
class Setting:
    """What a server is made from; `webhook_url` is asked anew for each event."""

    world: World
    credentials: Credentials
    webhook_url: Callable[[], str | None]
    retry_scale: float


class Server:
    """A running simulator, for code on its event loop."""

    def __init__(self, setting: Setting) -> None:
        faults, store = Faults(), Store(setting.world, time.time)
        live = Live(setting.world, store, faults)
        self.port = 0
        self.deliveries = Deliveries(faults, retry_scale=setting.retry_scale)

        def webhook(platform: Platform) -> str | None:
            url = setting.webhook_url()
            return f"{url.rstrip('/')}/webhooks/{platform}" if url else None

        stage = Stage(
            world=setting.world,
            credentials=setting.credentials,
            store=store,
            faults=faults,
            deliveries=self.deliveries,
            clock=time.time,
            commands=dict(setting.world.commands),
            webhook=webhook,
            base_url=lambda: f"http://127.0.0.1:{self.port}",
            faults_changed=live.faults_changed,
        )
        self.calls = stage.calls
        self._wires = {platform: wire(stage) for platform, wire in WIRES.items()}
        self.control = Control(stage, self._wires)
        app = web.Application(client_max_size=MAX_BODY)
        app.add_routes([*page.routes(), *self.control.routes(), web.get("/live", live.stream)])
        for wire in self._wires.values():
            app.add_routes(wire.routes())
        app.on_shutdown.append(live.close)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)

    @classmethod
    async def open(cls, setting: Setting, port: int) -> Self:
        """Listens when it returns; raises OSError if the port is taken."""
        server = cls(setting)
        await server._runner.setup()
        try:
            await web.TCPSite(server._runner, "127.0.0.1", port).start()
        except OSError:
            await server.close()
            raise
        server.port = server._runner.addresses[0][1]
        return server

    async def close(self) -> None:
        await self.deliveries.close()
        await self._runner.cleanup()

    async def disconnect(self, platform: Platform) -> None:
        await self._wires[platform].disconnect()

    async def verify(self, platform: Platform) -> Handshake:
        return await self._wires[platform].verify()

    async def webhook_changed(self) -> None:
        """Events that waited for a URL look again."""
        for wire in self._wires.values():
            wire.webhook_changed()
        self.deliveries.wake()
