"""What a function returned, as an HTTP response."""

from typing import Any

import pytest

from local.cloud.invoke import Result
from local.cloud.sources.http_answer import http_answer

TEXT = ("content-type", "text/plain; charset=utf-8")
JSON = ("content-type", "application/json")


def answer(payload: Any) -> tuple[int, dict[str, str], bytes]:
    got = http_answer(Result(payload=payload))
    return got.status, dict(got.headers), got.body


def test_status_headers_and_body_are_the_functions() -> None:
    payload = {"statusCode": 202, "headers": {"Content-Type": "application/json", "X-N": 5, "X-B": True}, "body": "{}"}
    assert answer(payload) == (202, {"content-type": "application/json", "x-n": "5", "x-b": "true"}, b"{}")


def test_missing_parts_have_api_gateways_defaults() -> None:
    assert answer({"statusCode": 204}) == (204, dict([TEXT]), b"")
    assert answer({"statusCode": "200", "headers": None, "body": None}) == (200, dict([TEXT]), b"")


def test_binary_bodies_are_decoded() -> None:
    assert answer({"statusCode": 200, "body": "/wA=", "isBase64Encoded": True})[2] == b"\xff\x00"


def test_each_cookie_is_a_header_of_its_own() -> None:
    got = http_answer(Result(payload={"statusCode": 200, "cookies": ["a=1; Path=/", "b=2"]}))
    assert got.headers == (TEXT, ("set-cookie", "a=1; Path=/"), ("set-cookie", "b=2"))


def test_length_and_connection_are_the_servers_business() -> None:
    headers = {"Content-Length": "999", "Connection": "close", "Transfer-Encoding": "chunked"}
    assert answer({"statusCode": 200, "headers": headers, "body": "x"})[1] == dict([TEXT])


@pytest.mark.parametrize(
    ("payload", "body"), [({"a": "ü"}, '{"a": "ü"}'), ("text", '"text"'), (None, "null"), ([1], "[1]"), (5, "5")]
)
def test_answer_without_a_status_is_json(payload: Any, body: str) -> None:
    assert answer(payload) == (200, dict([JSON]), body.encode())


@pytest.mark.parametrize(
    "payload",
    [
        {"statusCode": "soon"},
        {"statusCode": 99},
        {"statusCode": None},
        {"statusCode": 200, "body": {"an": "object"}},
        {"statusCode": 200, "body": "not base64!", "isBase64Encoded": True},
        {"statusCode": 200, "headers": "none"},
        {"statusCode": 200, "headers": {"x": "two\r\nlines"}},
    ],
)
def test_an_invalid_answer_is_an_internal_server_error(payload: Any) -> None:
    assert answer(payload) == (500, dict([JSON]), b'{"message":"Internal Server Error"}')


def test_the_error_of_a_function_is_not_shown() -> None:
    got = http_answer(Result(error={"errorType": "KeyError", "errorMessage": "secret"}))
    assert (got.status, got.body) == (500, b'{"message":"Internal Server Error"}')
    late = http_answer(Result(error={"errorMessage": "Task timed out"}, timed_out=True))
    assert late.status == 500


def test_event_over_lambdas_limit_is_too_large() -> None:
    got = http_answer(Result(error={"errorType": "RequestEntityTooLargeException", "errorMessage": "6 MB"}))
    assert (got.status, got.body) == (413, b'{"message":"Request Entity Too Large"}')
