"""One simulator of all chat platforms, with an event loop of its own so that synchronous code can use it."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Self, TypeVar
from urllib.parse import quote

from local.chats.simulator.credentials import Credentials
from local.chats.simulator.deliveries import Attempt
from local.chats.simulator.handshake import Handshake
from local.chats.simulator.server import Server, Setting
from local.chats.simulator.stage import MadeCall
from local.chats.simulator.world import Platform, World

T = TypeVar("T")
_PATIENCE_SECONDS = 30


class Simulator:
    """Speaks every platform's protocol on one port of 127.0.0.1. Start it once, stop it once; both return when done."""

    def __init__(
        self,
        webhook_url: str | None = None,
        credentials: Credentials | None = None,
        world: World | None = None,
        *,
        retry_scale: float = 1.0,
    ) -> None:
        """`retry_scale` shortens the platforms' own pauses between two deliveries of one event."""
        self.credentials = credentials or Credentials()
        self.world = world or World()
        self._webhook_url = webhook_url
        self._setting = Setting(self.world, self.credentials, lambda: self._webhook_url, retry_scale)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="chat-simulator", daemon=True)
        self._server: Server | None = None

    def start(self, port: int = 0) -> None:
        """Listens when it returns. Raises OSError if the port is taken."""
        self._thread.start()
        try:
            self._server = self._run(Server.open(self._setting, port))
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends every connection and the thread; a second call does nothing."""
        if self._loop.is_closed():
            return
        if self._server is not None:
            self._run(self._server.close())
            self._run(_end_what_is_left())
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._loop.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._running.port}"

    @property
    def telegram_api_url(self) -> str:
        """`base_url` of python-telegram-bot's Bot."""
        return f"{self.url}/telegram/bot"

    @property
    def slack_api_url(self) -> str:
        """`base_url` of slack-sdk's WebClient."""
        return f"{self.url}/slack/api/"

    @property
    def discord_api_url(self) -> str:
        """`discord.http.Route.BASE` of discord.py."""
        return f"{self.url}/discord/api/v10"

    @property
    def discord_gateway_url(self) -> str:
        """`DiscordWebSocket.DEFAULT_GATEWAY` of discord.py."""
        return f"ws://127.0.0.1:{self._running.port}/discord/gateway"

    def link_url(self, platform: Platform, chat: str | None = None, thread: str | None = None) -> str:
        """Opens that platform, chat or thread on the page; append `/<chat>/<thread>` to the platform's own."""
        parts = [platform, *(part for part in (chat, thread) if part)]
        return f"{self.url}/#/{'/'.join(quote(part, safe='') for part in parts)}"

    @property
    def webhook_url(self) -> str | None:
        """Where events go: `<webhook_url>/webhooks/<platform>`. Until it is set they wait."""
        return self._webhook_url

    @webhook_url.setter
    def webhook_url(self, url: str | None) -> None:
        self._webhook_url = url
        if self._server is not None:
            self._run(self._server.webhook_changed())

    @property
    def attempts(self) -> list[Attempt]:
        """Every try to deliver an event so far."""
        return self._call(list, self._running.deliveries.attempts)

    @property
    def calls(self) -> list[MadeCall]:
        """The newest calls that bots made, to check what was sent and how often."""
        return self._call(list, self._running.calls)

    def state(self) -> dict[str, Any]:
        """The same as GET /state."""
        return self._call(self._running.control.state)

    def say(self, platform: Platform, chat: str, text: str, *, thread: str | None = None, user: str = "owner") -> str:
        """The same as POST /say; returns the message's id."""
        body = {"platform": platform, "chat": chat, "thread": thread, "user": user, "text": text}
        said: str = self._call(self._running.control.say, body)["id"]
        return said

    def arm(self, platform: Platform, kind: str, count: int = 1, **more: Any) -> None:
        """The same as POST /faults."""
        self._call(self._running.control.arm, {"platform": platform, "kind": kind, "count": count, **more})

    def remove(self, platform: Platform, chat: str, thread: str | None = None) -> None:
        """The same as POST /remove."""
        self._call(self._running.control.remove, {"platform": platform, "chat": chat, "thread": thread})

    def disconnect(self, platform: Platform) -> None:
        """Ends the bot's sockets, as the platform does now and then; what is undelivered waits for the next one."""
        self._run(self._running.disconnect(platform))

    def verify(self, platform: Platform) -> Handshake:
        """What the platform does when a webhook's URL is entered in its settings: sees whether somebody answers right."""
        return self._run(self._running.verify(platform))

    @property
    def _running(self) -> Server:
        if self._server is None:
            raise RuntimeError("the simulator is not started: call start() first")
        return self._server

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=_PATIENCE_SECONDS)

    def _call(self, work: Callable[..., T], *arguments: Any) -> T:
        async def run() -> T:
            return work(*arguments)

        return self._run(run())


async def _end_what_is_left() -> None:
    """Answers that are slow on purpose, to callers who have left."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
