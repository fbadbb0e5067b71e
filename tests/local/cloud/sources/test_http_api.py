"""The HTTP API as its clients see it: over real sockets."""

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from local.cloud.invoke import REQUEST_LIMIT, Result, encode, too_large
from local.cloud.sources.http_api import HttpApi
from local.cloud.stack import Route

ROUTES = (
    Route("GET", "/handoffs/{id}", "Status"),
    Route("POST", "/handoffs", "Request"),
    Route("GET", "/health", "Status"),
)
Start = Callable[..., HttpApi]


@pytest.fixture
def start(invoker: Any) -> Iterator[Start]:
    started: list[HttpApi] = []

    def start(**options: Any) -> HttpApi:
        api = HttpApi(ROUTES, invoker, account="123456789012", **options)
        api.start()
        started.append(api)
        return api

    yield start
    for api in started:
        api.stop()


def call(api: HttpApi, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=20)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


def test_request_reaches_its_function_and_the_answer_its_client(start: Start, invoker: Any) -> None:
    invoker.answer = lambda _: {
        "statusCode": 202,
        "headers": {"location": "/handoffs/1", "content-type": "application/json"},
        "cookies": ["a=1", "b=2"],
        "body": '{"id": 1}',
    }
    status, headers, body = call(
        start(), "POST", "/handoffs?x=1", b'{"a": "\xc3\xbc"}', content_type="application/json"
    )
    assert (status, body) == (202, b'{"id": 1}')
    assert headers["location"] == "/handoffs/1"
    assert headers.get_all("set-cookie") == ["a=1", "b=2"]
    event = invoker.next()
    assert event["body"] == '{"a": "ü"}'
    assert event["rawQueryString"] == "x=1"
    assert event["requestContext"]["http"]["sourceIp"] == "127.0.0.1"
    assert invoker.functions == ["Request"]


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/nothing"), ("DELETE", "/handoffs"), ("OPTIONS", "/handoffs"), ("GET", "//handoffs")]
)
def test_an_unknown_route_is_not_found(start: Start, invoker: Any, method: str, path: str) -> None:
    status, headers, body = call(start(), method, path)
    assert (status, body) == (404, b'{"message":"Not Found"}')
    assert headers["content-type"] == "application/json"
    assert invoker.idle


def test_head_needs_a_route_of_its_own(start: Start) -> None:
    status, _, body = call(start(), "HEAD", "/health")
    assert (status, body) == (404, b"")


def test_failing_function_is_an_internal_server_error(start: Start, invoker: Any, failed: Result) -> None:
    invoker.answer = lambda _: failed
    assert call(start(), "GET", "/health")[::2] == (500, b'{"message":"Internal Server Error"}')


def test_invoker_that_raises_is_an_internal_server_error_too(start: Start, invoker: Any) -> None:
    def answer(_: Any) -> None:
        raise LookupError("no such function")

    invoker.answer = answer
    assert call(start(), "GET", "/health")[::2] == (500, b'{"message":"Internal Server Error"}')


def test_a_slow_function_is_unavailable(start: Start, invoker: Any, doors: Any) -> None:
    invoker.answer = lambda _: doors.enter("slow")
    assert call(start(integration_seconds=0.05), "GET", "/health")[::2] == (503, b'{"message":"Service Unavailable"}')
    doors.release("slow")


def test_a_body_over_ten_megabytes_is_refused(start: Start, invoker: Any) -> None:
    status, _, body = call(start(), "POST", "/handoffs", iter([b"x" * 1024 * 1024] * 11), content_length=str(11 << 20))
    assert (status, body) == (413, b'{"message":"Request Entity Too Large"}')
    assert invoker.idle


def test_event_over_six_megabytes_is_refused(start: Start, invoker: Any) -> None:
    invoker.answer = lambda event: too_large(len(encode(event))) if len(encode(event)) > REQUEST_LIMIT else None
    api = start()
    assert call(api, "POST", "/handoffs", b"x" * 7_000_000, content_type="text/plain")[0] == 413
    assert call(api, "POST", "/handoffs", b"x" * 6_000_000, content_type="text/plain")[0] == 200


def test_chunked_bodies_and_kept_connections_work(start: Start, invoker: Any) -> None:
    invoker.answer = lambda event: {"statusCode": 200, "body": event.get("body", "")}
    connection = http.client.HTTPConnection("127.0.0.1", start().port, timeout=20)
    for number in range(3):
        connection.request(
            "POST",
            "/handoffs",
            iter([b"a", b"b", str(number).encode()]),
            {"content-type": "text/plain"},
            encode_chunked=True,
        )
        assert connection.getresponse().read() == f"ab{number}".encode()
    connection.close()


def test_ten_requests_run_at_once(start: Start, invoker: Any) -> None:
    everyone = threading.Barrier(10)
    invoker.answer = lambda _: everyone.wait(20) and None
    api = start()
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda _: call(api, "GET", "/health")[0], range(10)))
    assert answers == [200] * 10


def test_invalid_utf8_in_a_request_makes_an_event(start: Start, invoker: Any) -> None:
    with socket.create_connection(("127.0.0.1", start().port), timeout=20) as client:
        client.sendall(
            b"GET /handoffs/%ff%00?q=%ff HTTP/1.1\r\nHost: localhost\r\nX-Odd: \xff\xfe\r\nConnection: close\r\n\r\n"
        )
        assert client.makefile("rb").readline().startswith(b"HTTP/1.1 200")
    event = invoker.next()
    assert event["rawQueryString"] == "q=%ff"
    assert event["headers"]["x-odd"] == "ÿþ"
    assert json.dumps(event, ensure_ascii=False).encode()


def test_answers_are_reported_without_private_data(start: Start) -> None:
    told: list[tuple[Any, ...]] = []
    api = start(on_answer=lambda *answer: told.append(answer))
    call(api, "GET", "/handoffs/h1?token=secret", authorization="Bearer secret")
    ((method, path, status, seconds),) = told
    assert (method, path, status) == ("GET", "/handoffs/h1", 200)
    assert 0 <= seconds < 20


def test_a_failing_listener_does_not_fail_the_request(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    def refuse(*_: object) -> None:
        raise BrokenPipeError("broken listener")

    assert call(start(on_answer=refuse), "GET", "/health")[0] == 200
    assert "broken listener" in caplog.text


def test_a_taken_port_is_an_error_until_it_is_free(start: Start, invoker: Any) -> None:
    api = start()
    with pytest.raises(OSError, match="address already in use"):
        start(port=api.port)
    api.stop()
    api.stop()
    again = start(port=api.port)
    assert again.url == f"http://127.0.0.1:{api.port}"
    assert call(again, "GET", "/health")[0] == 200
