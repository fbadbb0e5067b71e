"""A Discord API that answers as a test tells it to, for cases that the simulator does not show."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from shared.platforms.discord.adapter import Discord
from shared.settings import Settings
from tests.support.secrets import FakeSecrets
from tests.support.servers import DROP, HANG, HttpServer, Request, Response

ME = {"id": "42", "username": "handoff", "discriminator": "0", "avatar": None, "bot": True}
API = "/api/v10"


@dataclass(frozen=True)
class Reply:
    """One answer; `cut` closes the connection instead, `hang` never answers."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    hang: bool = False

    @property
    def response(self) -> Response:
        body = b"" if self.body is None else json.dumps(self.body).encode()
        return HANG if self.hang else DROP if self.cut else Response(self.status, body, self.headers)


class ScriptedDiscord(HttpServer):
    """Answers each call by its method and path from a list; the last answer stays in force."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.url += API
        self._replies: dict[str, list[Reply]] = {"GET /users/@me": [Reply(body=ME)]}

    def on(self, call: str, *replies: Reply) -> None:
        self._replies[call] = list(replies)

    def bodies(self, call: str) -> list[Any]:
        return [request.json if request.body else None for request in self.requests if _call(request) == call]

    @property
    def calls(self) -> list[str]:
        return [_call(request) for request in self.requests if request.path != "/users/@me"]

    def respond(self, request: Request) -> Response:
        return super().respond(replace(request, path=request.path.removeprefix(API)))

    def _answer(self, request: Request) -> Response:
        unknown = [Reply(404, {"message": "Unknown Channel", "code": 10003})]
        replies = self._replies.get(_call(request), unknown)
        return (replies.pop(0) if len(replies) > 1 else replies[0]).response


def _call(request: Request) -> str:
    return f"{request.method} {request.path}"


def discord_at(
    url: str,
    *,
    call_seconds: float = 3,
    patience_seconds: float = 0.5,
    link_url: str = "https://discord.com/channels",
) -> Discord:
    """The adapter at that URL, with little time and patience."""
    settings = Settings("handoffs", "sessions", "turns", platform_urls={"discord": {"api": url, "link": link_url}})
    secrets = FakeSecrets({"discord/bot_token": "the-token"})
    return Discord(settings, secrets, call_seconds=call_seconds, patience_seconds=patience_seconds)
