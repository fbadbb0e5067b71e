"""Requests as events of payload format 2.0, held to real samples."""

import base64
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from local.cloud.sources.http_event import Request, http_event
from local.cloud.sources.routing import Router
from local.cloud.stack import Route

ROUTER = Router(
    [
        Route("POST", "/handoffs", "f"),
        Route("GET", "/handoffs", "f"),
        Route("GET", "/handoffs/{id}", "f"),
        Route("POST", "/webhooks/{platform}", "f"),
        Route("GET", "/files/{proxy+}", "f"),
    ]
)


def event_for(target: str, method: str = "GET", body: bytes = b"", **headers: str) -> dict[str, Any]:
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return event_of(Request(method, target, pairs, body, "203.0.113.7", 443))


def event_of(request: Request) -> dict[str, Any]:
    match = ROUTER.match(request.method, request.path)
    assert match is not None
    return http_event(request, match, account="123456789012", now=1794822961.123)


def as_sent(event: Mapping[str, Any]) -> Request:
    """The request that made a sample, as well as one can tell."""
    query = f"?{event['rawQueryString']}" if event["rawQueryString"] else ""
    ours = {"x-forwarded-for", "x-forwarded-port", "x-forwarded-proto"}
    headers = [(name.title(), value) for name, value in event["headers"].items() if name not in ours]
    headers += [("Cookie", cookie) for cookie in event.get("cookies", [])]
    body = event.get("body", "")
    raw = base64.b64decode(body) if event["isBase64Encoded"] else body.encode()
    return Request(
        event["requestContext"]["http"]["method"], event["rawPath"] + query, tuple(headers), raw, "203.0.113.7", 443
    )


@pytest.mark.parametrize(
    "name",
    ["http_post_handoff", "http_get_handoff", "http_list_handoffs", "http_telegram_webhook", "http_form_webhook"],
)
def test_event_equals_the_real_sample(name: str, sample: Callable[[str], Any]) -> None:
    real = sample(name)
    event = event_of(as_sent(real))
    for each in (real, event):
        each["requestContext"] |= {"requestId": "", "apiId": ""}
        each["headers"]["x-forwarded-proto"] = ""
    assert event == real


def test_values_of_one_name_are_joined_with_commas() -> None:
    request = Request("GET", "/handoffs?a=1&b=&a=2%2C3", (("X-One", "1"), ("x-one", "2")), b"", "1.2.3.4", 80)
    event = event_of(request)
    assert event["headers"]["x-one"] == "1,2"
    assert event["queryStringParameters"] == {"a": "1,2,3", "b": ""}
    assert event["rawQueryString"] == "a=1&b=&a=2%2C3"


def test_path_and_parameters_are_decoded() -> None:
    event = event_for("/files/a%20b/%C3%BC")
    assert event["rawPath"] == event["requestContext"]["http"]["path"] == "/files/a b/ü"
    assert event["pathParameters"] == {"proxy": "a b/ü"}
    assert event["routeKey"] == "GET /files/{proxy+}"


def test_bytes_that_are_no_utf8_survive_in_any_content_type() -> None:
    for kind in ("application/json", "text/plain", "image/png", ""):
        event = event_for("/handoffs", "POST", b"\xff\x00", content_type=kind)
        assert event["isBase64Encoded"]
        assert base64.b64decode(event["body"]) == b"\xff\x00"


@pytest.mark.parametrize(
    ("kind", "encoded"),
    [
        ("application/json", False),
        ("Application/JSON; charset=utf-8", False),
        ("text/csv", False),
        ("", False),
        ("application/x-www-form-urlencoded", True),
        ("multipart/form-data; boundary=x", True),
        ("application/octet-stream", True),
    ],
)
def test_text_stays_text_and_the_rest_is_base64(kind: str, encoded: bool) -> None:
    event = event_for("/handoffs", "POST", b"x=1", content_type=kind)
    assert event["isBase64Encoded"] is encoded
    assert event["body"] == ("eD0x" if encoded else "x=1")


def test_what_a_request_does_not_have_is_absent() -> None:
    event = event_for("/handoffs")
    assert not {"body", "cookies", "queryStringParameters", "pathParameters"} & set(event)
    assert event["isBase64Encoded"] is False


def test_cookies_leave_the_headers_and_proxies_are_kept() -> None:
    event = event_for("/handoffs", cookie="a=1; b=2;c", x_forwarded_for="9.9.9.9")
    assert event["cookies"] == ["a=1", "b=2", "c"]
    assert "cookie" not in event["headers"]
    assert event["headers"]["x-forwarded-for"] == "9.9.9.9, 203.0.113.7"
