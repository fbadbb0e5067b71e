"""What chat platforms post to us: verified on the raw bytes, written down, answered fast."""

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse, Response

from functions.http.dependencies import AppServices
from functions.http.problems import Json, Problem, refusals
from shared.errors import RequestRefused
from shared.use_cases.chat.receive_message import receive_message

router = APIRouter(default_response_class=Json)


@router.post("/webhooks/{platform}", responses=refusals("unauthenticated", "body_too_large", "internal"))
async def post_webhook(request: Request, platform: str, services: AppServices) -> Response:
    """200 when what was said is durable. Whatever is not from the platform is a 401, without a reason."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    try:
        answer = receive_message(services, platform, headers, await request.body())
    except RequestRefused:  # a platform that is unknown or not set up answers no differently
        return Problem("unauthenticated", "The signature is missing or wrong, or no secret is set for this platform.")
    if isinstance(answer.body, str):
        return PlainTextResponse(answer.body, status_code=answer.status)
    return Json(dict(answer.body), status_code=answer.status)
