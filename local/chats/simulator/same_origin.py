"""Refuses what a web page of another origin sends to the simulator, page, control and platforms alike."""

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from aiohttp import web

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@web.middleware
async def same_origin(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Refuse a Host that does not name this machine (DNS rebinding) and an Origin other than the simulator's own."""
    origin = request.headers.get("Origin")
    if not _names_this_machine(request.host):
        return web.json_response({"error": "call the simulator as 127.0.0.1 or localhost"}, status=403)
    if origin is not None and urlsplit(origin).netloc != request.host:
        return web.json_response({"error": "only the simulator's own page may call it from a browser"}, status=403)
    return await handler(request)


def _names_this_machine(host: str) -> bool:
    try:
        return urlsplit(f"//{host}").hostname in _LOOPBACK
    except ValueError:
        return False
