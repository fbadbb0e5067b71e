"""The routes of all functions, in FastAPI."""

from starlette.types import ASGIApp

from functions.http.app import unguarded_app
from functions.request import account_routes as changed_accounts
from functions.request import link_routes as links
from functions.request import routes as changes
from functions.request import runner_routes as runners
from functions.status import account_routes as shown_accounts
from functions.status import routes as status
from functions.webhook import routes as webhooks
from shared.services import Services


def all_routes(services: Services) -> ASGIApp:
    modules = (changes, status, webhooks, changed_accounts, links, runners, shown_accounts)
    return unguarded_app(services, *(module.router for module in modules))
