"""A simulator of all chat platforms, for synchronous code: it runs on an event loop in a background thread."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import quote

from local.chats import CHATS
from local.chats.simulator.backend import MadeCall
from local.chats.simulator.deliveries import Attempt
from local.chats.simulator.protocol import Handshake
from local.chats.simulator.server import Server, ServerSettings
from local.chats.spec import LocalChat

T = TypeVar("T")
_TIMEOUT_SECONDS = 30


class Simulator:
    """Serves every platform's protocol on one port of 127.0.0.1. `start` and `stop` return when done; use each once."""

    def __init__(
        self,
        chats: Sequence[LocalChat] = CHATS,
        *,
        webhook_url: str | None = None,
        secrets: Mapping[str, str] | None = None,
        retry_scale: float = 1.0,
        journal: Path | None = None,
    ) -> None:
        """`secrets` are those of the simulated bots, new ones by default; `retry_scale` shortens the pauses of retries.

        With a `journal` the chats of an earlier simulator with the same file are there, too.
        """
        self._platforms = {chat.name: chat for chat in chats}
        self.secrets = secrets or {name: value for chat in chats for name, value in chat.new_secrets().items()}
        self._webhook_url = webhook_url
        self._settings = ServerSettings(chats, self.secrets, lambda: self._webhook_url, retry_scale, journal)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="chat-simulator", daemon=True)
        self._server: Server | None = None

    def start(self, port: int = 0) -> None:
        """Listens when it returns. Raises OSError if the port is taken."""
        self._thread.start()
        try:
            self._server = self._run(Server.open(self._settings, port))
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Close all connections and end the thread; a second call does nothing."""
        if self._loop.is_closed():
            return
        if self._server is not None:
            self._run(self._server.close())
            self._run(_cancel_tasks())
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

    def api_url(self, platform: str) -> str:
        """The simulated API, in the form in which the platform's SDK takes it."""
        return self._with_host(self._platforms[platform].api_url)

    def relay_options(self, platform: str) -> dict[str, str]:
        """The options with which the platform's relay connects to the simulator."""
        relay = self._platforms[platform].relay
        options = relay.options if relay else ()
        return {option.name: self._with_host(option.simulated_url) for option in options if option.simulated_url}

    def _with_host(self, url: str) -> str:
        return url.format(host=f"127.0.0.1:{self._running.port}")

    def link_url(self, platform: str, chat: str | None = None, thread: str | None = None) -> str:
        """The address of a platform, chat or thread on the page."""
        parts = [platform, *(part for part in (chat, thread) if part)]
        return f"{self.url}/#/{'/'.join(quote(part, safe='') for part in parts)}"

    @property
    def webhook_url(self) -> str | None:
        """Events go to `<webhook_url>/webhooks/<platform>`; they wait while it is not set."""
        return self._webhook_url

    @webhook_url.setter
    def webhook_url(self, url: str | None) -> None:
        self._webhook_url = url
        if self._server is not None:
            self._run(self._server.webhook_changed())

    @property
    def attempts(self) -> list[Attempt]:
        """The newest attempts to deliver an event."""
        return self._call(list, self._running.deliveries.attempts)

    @property
    def calls(self) -> list[MadeCall]:
        """The newest calls of bots."""
        return self._call(list, self._running.calls)

    def state(self) -> dict[str, Any]:
        """The same as GET /state."""
        return self._call(self._running.control.state)

    def say(
        self, platform: str, chat: str, text: str, *, thread: str | None = None, user: str = "owner", **beside: Any
    ) -> str:
        """The same as POST /say; returns the message's id."""
        body = {"platform": platform, "chat": chat, "thread": thread, "user": user, "text": text, **beside}
        said: str = self._call(self._running.control.say, body)["id"]
        return said

    def press(
        self, platform: str, chat: str, message: str, button: str, *, thread: str | None = None, user: str = "owner"
    ) -> None:
        """The same as POST /press."""
        body = {"platform": platform, "chat": chat, "thread": thread, "user": user}
        self._call(self._running.control.press, {**body, "message": message, "button": button})

    def arm(self, platform: str, kind: str, count: int = 1, **more: Any) -> None:
        """The same as POST /faults."""
        self._call(self._running.control.arm, {"platform": platform, "kind": kind, "count": count, **more})

    def remove(self, platform: str, chat: str, thread: str | None = None, *, bot_only: bool = False) -> None:
        """The same as POST /remove."""
        body = {"platform": platform, "chat": chat, "thread": thread, "bot_only": bot_only}
        self._call(self._running.control.remove, body)

    def forge(self, platform: str, chat: str, message: str, *, user: str = "stranger") -> None:
        """Let another person post a message that is equal to this one, which is deleted."""
        self._call(self._running.control.forge, platform, chat, message, user)

    def disconnect(self, platform: str) -> None:
        """Close the bot's sockets, as platforms do from time to time; undelivered events wait for the next socket."""
        self._run(self._running.disconnect(platform))

    def verify(self, platform: str) -> Handshake:
        """Check the webhook URL as the platform does when it is entered in its settings."""
        return self._run(self._running.verify(platform))

    @property
    def _running(self) -> Server:
        if self._server is None:
            raise RuntimeError("the simulator is not started: call start() first")
        return self._server

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=_TIMEOUT_SECONDS)

    def _call(self, work: Callable[..., T], *arguments: Any) -> T:
        async def run() -> T:
            return work(*arguments)

        return self._run(run())


async def _cancel_tasks() -> None:
    """Cancel answers that a fault delays."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
