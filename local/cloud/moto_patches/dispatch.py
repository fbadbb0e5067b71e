"""From a request to the moto service that answers it, at a fraction of the cost.

For each request moto looks at every module on disk to find the service, lists all methods of its class, adds headers for
browsers, which have no business here, and sends it through a web framework: over half of the time of a read.
"""

import importlib
from collections.abc import Callable, Iterable
from functools import cache
from http import HTTPStatus
from typing import Any
from uuid import uuid4

from moto.core import responses
from moto.core.request import Request
from moto.core.utils import camelcase_to_underscores
from moto.moto_server import werkzeug_app
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

# Signing names that stand for one service, or for one per prefix of X-Amz-Target (DynamoDB and its streams).
PLAIN = frozenset({"cloudformation", "dynamodb", "iam", "sqs", "ssm", "sts"})

# What functions and event sources call all the time: prefix of X-Amz-Target -> class of moto's that answers.
BUSY = {
    "DynamoDB_20120810": "moto.dynamodb.responses:DynamoHandler",
    "DynamoDBStreams_20120810": "moto.dynamodbstreams.responses:DynamoDBStreamsHandler",
    "AmazonSQS": "moto.sqs.responses:SQSResponse",
    "AmazonSSM": "moto.ssm.responses:SimpleSystemManagerResponse",
}

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]


def application_of(account_id: str) -> Application:
    """The WSGI application that plays AWS for one account."""
    moto = DomainDispatcherApplication(create_backend_app)
    known: dict[tuple[str, str], Application] = {}

    def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        environ["HTTP_X_MOTO_ACCOUNT_ID"] = account_id
        target = environ.get("HTTP_X_AMZ_TARGET", "").partition(".")[0]
        key = _signed_for(environ), target
        app = known.get(key) if key[0] in PLAIN else moto
        if app is None:
            app = known[key] = _straight_to(BUSY[target]) if target in BUSY else moto.get_application(environ)
        return app(environ, start_response)

    return application


class _Request(Request):  # type: ignore[misc] # moto has no types
    from_wsgi_server = True


def _straight_to(name: str) -> Application:
    """A service whose requests all come to one path, without the framework in between."""
    module, _, handler = name.partition(":")
    answer = getattr(importlib.import_module(module), handler).dispatch

    def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        request = _Request(environ)
        status, headers, body = answer(request, request.raw_url, request.headers)
        start_response(f"{status} {HTTPStatus(status).phrase}", list(headers.items()))
        return [body.encode() if isinstance(body, str) else body]

    return application


def _signed_for(environ: dict[str, Any]) -> str:
    """The service in the scope of the signature: AWS4-HMAC-SHA256 Credential=KEY/DATE/REGION/SERVICE/aws4_request, ..."""
    scope = environ.get("HTTP_AUTHORIZATION", "").partition(",")[0].split("/")
    return scope[3] if len(scope) == 5 else ""


def _number(headers: dict[str, Any]) -> str:
    headers["x-amzn-requestid"] = uuid4().hex
    return str(headers["x-amzn-requestid"])


def apply() -> None:
    werkzeug_app.DISABLE_GLOBAL_CORS = True
    responses.method_names_from_class = cache(responses.method_names_from_class)
    responses.camelcase_to_underscores = cache(camelcase_to_underscores)
    responses.gen_amzn_requestid_long = _number
