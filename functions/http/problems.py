"""Errors on the wire: every code with its status and meaning, and errors as problem+json."""

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from inspect import cleandoc
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


def _refused(kind: type[RequestRefused]) -> Iterator[tuple[str, Code]]:
    """The codes of a class of refusals and of all below it."""
    if "code" in vars(kind):
        yield kind.code, Code(kind.status, cleandoc(kind.__doc__ or ""), kind.fields)
    for below in kind.__subclasses__():
        yield from _refused(below)


CODES: Mapping[str, Code] = {
    "malformed_json": Code(400, "The body is not JSON."),
    "not_found": Code(404, "No such path."),
    "method_not_allowed": Code(405, "The path does not take this method."),
    "conflict": Code(409, "Concurrent changes won. Nothing was written: retry."),
    "body_too_large": Code(413, "The body is over the limit."),
    "encoded_body": Code(415, "The body has a Content-Encoding. Send it without."),
    "storage_unavailable": Code(
        503,
        "The service cannot use its database file, for example because its disk is full. Nothing was changed: retry.",
    ),
    "internal": Code(500, "Internal error. Retrying with the same Idempotency-Key is safe."),
    **dict(_refused(RequestRefused)),
}
"""All codes: those of HTTP itself and of failures, and those of refusals, which `shared/errors.py` defines."""


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
