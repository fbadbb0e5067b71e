"""A function's answer as an HTTP response, and API Gateway's own answers where there is none."""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from local.cloud.invoke import Result

# The connection is the server's own business, and the length is that of the body.
_NOT_THEIRS = {"connection", "content-length", "keep-alive", "transfer-encoding", "upgrade"}


@dataclass(frozen=True)
class Answer:
    """One response; several headers may share a name."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


def gateway_answer(status: int, message: str) -> Answer:
    """What API Gateway says when it speaks for itself."""
    body = json.dumps({"message": message}, separators=(",", ":")).encode()
    return Answer(status, (("content-type", "application/json"),), body)


NOT_FOUND = gateway_answer(404, "Not Found")
TOO_LARGE = gateway_answer(413, "Request Entity Too Large")
FAILED = gateway_answer(500, "Internal Server Error")
UNAVAILABLE = gateway_answer(503, "Service Unavailable")


def http_answer(result: Result) -> Answer:
    """The response for a result: a function that failed, or answered what nobody can send, is a 500."""
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
    headers = [(name, value) for name, value in given if name not in _NOT_THEIRS]
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
