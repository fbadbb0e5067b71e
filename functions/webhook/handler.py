"""The `webhook` function: what chat platforms tell us."""

from functions.http import http_handler
from functions.webhook.routes import router
from shared.bootstrap import Handler, on_lambda
from shared.services import Services


def build(services: Services) -> Handler:
    """The handler of HTTP API events for these services."""
    return http_handler(services, router)


handler = on_lambda(build, clients=("dynamodb", "sqs", "ssm"))
