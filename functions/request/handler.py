"""The `request` function: HTTP calls that change something."""

from functions.http.app import http_app
from functions.http.lambda_edge import lambda_handler
from functions.request import account_routes, link_routes, order_routes, routes, runner_routes
from shared.bootstrap import Handler, on_lambda
from shared.services import Services


def build(services: Services) -> Handler:
    """The handler of HTTP API events for these services."""
    changing = (routes.router, account_routes.router, link_routes.router, runner_routes.router, order_routes.router)
    return lambda_handler(http_app(services, *changing))


handler = on_lambda(build, clients=("dynamodb", "sqs", "ssm"))
