"""The WSGI application that emulates AWS for one account: signature check, then moto."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from xml.sax.saxutils import escape

from botocore.credentials import Credentials
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

from local.cloud.endpoint.signatures import SignatureError, service_of, verify

# Signing names whose requests the prefix of X-Amz-Target assigns to one moto application.
CACHED = frozenset({"cloudformation", "dynamodb", "iam", "s3", "sqs", "ssm", "sts"})

Environ = dict[str, Any]
Application = Callable[[Environ, Any], Iterable[bytes]]


def application_of(account_id: str, credentials: Mapping[str, Credentials]) -> Application:
    """Return the application of an account; requests must be signed with one of its credentials, by access key."""
    moto = DomainDispatcherApplication(create_backend_app)
    cache: dict[tuple[str, str], Application] = {}

    def application(environ: Environ, start_response: Any) -> Iterable[bytes]:
        try:
            verify(environ, environ["wsgi.input"].getvalue(), credentials)
        except SignatureError as error:
            return _refuse(error, environ, start_response)
        environ["HTTP_X_MOTO_ACCOUNT_ID"] = account_id
        target = environ.get("HTTP_X_AMZ_TARGET", "").partition(".")[0]
        service = service_of(environ)
        if service not in CACHED:
            return moto(environ, start_response)  # type: ignore[no-any-return] # moto has no types
        if (service, target) not in cache:  # moto looks through its modules on disk for each request
            cache[service, target] = moto.get_application(environ)
        return cache[service, target](environ, start_response)

    return application


def _refuse(error: SignatureError, environ: Environ, start_response: Any) -> Iterable[bytes]:
    """Answer in the format of the service's protocol: JSON for those with X-Amz-Target, XML for the others."""
    if "HTTP_X_AMZ_TARGET" in environ:
        kind, body = "application/x-amz-json-1.0", json.dumps({"__type": error.code, "message": str(error)})
    else:
        content = f"<Error><Code>{error.code}</Code><Message>{escape(str(error))}</Message></Error>"
        kind, body = "text/xml", f"<ErrorResponse>{content}</ErrorResponse>"
    start_response("403 Forbidden", [("Content-Type", kind)])
    return [body.encode()]
