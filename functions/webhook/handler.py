"""The `webhook` function: receives the webhooks of chat platforms."""

from functions.http.app import http_app
from functions.http.lambda_edge import lambda_handler
from functions.webhook.routes import router
from shared.bootstrap import Handler, on_lambda
from shared.services import Services


def build(services: Services) -> Handler:
    """The handler of HTTP API events for these services."""
    return lambda_handler(http_app(services, router))


handler = on_lambda(build, clients=("dynamodb", "sqs", "ssm"))
