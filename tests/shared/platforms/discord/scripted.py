"""A server that answers what a test tells it to, for the cases that a well-behaved Discord never shows."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from shared.platforms.discord.adapter import Discord
from shared.settings import Settings

ME = {"id": "42", "username": "handoff", "discriminator": "0", "avatar": None, "bot": True}


@dataclass(frozen=True)
class Reply:
    """One answer; `cut` ends the connection instead of answering, `hang` never answers."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    hang: bool = False


@dataclass(frozen=True)
class Request:
    """What arrived."""

    method: str
    path: str
    body: Any
    query: Mapping[str, str]
    headers: Mapping[str, str]


class ScriptedDiscord:
    """Answers each call by its method and path from a list, the last one for ever; notes what arrived."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._replies: dict[tuple[str, str], list[Reply]] = {("GET", "/users/@me"): [Reply(body=ME)]}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._done = asyncio.Event()

    def on(self, call: str, *replies: Reply) -> None:
        method, path = call.split(" ")
        self._replies[(method, path)] = list(replies)

    def bodies(self, call: str) -> list[Any]:
        method, path = call.split(" ")
        return [request.body for request in self.requests if (request.method, request.path) == (method, path)]

    @property
    def calls(self) -> list[str]:
        return [f"{request.method} {request.path}" for request in self.requests if request.path != "/users/@me"]

    def __enter__(self) -> Self:
        self._thread.start()
        self._runner, port = self._wait(self._open())
        self.url = f"http://127.0.0.1:{port}/api/v10"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._done.set)
        self._wait(self._runner.cleanup())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _wait(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _open(self) -> tuple[web.AppRunner, int]:
        app = web.Application()
        answer: Callable[[web.Request], Awaitable[web.Response]] = self._answer
        app.router.add_route("*", "/api/v10/{path:.+}", answer)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return runner, runner.addresses[0][1]

    async def _answer(self, request: web.Request) -> web.Response:
        text = await request.text()
        path = "/" + request.match_info["path"]
        body = json.loads(text) if text else None
        self.requests.append(Request(request.method, path, body, dict(request.query), dict(request.headers)))
        replies = self._replies.get((request.method, path), [Reply(404, {"message": "Unknown Channel", "code": 10003})])
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        if reply.hang:
            await self._done.wait()
        if reply.cut and request.transport is not None:
            request.transport.abort()
        if reply.body is None:
            return web.Response(status=reply.status, headers=reply.headers)
        headers = {"Content-Type": "application/json", **reply.headers}
        return web.Response(status=reply.status, body=json.dumps(reply.body).encode(), headers=headers)


class FixedSecrets:
    """Secrets by keyword: `discord__bot_token` is `discord/bot_token`."""

    def __init__(self, **secrets: str) -> None:
        self._secrets = {name.replace("__", "/"): value for name, value in secrets.items()}

    def get(self, name: str) -> str | None:
        return self._secrets.get(name)


def discord_at(
    url: str,
    *,
    call_seconds: float = 3,
    patience_seconds: float = 0.5,
    link_url: str = "https://discord.com/channels",
) -> Discord:
    """The adapter at that URL, with little time and patience."""
    settings = Settings("handoffs", "sessions", "turns", platform_urls={"discord": {"api": url, "link": link_url}})
    secrets = FixedSecrets(discord__bot_token="the-token")
    return Discord(settings, secrets, call_seconds=call_seconds, patience_seconds=patience_seconds)
