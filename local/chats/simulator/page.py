"""Serves the page: static files, and a style sheet with each platform's colour."""

from collections.abc import Iterable
from pathlib import Path

from aiohttp import web

from local.chats.spec import LocalChat

_FILES = Path(__file__).parent / "static"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_HEADERS = {
    "Cache-Control": "no-store",
    # A message can be shown but never run: no inline script, nothing from another host.
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}


def routes(platforms: Iterable[LocalChat]) -> list[web.RouteDef]:
    tints = "".join(
        f'[data-platform="{platform.name}"] {{ --tint: light-dark({", ".join(platform.tint)}); }}\n'
        for platform in platforms
    )

    async def colours(_: web.Request) -> web.Response:
        return web.Response(text=tints, content_type="text/css", charset="utf-8", headers=_HEADERS)

    async def show(request: web.Request) -> web.StreamResponse:
        path = _FILES / request.match_info.get("name", "index.html")
        if path.suffix not in _TYPES or not path.is_file():
            raise web.HTTPNotFound
        return web.Response(body=path.read_bytes(), content_type=_TYPES[path.suffix], charset="utf-8", headers=_HEADERS)

    return [
        web.get("/", show),
        web.get("/static/platforms.css", colours),
        web.get("/static/{name:[a-z-]+[.][a-z]+}", show),
    ]
