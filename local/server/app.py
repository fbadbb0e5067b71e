"""HTTP API and webhooks as one ASGI app."""

from functions.http.app import http_app
from functions.http.guard import Guard
from functions.request import account_routes as changed_accounts
from functions.request import link_routes as links
from functions.request import routes as changes
from functions.request import runner_routes as runners
from functions.status import account_routes as shown_accounts
from functions.status import routes as status
from functions.webhook import routes as webhooks
from shared.services import Services

_ROUTES = (changes, status, webhooks, changed_accounts, links, runners, shown_accounts)


def build_app(services: Services) -> Guard:
    """All routes with these services, behind the guard."""
    return http_app(services, *(module.router for module in _ROUTES))
