"""All routes of the functions as one ASGI app."""

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


def build_app(services: Services) -> Guard:
    """The HTTP API and the webhooks with these services."""
    changing = (changes.router, changed_accounts.router, links.router, runners.router)
    shown = (status.router, shown_accounts.router)
    return http_app(services, *changing, *shown, webhooks.router, body_limit=webhooks.body_limit(services))
