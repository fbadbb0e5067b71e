"""Serves the page: plain files from beside this module, nothing from elsewhere."""

from pathlib import Path

from aiohttp import web

_FILES = Path(__file__).parent / "static"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_HEADERS = {
    "Cache-Control": "no-store",
    # Whatever a chat says can be shown but never run: no inline script, nothing from another host.
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}


def routes() -> list[web.RouteDef]:
    async def show(request: web.Request) -> web.StreamResponse:
        name = request.match_info.get("name", "index.html")
        path = _FILES / name
        if path.suffix not in _TYPES or not path.is_file():
            raise web.HTTPNotFound
        return web.Response(body=path.read_bytes(), content_type=_TYPES[path.suffix], charset="utf-8", headers=_HEADERS)

    return [web.get("/", show), web.get("/static/{name:[a-z-]+[.][a-z]+}", show)]
