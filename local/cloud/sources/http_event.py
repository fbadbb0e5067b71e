"""Converts HTTP requests to events of an HTTP API, payload format 2.0."""

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, unquote
from uuid import uuid4

from local.cloud.sources.routing import Match

_TEXT = {"application/json", "application/javascript", "application/xml"}


@dataclass(frozen=True)
class Request:
    """One request as it was received; `target` is path and query as sent."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    source_ip: str
    port: int
    protocol: str = "HTTP/1.1"

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]


def http_event(request: Request, match: Match, *, account: str, now: float) -> dict[str, Any]:
    """Return the event. Fields without a value (body, cookies, parameters) are absent, as on AWS."""
    headers = _joined(request.headers)
    cookies = [one.strip() for one in headers.pop("cookie", "").split(";") if one.strip()]
    headers |= _forwarded(request, headers)
    body, encoded = _body(request.body, headers.get("content-type", ""))
    path = unquote(request.path, errors="replace")
    host = headers.get("host", "localhost").rpartition(":")[0] or headers.get("host", "localhost")
    optional = {
        "cookies": cookies,
        "queryStringParameters": _joined(parse_qsl(request.query, keep_blank_values=True), lower=False),
        "pathParameters": dict(match.parameters),
        "body": body,
    }
    return {
        "version": "2.0",
        "routeKey": match.route_key,
        "rawPath": path,
        "rawQueryString": request.query,
        "headers": headers,
        "requestContext": {
            "accountId": account,
            "apiId": "local",
            "domainName": host,
            "domainPrefix": host.partition(".")[0],
            "http": {
                "method": request.method,
                "path": path,
                "protocol": request.protocol,
                "sourceIp": request.source_ip,
                "userAgent": headers.get("user-agent", ""),
            },
            "requestId": uuid4().hex[:16],
            "routeKey": match.route_key,
            "stage": "$default",
            "time": datetime.fromtimestamp(now, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000"),
            "timeEpoch": int(now * 1000),
        },
        "isBase64Encoded": encoded,
        **{name: value for name, value in optional.items() if value},
    }


def _joined(pairs: Iterable[tuple[str, str]], *, lower: bool = True) -> dict[str, str]:
    """Join several values of one name with commas."""
    joined: dict[str, str] = {}
    for name, value in pairs:
        key = name.lower() if lower else name
        separator = "; " if key == "cookie" else ","
        joined[key] = f"{joined[key]}{separator}{value}" if key in joined else value
    return joined


def _forwarded(request: Request, headers: Mapping[str, str]) -> dict[str, str]:
    before = headers.get("x-forwarded-for")
    return {
        "x-amzn-trace-id": headers.get("x-amzn-trace-id", f"Root=1-{uuid4().hex[:8]}-{uuid4().hex[:24]}"),
        "x-forwarded-for": f"{before}, {request.source_ip}" if before else request.source_ip,
        "x-forwarded-port": str(request.port),
        "x-forwarded-proto": "http",
    }


def _body(body: bytes, content_type: str) -> tuple[str, bool]:
    """Return text as text, everything else (forms too) as base64, as API Gateway does."""
    kind = content_type.partition(";")[0].strip().lower()
    if not kind or kind.startswith("text/") or kind in _TEXT:
        try:
            return body.decode(), False
        except UnicodeDecodeError:
            pass
    return base64.b64encode(body).decode(), bool(body)
