"""Errors on the wire: every code with its status and meaning, and errors as problem+json."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse

from shared.errors import DataFileError, LimitReached, RequestRefused

log = logging.getLogger(__name__)
MEDIA_TYPE = "application/problem+json"
STORAGE_PAUSE = 5
"""Seconds until a client tries again."""


@dataclass(frozen=True)
class Code:
    """One stable error code. `extra` are the JSON schemas of the fields that a problem with this code may add."""

    status: int
    meaning: str
    extra: Mapping[str, Any] = field(default_factory=dict)


LIMIT = {"limit": {"type": "integer"}}
CODES: Mapping[str, Code] = {
    "malformed_json": Code(400, "The body is not JSON."),
    "unauthenticated": Code(401, "The token, or a webhook's signature, is missing or wrong."),
    "missing_scope": Code(403, "The token does not have the scope that the call needs.", {"scope": {"type": "string"}}),
    "login_refused": Code(403, "The code of a first login is wrong, was used or revoked, or is too old."),
    "not_found": Code(404, "No such path."),
    "unknown_session": Code(404, "You have no session with this id."),
    "unknown_handoff": Code(404, "You have no handoff with this id."),
    "unknown_token": Code(404, "You have no token with this id."),
    "unknown_user": Code(404, "No user has this id."),
    "unknown_runner": Code(404, "You have no runner with this id."),
    "unknown_turn": Code(404, "The turn is not known, or was offered to another runner."),
    "runner_revoked": Code(403, "The runner was revoked: it may claim nothing and commit nothing."),
    "method_not_allowed": Code(405, "The path does not take this method."),
    "moved": Code(
        409,
        "The session was moved since you read it; the fields say where it lives now.",
        {
            "owner": {"type": "string"},
            "epoch": {"type": "integer"},
            "link": {"type": ["string", "null"]},
        },
    ),
    "out_of_sequence": Code(
        409,
        "The messages do not continue the stored transcript, which has `message_count` messages.",
        {"message_count": {"type": "integer"}},
    ),
    "handoff_in_flight": Code(409, "The session is already being handed off.", {"handoff_id": {"type": "string"}}),
    "session_busy": Code(409, "A turn of the session is queued or running."),
    "session_suspended": Code(409, "The session was interrupted too often and takes no more turns."),
    "place_busy": Code(409, "Another session lives at the place, or the chat belongs to another user."),
    "write_first": Code(
        409, "The platform lets a bot write only for some time after you wrote to it, and that time is over."
    ),
    "too_late": Code(409, "The handoff can no longer be cancelled."),
    "user_exists": Code(409, "A user has this id already."),
    "taken": Code(409, "Another process works on the turn."),
    "ended": Code(409, "The turn is over; nothing more is taken for it."),
    "superseded": Code(409, "The turn was claimed again since; nothing more is taken from this claim."),
    "other_result": Code(409, "The claim has committed another result already, which stands."),
    "runner_too_old": Code(426, "The runner speaks a version of the protocol that this service does not."),
    "conflict": Code(409, "Concurrent changes won. Nothing was written: retry."),
    "body_too_large": Code(413, "The body is over the limit."),
    "too_many_open_handoffs": Code(429, "You have as many handoffs in progress as you may.", LIMIT),
    "too_many_turns": Code(429, "The agent has answered you as often in this hour as it may.", LIMIT),
    "too_many_notices": Code(429, "Your last notice is less than a minute old. This one was dropped.", LIMIT),
    "storage_full": Code(429, "Your transcripts take as much room as they may.", LIMIT),
    "invalid_request": Code(
        422,
        "The request does not match the contract; `errors` names fields where possible.",
        {
            "errors": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["field", "problem"],
                    "properties": {"field": {"type": "string"}, "problem": {"type": "string"}},
                },
            }
        },
    ),
    "unknown_platform": Code(422, "No platform has this name."),
    "platform_not_supported": Code(422, "The platform is listed but not supported yet."),
    "platform_not_configured": Code(422, "The operator has not set the platform's secrets."),
    "chat_refused": Code(422, "The platform has no such chat, or its bot cannot work there."),
    "no_home": Code(422, "You have no home on the platform and named no target."),
    "idempotency_key_reused": Code(422, "The Idempotency-Key was used with another body."),
    "platform_unavailable": Code(
        503, "The platform did not answer, and must be asked first. Nothing was changed: retry."
    ),
    "storage_unavailable": Code(
        503,
        "The service cannot use its database file, for example because its disk is full. Nothing was changed: retry.",
    ),
    "internal": Code(500, "Internal error. Retrying with the same Idempotency-Key is safe."),
}
"""A refusal whose code is missing here is a KeyError in its first test."""


class Json(JSONResponse):
    """JSON of any Python text, lone surrogates included: transcripts may hold them."""

    def render(self, content: Any) -> bytes:
        try:
            return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
        except UnicodeEncodeError:
            return json.dumps(content, separators=(",", ":")).encode()


class Problem(Json):
    """An error as `application/problem+json`: a stable code for programs, a sentence for people."""

    media_type = MEDIA_TYPE

    def __init__(self, code: str, detail: str, extra: Mapping[str, Any] | None = None) -> None:
        status = CODES[code].status
        title = HTTPStatus(status).phrase
        body = {"type": "about:blank", "title": title, "status": status, "code": code, "detail": detail}
        super().__init__({**(extra or {}), **body}, status_code=status)


def problem_of(error: RequestRefused) -> Problem:
    """The answer to a request that was refused."""
    problem = Problem(error.code, error.message, error.extra)
    if isinstance(error, LimitReached):
        problem.headers["Retry-After"] = str(error.retry_after)
    return problem


def conflict() -> Problem:
    """The answer to a request that lost against others too often."""
    return Problem("conflict", "Concurrent changes won, and nothing of this request was written. Try again.")


def internal_error(error: Exception) -> Problem:
    """The answer to a request that met a defect or an outage. Logs the error."""
    if isinstance(error, DataFileError):
        log.error("a request was not answered: %s", error)
        problem = Problem("storage_unavailable", error.for_clients)
        problem.headers["Retry-After"] = str(STORAGE_PAUSE)
        return problem
    log.error("internal error: %s", type(error).__name__, exc_info=error)
    return Problem("internal", CODES["internal"].meaning)


def refusals(*codes: str) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route that answers with these codes, for openapi.json."""
    responses: dict[int | str, dict[str, Any]] = {}
    if "internal" in codes:  # what every call may meet
        codes = (*codes, "storage_unavailable")
    for status in sorted({CODES[code].status for code in codes}):
        named = [code for code in codes if CODES[code].status == status]
        schema = {"$ref": "#/components/schemas/Problem", "properties": {"code": {"enum": named}}}
        responses[status] = {
            "description": "\n\n".join(f"`{code}`: {CODES[code].meaning}" for code in named),
            "content": {MEDIA_TYPE: {"schema": schema}},
        }
    return responses
