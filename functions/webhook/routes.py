"""Webhooks of chat platforms: the request as the platform sent it, in; the platform's form of answer, out."""

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse, Response

from functions.http.dependencies import AppServices, RawBody
from functions.http.problems import Json, Problem, refusals
from shared.errors import RequestRefused
from shared.platforms import PLATFORMS
from shared.ports.inbound import WebhookRequest
from shared.services import Services
from shared.use_cases.chat.receive_message import receive_message

router = APIRouter(default_response_class=Json)

OTHER_METHODS = ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"]


@router.post(
    "/webhooks/{platform}", responses=refusals("unauthenticated", "body_too_large", "encoded_body", "internal")
)
@router.api_route("/webhooks/{platform}", methods=OTHER_METHODS, include_in_schema=False)
@router.api_route("/webhooks/{platform}/{rest:path}", methods=["POST", *OTHER_METHODS], include_in_schema=False)
def receive_webhook(request: Request, body: RawBody, platform: str, services: AppServices) -> Response:
    """200 when all messages are durable. A request that the platform did not send is a 401, without a reason."""
    return _receive(request, body, services, platform, request.path_params.get("rest", ""))


def _at_fixed_path(platform: str, path: str) -> None:
    """Receive the platform's webhooks also at a path that its protocol demands."""

    def receive(request: Request, body: RawBody, services: AppServices) -> Response:
        return _receive(request, body, services, platform, path.removeprefix("/"))

    router.add_api_route(path, receive, methods=["POST"], include_in_schema=False)


for _spec in PLATFORMS:
    for _path in _spec.webhook_paths:
        _at_fixed_path(_spec.name, _path)


def _receive(request: Request, body: bytes, services: Services, platform: str, rest: str) -> Response:
    webhook = WebhookRequest(
        body=body,
        headers={name.lower(): value for name, value in request.headers.items()},
        method=request.method,
        rest=rest,
        query=dict(request.query_params),
    )
    try:
        answer = receive_message(services, platform, webhook)
    except RequestRefused:  # an unknown platform and one without secrets get the same answer
        return Problem("unauthenticated", "The signature is missing or wrong, or no secret is set for this platform.")
    if isinstance(answer.body, str):
        return PlainTextResponse(answer.body, status_code=answer.status)
    return Json(dict(answer.body), status_code=answer.status)
