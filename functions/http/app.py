"""The ASGI app of a set of routes. Any ASGI server can run it; on Lambda, `lambda_edge` does."""

from fastapi import FastAPI
from starlette.routing import Router

from functions.http.guard import MAX_BODY, BodyLimit, Guard
from functions.http.problems import add_error_handlers
from shared.services import Services


def http_app(services: Services, *routers: Router, body_limit: BodyLimit = lambda _path: MAX_BODY) -> Guard:
    """The routes with these services, behind the guard. `body_limit` gives the largest body of a path, in bytes."""
    app = FastAPI(openapi_url=None, redirect_slashes=False)
    app.state.services = services
    for router in routers:
        # `include_router` would analyse each route a second time, on the first request.
        app.router.routes.extend(router.routes)
    add_error_handlers(app)
    return Guard(app, services, body_limit)
