"""Converts a function's result to an HTTP response; API Gateway's own responses."""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from local.cloud.invoke import Result

# Headers that the server sets itself.
_RESERVED = {"connection", "content-length", "keep-alive", "transfer-encoding", "upgrade"}


@dataclass(frozen=True)
class Answer:
    """One response; several headers may share a name."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


def gateway_answer(status: int, message: str) -> Answer:
    """Return a response of API Gateway itself."""
    body = json.dumps({"message": message}, separators=(",", ":")).encode()
    return Answer(status, (("content-type", "application/json"),), body)


FORBIDDEN = gateway_answer(403, "Forbidden")
NOT_FOUND = gateway_answer(404, "Not Found")
TOO_LARGE = gateway_answer(413, "Request Entity Too Large")
FAILED = gateway_answer(500, "Internal Server Error")
UNAVAILABLE = gateway_answer(503, "Service Unavailable")


def http_answer(result: Result) -> Answer:
    """Return the response for a result. A failed function and an invalid payload give a 500."""
    if result.error is not None:
        return TOO_LARGE if result.error.get("errorType") == "RequestEntityTooLargeException" else FAILED
    payload = result.payload
    if not isinstance(payload, dict) or "statusCode" not in payload:
        body = json.dumps(payload, ensure_ascii=False).encode()
        return Answer(200, (("content-type", "application/json"),), body)
    try:
        return Answer(_status(payload["statusCode"]), _headers(payload), _body(payload))
    except (ValueError, TypeError, AttributeError, binascii.Error):
        return FAILED


def _status(value: Any) -> int:
    status = int(value)
    if not 100 <= status <= 599:
        raise ValueError(status)
    return status


def _headers(payload: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    given = [(name.lower(), _text(value)) for name, value in (payload.get("headers") or {}).items()]
    headers = [(name, value) for name, value in given if name not in _RESERVED]
    if "content-type" not in dict(headers):
        headers.append(("content-type", "text/plain; charset=utf-8"))
    return (*headers, *(("set-cookie", cookie) for cookie in payload.get("cookies") or []))


def _text(value: Any) -> str:
    text = json.dumps(value) if isinstance(value, bool) else str(value)
    if "\r" in text or "\n" in text:
        raise ValueError(text)
    return text


def _body(payload: Mapping[str, Any]) -> bytes:
    body = payload.get("body") or ""
    if not isinstance(body, str):
        raise TypeError(body)
    return base64.b64decode(body, validate=True) if payload.get("isBase64Encoded") else body.encode()
