"""All routes of the functions as one ASGI app."""

import threading

from starlette.routing import BaseRoute, Match, Router
from starlette.types import Scope

from functions.http.app import http_app
from functions.http.guard import Guard
from functions.request import routes as changes
from functions.status import routes as status
from functions.webhook import routes as webhooks
from local.server.polls import HandoffPolls
from shared.services import Services


def build_app(services: Services) -> Guard:
    """The HTTP API and the webhooks with these services."""
    polls, others = Router([HandoffPolls()]), Router([_OtherRoutes()])
    routers = (polls, changes.router, status.router, webhooks.router, others)
    return http_app(services, *routers, body_limit=webhooks.body_limit(services))


def other_routes() -> list[BaseRoute]:
    """The routes that are not needed when a service starts. Their import takes a tenth of the time until it is ready."""
    from functions.request import account_routes as changed_accounts  # noqa: PLC0415
    from functions.request import link_routes as links  # noqa: PLC0415
    from functions.request import runner_routes as runners  # noqa: PLC0415
    from functions.status import account_routes as shown_accounts  # noqa: PLC0415

    routers = (changed_accounts.router, links.router, runners.router, shown_accounts.router)
    return [route for router in routers for route in router.routes]


class _OtherRoutes(BaseRoute):
    """Stands last, and adds the other routes behind itself when a request comes to it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._are_added = False

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        with self._lock:
            if not self._are_added:
                scope["app"].router.routes.extend(other_routes())
                self._are_added = True
        return Match.NONE, {}
