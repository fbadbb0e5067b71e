"""HTTP API and webhooks as one ASGI app."""

from fastapi import FastAPI

from functions.http.app import unguarded_app
from functions.request import account_routes as changed_accounts
from functions.request import link_routes as links
from functions.request import order_routes as orders
from functions.request import routes as changes
from functions.request import runner_routes as runners
from functions.status import account_routes as shown_accounts
from functions.status import routes as status
from functions.webhook import routes as webhooks
from shared.services import Services

_ROUTES = (changes, status, webhooks, changed_accounts, links, runners, orders, shown_accounts)


def build_app(services: Services) -> FastAPI:
    """All routes with these services, for a server that has a guard in front of them."""
    return unguarded_app(services, *(module.router for module in _ROUTES))
