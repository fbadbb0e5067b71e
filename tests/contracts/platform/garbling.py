"""A proxy between an adapter and the simulator that replaces single answers."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from shared.platforms.registry import PlatformRegistry
from shared.ports.platforms import Platform
from shared.settings import Settings
from tests.contracts.platform.harness import PlatformHarness
from tests.support.servers import NO_TLS, HttpServer, Request, Response

_KEPT = ("authorization", "content-type")


class GarblingProxy(HttpServer):
    """Passes each call on, so that it has its effect, and may replace the answer.

    Answers close their connection: each run has an adapter of its own, and none may wait for an old connection.
    """

    def __init__(self, target: str) -> None:
        super().__init__(self._pass_on)
        self._target = target
        self._client = httpx.Client(trust_env=False, verify=NO_TLS)
        self.answers: list[Response] = []
        self.replace: dict[int, Response] = {}
        """The answers to send instead, by the number of the call."""

    def stop(self) -> None:
        super().stop()
        self._client.close()

    def _pass_on(self, request: Request) -> Response:
        headers = {name: value for name, value in request.headers.items() if name in _KEPT}
        url = self._target + request.path
        said = self._client.request(
            request.method, url, params=dict(request.query), content=request.body, headers=headers
        )
        kind = {"content-type": said.headers.get("content-type", ""), "connection": "close"}
        body = said.content
        if kind["content-type"].startswith("application/json"):
            body = body.replace(self._target.encode(), self.url.encode())  # addresses of files
        self.answers.append(Response(said.status_code, body, kind))
        instead = self.replace.get(len(self.answers) - 1)
        if instead is None:
            return self.answers[-1]
        if instead.raw is not None or not instead.status:
            return instead
        return Response(
            instead.status, instead.body, {"connection": "close", **instead.headers}, declared=instead.declared
        )


@contextmanager
def garbling(at: PlatformHarness) -> Iterator[GarblingProxy]:
    with GarblingProxy(at.simulator.url) as proxy:
        yield proxy


@contextmanager
def adapter_through(proxy: GarblingProxy, at: PlatformHarness) -> Iterator[Platform]:
    """A new adapter that calls the simulator through the proxy; its links lead to the real platform."""
    api = at.simulator.api_url(at.name).replace(at.simulator.url, proxy.url)
    settings = Settings(
        "handoffs", "sessions", "queue", platform_urls={at.name: {"api": api}}, public_url=at.receiver.url
    )
    platform = PlatformRegistry(settings, at.secrets, [at.chat.spec]).get(at.name)
    try:
        yield platform
    finally:
        if close := getattr(platform, "close", None):
            close()
