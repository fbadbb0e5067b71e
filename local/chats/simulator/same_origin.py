"""Refuses what a web page of another origin sends to the simulator, page, control and platforms alike."""

from collections.abc import Awaitable, Callable

from aiohttp import web

from local.web_pages import REFUSAL, is_link, is_other_page


@web.middleware
async def same_origin(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Links to the page itself stay possible: it shows nothing to the page that holds the link."""
    opens_the_page = request.method == "GET" and request.path == "/" and is_link(request.headers.get)
    if is_other_page(request.headers.get) and not opens_the_page:
        return web.json_response({"error": REFUSAL}, status=403)
    return await handler(request)
