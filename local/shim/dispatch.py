"""From a request to the moto service that answers it, at a fraction of the cost.

For each request moto looks at every module on disk to find the service, lists all methods of its class, and adds
headers for browsers, which have no business here: a third of the time of a write.
"""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from moto.core import responses
from moto.moto_server import werkzeug_app
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

# Signing names that stand for one service, or for one per prefix of X-Amz-Target (DynamoDB and its streams).
PLAIN = frozenset({"cloudformation", "dynamodb", "iam", "sqs", "ssm", "sts"})


def application_of(account_id: str) -> Callable[[dict[str, Any], Any], Iterable[bytes]]:
    """The WSGI application that plays AWS for one account."""
    moto = DomainDispatcherApplication(create_backend_app)
    known: dict[tuple[str, str], Any] = {}

    def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        environ["HTTP_X_MOTO_ACCOUNT_ID"] = account_id
        key = _signed_for(environ), environ.get("HTTP_X_AMZ_TARGET", "").partition(".")[0]
        app = known.get(key) if key[0] in PLAIN else moto
        if app is None:
            app = known[key] = moto.get_application(environ)
        return app(environ, start_response)  # type: ignore[no-any-return] # moto has no types

    return application


def _signed_for(environ: dict[str, Any]) -> str:
    """The service in the scope of the signature: AWS4-HMAC-SHA256 Credential=KEY/DATE/REGION/SERVICE/aws4_request, ..."""
    scope = environ.get("HTTP_AUTHORIZATION", "").partition(",")[0].split("/")
    return scope[3] if len(scope) == 5 else ""


def apply() -> None:
    werkzeug_app.DISABLE_GLOBAL_CORS = True
    responses.method_names_from_class = cache(responses.method_names_from_class)
