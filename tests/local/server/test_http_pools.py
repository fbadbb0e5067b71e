"""Requests for handoffs have few threads of their own; a request that may be slow to arrive or to run does not take one."""

import gzip
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from local.server.http import HttpServer
from local.server.pool import Pool

MOST_AT_ONCE = 1024 * 1024


@pytest.fixture
def url() -> Iterator[str]:
    async def app(_scope: Any, receive: Any, send: Any) -> None:
        largest, more = 0, True
        while more:
            message = await receive()
            largest, more = max(largest, len(message["body"])), message["more_body"]
        assert largest < MOST_AT_ONCE
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": threading.current_thread().name.encode()})

    server = HttpServer(app, Pool(2, "wide"), Pool(1, "handoffs"), sync=lambda: None, only_here=False)
    server.start("127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.port}"
    server.stop()


@pytest.mark.parametrize(
    ("method", "path", "size", "pool"),
    [
        ("POST", "/handoffs", 100, "handoffs"),
        ("POST", "/handoffs", 200_000, "wide"),
        ("POST", "/handoffs/x/cancel", 0, "wide"),
        ("PUT", "/sessions/x", 100, "wide"),
        ("GET", "/doctor", 0, "wide"),
        ("GET", "/handoffs", 0, "http"),
    ],
)
def test_each_request_has_its_pool(url: str, method: str, path: str, size: int, pool: str) -> None:
    answer = httpx.request(method, url + path, content=b"x" * size)

    assert answer.text.partition("-")[0] == pool


def test_a_small_body_that_grows_is_passed_on_in_pieces(url: str) -> None:
    small = gzip.compress(bytes(20 * MOST_AT_ONCE))
    answer = httpx.post(f"{url}/handoffs", content=small, headers={"Content-Encoding": "gzip"})

    assert (answer.status_code, answer.text.partition("-")[0]) == (200, "wide")
